// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/strict_client.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/base/text/most_telling.h"
#include "src/cluster/api/bodies.h"
#include "src/engine/locusd/nodes.h"
#include "src/engine/locusd/strict/connections.h"
#include "src/engine/locusd/strict/routes.h"
#include "src/engine/locusd/strict/standing.h"
#include "src/engine/locusd/strict/strict_answers.h"
#include "src/http/connection.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

namespace locus {

using http::Endpoint;
using http::HttpAnswer;
using http::HttpConnection;
using http::TimePoint;
using internal::MostTelling;
using internal::MutexLock;
using locusd::StrictTableAnswer;

namespace {

constexpr std::string_view kObject = "a strict client";
// Of numbers, or of what 10,000 sections say of their owners.
constexpr size_t kMostAnswer = size_t{4} << 20;
constexpr size_t kMostTable = size_t{64} << 20;
// Between two attempts. A hand-over takes a few milliseconds.
constexpr internal::Backoff::Policy kPauses = {.first = absl::Milliseconds(1),
                                               .longest = absl::Milliseconds(50)};
// So many redirections in a row are followed at once: after that two nodes take each other for the
// owner, while a section is on its way.
constexpr int kMostRedirects = 2;
TimePoint After(absl::Duration wait) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
}

absl::Status From(const std::string& address, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("sequence-node ", address, ": ", status.message()));
}

LocusdOptions LocusdOptionsOf(const StrictClientOptions& options) {
  LocusdOptions of_locusd;
  of_locusd.endpoints = options.endpoints;
  of_locusd.token = options.token;
  of_locusd.tls = options.tls;
  of_locusd.request_timeout = options.request_timeout;
  return of_locusd;
}

std::string BodyOf(std::span<const uint64_t> uids, const std::vector<size_t>& places) {
  std::string body = "{\"uids\":[";
  for (const size_t place : places) absl::StrAppend(&body, "\"", uids[place], "\",");
  body.back() = ']';
  body += '}';
  return body;
}

// Sorts the numbers of each uid: they may have come with several answers.
void Order(std::span<const uint64_t> uids, std::span<uint64_t> numbers) {
  std::map<uint64_t, std::vector<size_t>> places;
  for (size_t i = 0; i < uids.size(); ++i) places[uids[i]].push_back(i);
  for (const auto& [uid, of] : places) {
    std::vector<uint64_t> sorted;
    for (const size_t place : of) sorted.push_back(numbers[place]);
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < of.size(); ++i) numbers[of[i]] = sorted[i];
  }
}

}  // namespace

absl::Status StrictClientOptions::Check() const { return LocusdOptionsOf(*this).Check(); }

class StrictClient::Rep {
 public:
  Rep(const StrictClientOptions& options, std::unique_ptr<http::TlsContext> tls,
      internal::SecretBytes authorization)
      : endpoints_(options.endpoints),
        request_timeout_(options.request_timeout),
        tls_(std::move(tls)),
        authorization_(std::move(authorization)),
        connections_(tls_.get()) {}
  ~Rep() {
    if (home_.forked()) connections_.Abandon();
  }

  bool forked() const { return home_.forked(); }
  absl::Status CheckHome() const { return home_.Check(kObject); }
  const StrictSetOptions& set() const { return routes_->options(); }

  // Reads the table from the first node that answers.
  absl::Status Open(TimePoint deadline) {
    internal::Backoff backoff(kPauses);
    while (true) {
      absl::StatusOr<StrictTableAnswer> table = ReadTableOnce(deadline);
      if (table.ok()) {
        routes_.emplace(*table);
        return absl::OkStatus();
      }
      if (!absl::IsUnavailable(table.status())) return table.status();
      if (!internal::SleepBeforeRetry(backoff, deadline)) return Late(table.status());
    }
  }

  absl::Status Fill(std::span<const uint64_t> uids, std::span<uint64_t> numbers,
                    TimePoint deadline) {
    for (const uint64_t uid : uids) {
      if (!set().Contains(uid)) return NoSuchUid(uid);
    }
    std::fill(numbers.begin(), numbers.end(), 0);
    internal::Backoff backoff(kPauses);
    // Why the pass before failed: it says more than a request that the deadline cuts off.
    absl::Status told;
    int redirects = 0;
    for (int pass = 0;; ++pass) {
      const std::map<std::string, std::vector<size_t>> groups = routes_->Group(uids, numbers);
      if (groups.empty()) {
        if (pass > 1) Order(uids, numbers);
        return absl::OkStatus();
      }
      const Outcome outcome = AskAll(uids, groups, numbers, deadline);
      if (!outcome.status.ok() && !absl::IsUnavailable(outcome.status)) return outcome.status;
      if (outcome.status.ok()) continue;
      if (std::chrono::steady_clock::now() >= deadline) {
        return Late(told.ok() ? outcome.status : told);
      }
      told = outcome.status;
      if (outcome.redirected && !outcome.stuck && ++redirects <= kMostRedirects) continue;
      if (!outcome.refusing.empty() && standing_.LooksNow()) LookPast(outcome.refusing, deadline);
      redirects = 0;
      if (outcome.pause > absl::ZeroDuration()) {
        if (After(outcome.pause) >= deadline) return Late(told);
        std::this_thread::sleep_for(absl::ToChronoNanoseconds(outcome.pause));
      } else if (!internal::SleepBeforeRetry(backoff, deadline)) {
        return Late(told);
      }
    }
  }

  StrictClientStats Stats() const {
    MutexLock lock(mutex_);
    StrictClientStats stats = stats_;
    stats.table_version = routes_->version();
    return stats;
  }

 private:
  // Of one request to each owner.
  struct Outcome {
    absl::Status status;      // the first that is not OK; one that is not UNAVAILABLE wins
    bool redirected = false;  // an answer named another owner
    bool stuck = false;       // other nodes named no owner to ask next
    absl::Duration pause;     // that an answer asked for
    std::string refusing;     // an owner that answers, but UNAVAILABLE

    void Add(const absl::Status& other) {
      if (status.ok() || (absl::IsUnavailable(status) && !absl::IsUnavailable(other))) {
        if (!other.ok()) status = other;
      }
    }
  };
  struct Flight {
    Endpoint endpoint;
    std::vector<size_t> places;
    std::unique_ptr<HttpConnection> connection;
  };

  absl::Status NoSuchUid(uint64_t uid) const {
    return absl::InvalidArgumentError(absl::StrCat("the set has no uid ", uid, ", but ",
                                                   set().first_uid, " to ",
                                                   set().first_uid + set().uids - 1));
  }
  static absl::Status Late(const absl::Status& last) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer in time; the last: ", last.message()));
  }

  // Asks the owners side by side.
  Outcome AskAll(std::span<const uint64_t> uids,
                 const std::map<std::string, std::vector<size_t>>& groups,
                 std::span<uint64_t> numbers, TimePoint deadline) {
    const TimePoint until = std::min(deadline, After(request_timeout_));
    Outcome outcome;
    std::vector<Flight> flights;
    for (const auto& [address, places] : groups) {
      if (address.empty()) {
        outcome.stuck = true;
        outcome.Add(FindOwners(deadline));
        continue;
      }
      const auto end =
          places.begin() + static_cast<ptrdiff_t>(std::min(places.size(), kMostAtOnce));
      absl::StatusOr<Flight> flight = Start(uids, address, {places.begin(), end}, until);
      if (flight.ok()) {
        flights.push_back(*std::move(flight));
      } else {
        Lost(address, flight.status(), outcome);
      }
    }
    for (Flight& flight : flights) Land(flight, numbers, until, outcome);
    return outcome;
  }

  absl::StatusOr<Flight> Start(std::span<const uint64_t> uids, const std::string& address,
                               std::vector<size_t> places, TimePoint until) {
    Flight flight;
    LOCUS_ASSIGN_OR_RETURN(flight.endpoint, Endpoint::Parse(address));
    LOCUS_RETURN_IF_ERROR(
        locusd::CheckToken(flight.endpoint, authorization_.size() > 0, tls_ != nullptr));
    LOCUS_ASSIGN_OR_RETURN(flight.connection, connections_.Take(flight.endpoint, until));
    const std::string body = BodyOf(uids, places);
    flight.places = std::move(places);
    Count(&StrictClientStats::requests);
    LOCUS_RETURN_IF_ERROR(
        flight.connection->Begin(Request("POST", "/v1/strict/next", body), until));
    return flight;
  }

  http::HttpRequest Request(std::string_view method, std::string_view target,
                            std::string_view body) const {
    http::HttpRequest request{method, target, {}, body};
    if (!body.empty()) request.headers.push_back({"Content-Type", "application/json"});
    if (authorization_.size() > 0) {
      request.headers.push_back({"Authorization", authorization_.view()});
    }
    return request;
  }

  // Reads the answer of one node.
  void Land(Flight& flight, std::span<uint64_t> numbers, TimePoint until, Outcome& outcome) {
    const std::string& address = flight.endpoint.text;
    absl::StatusOr<HttpAnswer> answer = flight.connection->ReadHead(until);
    if (answer.ok()) {
      absl::StatusOr<std::string> body = flight.connection->ReadBody(kMostAnswer, until);
      if (!body.ok()) return Lost(address, body.status(), outcome);
      answer->body = *std::move(body);
    }
    if (!answer.ok()) return Lost(address, answer.status(), outcome);
    connections_.GiveBack(flight.endpoint, std::move(flight.connection));
    if (answer->status == 200 || answer->status == 421) standing_.NoteServes(address);
    if (answer->status == 200) return Take(flight, answer->body, numbers, outcome);
    if (answer->status == 421) return Redirect(address, answer->body, outcome);
    const absl::Status refused = cluster_api::ParseProblem(answer->status, answer->body);
    outcome.stuck = true;
    if (absl::IsUnavailable(refused)) Count(&StrictClientStats::failures);
    if (answer->status == 429) {
      outcome.pause = locusd::PauseOf(*answer);
    } else if (absl::IsUnavailable(refused)) {
      standing_.NoteRefuses(address);
      outcome.refusing = address;
    }
    outcome.Add(From(address, refused));
  }

  void Take(const Flight& flight, const std::string& body, std::span<uint64_t> numbers,
            Outcome& outcome) {
    std::vector<uint64_t> got(flight.places.size());
    const absl::StatusOr<uint64_t> version = locusd::ParseStrictNumbers(body, got);
    if (!version.ok()) return outcome.Add(From(flight.endpoint.text, version.status()));
    for (size_t i = 0; i < got.size(); ++i) numbers[flight.places[i]] = got[i];
    routes_->NoteVersion(*version);
  }

  void Redirect(const std::string& address, const std::string& body, Outcome& outcome) {
    const auto elsewhere = locusd::ParseStrictElsewhere(body, set().sections());
    if (!elsewhere.ok()) return outcome.Add(From(address, elsewhere.status()));
    routes_->Learn(*elsewhere, address);
    Count(&StrictClientStats::elsewhere);
    outcome.redirected = true;
    outcome.Add(
        From(address, absl::UnavailableError(absl::StrCat(
                          "section ", elsewhere->sections[0].first, " has another owner, ",
                          elsewhere->sections[0].second.empty() ? "which is not known yet"
                                                                : elsewhere->sections[0].second))));
  }

  // There was no answer.
  void Lost(const std::string& address, const absl::Status& status, Outcome& outcome) {
    Count(&StrictClientStats::failures);
    outcome.stuck = true;
    // Connections say so in several ways.
    const bool passes = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                        absl::IsOutOfRange(status);
    if (passes) {
      routes_->Forget(address);
      standing_.NoteSilent(address);
    }
    outcome.Add(From(address, passes ? absl::UnavailableError(status.message()) : status));
  }

  // If another caller is already looking, its result is as new as one of our own.
  absl::Status FindOwners(TimePoint deadline) {
    const uint64_t before = Tables();
    MutexLock one(table_mutex_);
    if (Tables() == before) {
      LOCUS_ASSIGN_OR_RETURN(const StrictTableAnswer table, ReadTable(deadline));
      LOCUS_RETURN_IF_ERROR(routes_->Learn(table));
    }
    return absl::UnavailableError("sections have no owner that is known");
  }

  absl::StatusOr<StrictTableAnswer> ReadTableOnce(TimePoint deadline) {
    MutexLock one(table_mutex_);
    return ReadTable(deadline);
  }

  // An owner that is cut off its store refuses, while another node may have its sections by now.
  // Reads the table of one other node.
  void LookPast(const std::string& owner, TimePoint deadline) {
    std::set<std::string> others = Addresses();
    others.erase(owner);
    const std::string address = standing_.PickFrom(others);
    if (address.empty()) return;
    MostTelling::Kind failed = MostTelling::Kind::kNoAnswer;
    const absl::StatusOr<StrictTableAnswer> table = ReadTableOf(address, deadline, failed);
    if (!table.ok()) {
      Count(&StrictClientStats::failures);
      if (absl::IsUnavailable(table.status())) standing_.NoteSilent(address);
      return;
    }
    Count(&StrictClientStats::tables);
    standing_.NoteAnswered(address);
    if (table->version < routes_->version()) return;
    routes_->Learn(*table).IgnoreError();
    standing_.NoteServes(owner);  // until it refuses again, if the new table names it at all
  }

  std::set<std::string> Addresses() const {
    std::set<std::string> all(endpoints_.begin(), endpoints_.end());
    if (routes_) all.merge(routes_->Addresses());
    return all;
  }
  // First the nodes that answered last time, then the others.
  std::vector<std::string> AddressesInOrder() ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mutex_) {
    std::set<std::string> all = Addresses();
    std::vector<std::string> addresses;
    if (!answered_.empty()) addresses.push_back(answered_);
    all.erase(answered_);
    addresses.insert(addresses.end(), all.begin(), all.end());
    standing_.SilentLast(addresses);
    return addresses;
  }

  // From the first node with a table at least as new as the known one; if there is none, the newest
  // of all. UNAVAILABLE: no node answers.
  absl::StatusOr<StrictTableAnswer> ReadTable(TimePoint deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mutex_) {
    const uint64_t known = routes_ ? routes_->version() : 0;
    std::optional<StrictTableAnswer> older;
    const std::vector<std::string> addresses = AddressesInOrder();
    MostTelling told(addresses.size(), absl::UnavailableError("no node was asked"));
    for (size_t i = 0; i < addresses.size(); ++i) {
      const std::string& address = addresses[i];
      const TimePoint now = std::chrono::steady_clock::now();
      if (now >= deadline) break;
      // One that is silent leaves time for the next one.
      const bool is_last = i + 1 == addresses.size();
      MostTelling::Kind failed = MostTelling::Kind::kNoAnswer;
      absl::StatusOr<StrictTableAnswer> table =
          ReadTableOf(address, is_last ? deadline : now + (deadline - now) / 2, failed);
      if (table.ok()) {
        Count(&StrictClientStats::tables);
        standing_.NoteAnswered(address);
        if (table->version >= known) {
          answered_ = address;
          return table;
        }
        if (!older || older->version < table->version) older = *std::move(table);
        continue;
      }
      if (!absl::IsUnavailable(table.status())) return From(address, table.status());
      told.Note(failed, From(address, table.status()));
      standing_.NoteSilent(address);
      Count(&StrictClientStats::failures);
    }
    if (older) return *std::move(older);
    return told.status();
  }

  // `failed`: what an error is of.
  absl::StatusOr<StrictTableAnswer> ReadTableOf(const std::string& address, TimePoint deadline,
                                                MostTelling::Kind& failed) {
    const TimePoint until = std::min(deadline, After(request_timeout_));
    LOCUS_ASSIGN_OR_RETURN(const Endpoint endpoint, Endpoint::Parse(address));
    LOCUS_RETURN_IF_ERROR(locusd::CheckToken(endpoint, authorization_.size() > 0, tls_ != nullptr));
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<HttpConnection> connection,
                           connections_.Take(endpoint, until));
    Count(&StrictClientStats::requests);
    const absl::StatusOr<HttpAnswer> answer =
        connection->Send(Request("GET", "/v1/strict/table", ""), kMostTable, until);
    if (!answer.ok()) return absl::UnavailableError(answer.status().message());
    connections_.GiveBack(endpoint, std::move(connection));
    if (answer->status == 200) return locusd::ParseStrictTable(answer->body);
    failed = MostTelling::Kind::kAnswer;
    const absl::Status refused = cluster_api::ParseProblem(answer->status, answer->body);
    if (!absl::IsNotFound(refused)) return refused;
    return absl::FailedPreconditionError(
        absl::StrCat("it is no sequence-node: ", refused.message()));
  }

  uint64_t Tables() const {
    MutexLock lock(mutex_);
    return stats_.tables;
  }
  void Count(uint64_t StrictClientStats::*member) {
    MutexLock lock(mutex_);
    ++(stats_.*member);
  }

  const std::vector<std::string> endpoints_;
  const absl::Duration request_timeout_;
  const std::unique_ptr<http::TlsContext> tls_;  // nullptr: plain text
  const internal::SecretBytes authorization_;
  const internal::ForkGuard home_;
  locusd::Connections connections_;
  locusd::Standing standing_;
  std::optional<locusd::StrictRoutes> routes_;  // from Open on
  internal::Mutex table_mutex_;                 // one reads the table; before mutex_
  std::string answered_ ABSL_GUARDED_BY(table_mutex_);
  mutable internal::Mutex mutex_;
  StrictClientStats stats_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<StrictClient>> StrictClient::Open(
    const StrictClientOptions& options, std::chrono::steady_clock::time_point deadline) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::unique_ptr<http::TlsContext> tls;
  if (options.tls.enabled) {
    LOCUS_ASSIGN_OR_RETURN(tls, http::TlsContext::Load({options.tls.ca_file, "", ""}));
  }
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes authorization,
                         locusd::AuthorizationOf(options.token));
  auto rep = std::make_unique<Rep>(options, std::move(tls), std::move(authorization));
  LOCUS_RETURN_IF_ERROR(rep->Open(deadline));
  return std::unique_ptr<StrictClient>(new StrictClient(std::move(rep)));
}

StrictClient::StrictClient(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
StrictClient::~StrictClient() { internal::AbandonIfForked(rep_); }

absl::StatusOr<uint64_t> StrictClient::Next(uint64_t uid,
                                            std::chrono::steady_clock::time_point deadline) {
  uint64_t number = 0;
  LOCUS_RETURN_IF_ERROR(NextBatch({&uid, 1}, {&number, 1}, deadline));
  return number;
}

absl::Status StrictClient::NextBatch(std::span<const uint64_t> uids, std::span<uint64_t> numbers,
                                     std::chrono::steady_clock::time_point deadline) {
  LOCUS_RETURN_IF_ERROR(rep_->CheckHome());
  if (uids.size() != numbers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is room for ", numbers.size(), " numbers of ", uids.size(), " uids"));
  }
  return rep_->Fill(uids, numbers, deadline);
}

const StrictSetOptions& StrictClient::options() const { return rep_->set(); }

StrictClientStats StrictClient::Stats() const {
  if (rep_->forked()) return {};
  return rep_->Stats();
}

}  // namespace locus
