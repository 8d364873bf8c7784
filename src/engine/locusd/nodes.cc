// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/nodes.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"

namespace locus {
namespace locusd {
namespace {

using http::Endpoint;
using http::HttpAnswer;
using http::HttpConnection;
using http::TimePoint;
using http::TlsContext;
using internal::MostTelling;
using internal::MutexLock;
using internal::Quoted;

// 32 hex digits.
absl::StatusOr<std::string> RandomNumber() {
  const auto high = internal::RandomWord(), low = internal::RandomWord();
  if (!high || !low) return absl::UnavailableError("no randomness for a request's ID");
  return absl::StrFormat("%016x%016x", *high, *low);
}

TimePoint After(absl::Duration wait) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
}

absl::Status From(const Endpoint& endpoint, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("locusd ", endpoint.text, ": ", status.message()));
}

// OK: the request was carried out. Something else than locusd may answer with success to
// everything.
absl::Status Outcome(const Request& request, const HttpAnswer& answer) {
  if (answer.status == request.good) return absl::OkStatus();
  if (answer.status < 200 || answer.status > 299) {
    return cluster_api::ParseProblem(answer.status, answer.body);
  }
  return absl::UnavailableError(absl::StrCat("HTTP ", answer.status, " where locusd answers ",
                                             request.good, ": something else listens there"));
}

// "host:port" of a URL.
std::string_view HostOf(std::string_view location) {
  if (size_t scheme = location.find("://"); scheme != location.npos) {
    location.remove_prefix(scheme + 3);
  }
  return location.substr(0, location.find('/'));
}

}  // namespace

absl::Duration PauseOf(const HttpAnswer& answer) {
  constexpr uint64_t kMostSeconds = 3600;
  const uint64_t seconds =
      internal::ParseDecimal(answer.Header("Retry-After"), kMostSeconds).value_or(1);
  return absl::Seconds(seconds) + absl::Milliseconds(internal::RandomWord().value_or(0) % 500 + 1);
}

absl::Status CheckToken(const Endpoint& endpoint, bool token, bool tls) {
  if (!token || tls || internal::IsLoopback(endpoint.host)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the token for locusd ", endpoint.text,
                   " would go over the network in plain text: enable TLS"));
}

absl::StatusOr<internal::SecretBytes> AuthorizationOf(std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ";
  if (token.empty()) return internal::SecretBytes();
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes authorization,
                         internal::SecretBytes::Allocate(kBearer.size() + token.size()));
  internal::CopySecret(kBearer.data(), authorization.data(), kBearer.size());
  internal::CopySecret(token.data(), authorization.data() + kBearer.size(), token.size());
  return authorization;
}

Nodes::Nodes(const LocusdOptions& options, Follow follow, std::vector<Endpoint> endpoints,
             std::unique_ptr<TlsContext> tls, internal::SecretBytes authorization, Clock& clock)
    : options_(options),
      follow_(follow),
      endpoints_(std::move(endpoints)),
      tls_(std::move(tls)),
      authorization_(std::move(authorization)),
      clock_(clock) {
  // Only authorization_ keeps it, in memory for secrets.
  options_.token.clear();
}

Nodes::~Nodes() {
  // The socket of a forked child is its parent's.
  if (home_.forked()) static_cast<void>(connection_.release());
}

absl::StatusOr<std::unique_ptr<Nodes>> Nodes::Open(const LocusdOptions& options, Follow follow,
                                                   Clock& clock) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::vector<Endpoint> endpoints;
  for (const std::string& text : options.endpoints) {
    LOCUS_ASSIGN_OR_RETURN(Endpoint endpoint, Endpoint::Parse(text));
    endpoints.push_back(std::move(endpoint));
  }
  std::unique_ptr<TlsContext> tls;
  if (options.tls.enabled) {
    LOCUS_ASSIGN_OR_RETURN(tls, TlsContext::Load({options.tls.ca_file, "", ""}));
  }
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes authorization, AuthorizationOf(options.token));
  return std::unique_ptr<Nodes>(new Nodes(options, follow, std::move(endpoints), std::move(tls),
                                          std::move(authorization), clock));
}

absl::Status Nodes::CheckPlace(const Endpoint& endpoint) const {
  return CheckToken(endpoint, authorization_.size() > 0, options_.tls.enabled);
}

LocusdStats Nodes::Stats() const {
  if (home_.forked()) return {};
  MutexLock lock(mutex_);
  return stats_;
}

absl::StatusOr<std::string> Nodes::RequestId() const {
  LOCUS_ASSIGN_OR_RETURN(const std::string number, RandomNumber());
  return absl::StrFormat("%d-%s", absl::ToUnixMillis(clock_.Now()), number);
}

absl::StatusOr<std::string> Nodes::SessionId() {
  if (session_.empty()) {
    LOCUS_ASSIGN_OR_RETURN(session_, RandomNumber());
  }
  return absl::StrFormat("%d-%s-%d", absl::ToUnixMillis(clock_.Now()), session_, ++serial_);
}

absl::StatusOr<HttpAnswer> Nodes::Send(HttpConnection& connection, const Request& request,
                                       const std::string& id, TimePoint until) const {
  http::HttpRequest sent{request.method, request.target, {}, request.body};
  if (!request.body.empty()) sent.headers.push_back({"Content-Type", "application/json"});
  if (!id.empty()) sent.headers.push_back({"Request-Id", id});
  if (authorization_.size() > 0) sent.headers.push_back({"Authorization", authorization_.view()});
  absl::StatusOr<HttpAnswer> answer = connection.Send(sent, request.most_answer, until);
  if (!answer.ok()) return absl::UnavailableError(answer.status().message());
  return answer;
}

absl::StatusOr<std::string> Nodes::Ask(std::string_view text, const Request& request) const {
  LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
  LOCUS_ASSIGN_OR_RETURN(Endpoint endpoint, Endpoint::Parse(text));
  LOCUS_RETURN_IF_ERROR(CheckPlace(endpoint));
  const TimePoint until =
      After(std::min({options_.timeout, options_.request_timeout, request.longest}));
  auto connection = HttpConnection::Connect(endpoint, tls_.get(), until);
  if (!connection.ok()) return From(endpoint, connection.status());
  absl::StatusOr<HttpAnswer> answer = Send(**connection, request, "", until);
  if (!answer.ok()) return From(endpoint, answer.status());
  if (answer->status == 307) {
    return From(endpoint, absl::UnavailableError("another node leads the cluster"));
  }
  const absl::Status outcome = Outcome(request, *answer);
  if (!outcome.ok()) return From(endpoint, outcome);
  return std::move(answer->body);
}

absl::StatusOr<std::string> Nodes::Call(const Request& request) {
  LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
  std::string id;
  if (request.once == Request::Id::kOwn) {
    LOCUS_ASSIGN_OR_RETURN(id, RequestId());
  }
  const TimePoint deadline = After(options_.timeout);
  internal::Backoff backoff({.first = absl::Milliseconds(20), .longest = absl::Milliseconds(500)});
  MutexLock lock(mutex_);
  if (request.once == Request::Id::kSession) {
    // Drawn with the lock held: requests of a session are sent in the order of their serials.
    LOCUS_ASSIGN_OR_RETURN(id, SessionId());
  }
  ++stats_.calls;
  MostTelling told(endpoints_.size(), absl::UnavailableError("no node of locusd was asked"));
  for (size_t asked = 1;; ++asked) {
    MostTelling::Kind failed = MostTelling::Kind::kNoAnswer;
    absl::StatusOr<std::string> answer = AskHere(request, id, deadline, failed);
    if (!absl::IsUnavailable(answer.status())) return answer;
    ++stats_.failures;
    told.Note(failed, answer.status());
    if (std::chrono::steady_clock::now() >= deadline) return told.status();
    if (pause_ > absl::ZeroDuration()) {
      // The node said when to come again; to ask another one before would only move the load.
      const TimePoint again = After(std::exchange(pause_, absl::ZeroDuration()));
      if (again >= deadline) return told.status();
      std::this_thread::sleep_until(again);
      continue;
    }
    // After a round over all nodes: an election may be under way.
    if (asked % endpoints_.size() == 0 && !internal::SleepBeforeRetry(backoff, deadline)) {
      return told.status();
    }
  }
}

// One request to the node at hand. UNAVAILABLE: another one is at hand now.
absl::StatusOr<std::string> Nodes::AskHere(const Request& request, const std::string& id,
                                           TimePoint deadline, MostTelling::Kind& failed) {
  const Endpoint endpoint = Here();
  const TimePoint until = std::min(deadline, After(options_.request_timeout));
  if (connection_ == nullptr || !connection_->StillOpen()) {
    connection_.reset();
    auto connected = HttpConnection::Connect(endpoint, tls_.get(), until);
    if (!connected.ok()) {
      GoOn();
      return From(endpoint, connected.status());
    }
    connection_ = *std::move(connected);
  }
  ++stats_.requests;
  absl::StatusOr<HttpAnswer> answer = Send(*connection_, request, id, until);
  if (!answer.ok()) {
    GoOn();
    return From(endpoint, answer.status());
  }
  if (answer->status == 307) {
    ++stats_.redirects;
    failed = MostTelling::Kind::kElsewhere;
    return From(endpoint, absl::UnavailableError(GoTo(answer->Header("Location"))));
  }
  const absl::Status refused = Outcome(request, *answer);
  if (refused.ok()) return std::move(answer->body);
  failed = MostTelling::Kind::kAnswer;
  if (answer->status == 429 && absl::IsUnavailable(refused)) {
    ++stats_.limited;
    pause_ = PauseOf(*answer);
  } else if (absl::IsUnavailable(refused)) {
    GoOn();
  }
  return From(endpoint, refused);
}

void Nodes::GoOn() {
  connection_.reset();
  if (elsewhere_) {
    elsewhere_.reset();
  } else {
    at_ = (at_ + 1) % endpoints_.size();
  }
}

// Turns to the node that an answer names, if it may be asked; otherwise to the next one. Returns
// the text for the error if that node fails as well.
std::string Nodes::GoTo(std::string_view location) {
  const std::string_view host = HostOf(location);
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (endpoints_[i].text == host && (elsewhere_ || i != at_)) {
      connection_.reset();
      elsewhere_.reset();
      at_ = i;
      return "another node leads the cluster";
    }
  }
  const auto named = Endpoint::Parse(host);
  if (follow_ == Follow::kAnywhere && named.ok() && named->text != Here().text &&
      CheckPlace(*named).ok()) {
    connection_.reset();
    elsewhere_ = *named;
    return "another node leads the cluster";
  }
  GoOn();
  return absl::StrCat("another node leads the cluster, ", Quoted(host),
                      ", which is none of the endpoints that were given");
}

}  // namespace locusd

absl::Status LocusdOptions::Check() const {
  if (endpoints.empty() || endpoints.size() > 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", endpoints.size(), " endpoints of locusd; 1 to 32 can be given"));
  }
  for (const std::string& text : endpoints) {
    LOCUS_ASSIGN_OR_RETURN(http::Endpoint endpoint, http::Endpoint::Parse(text));
    LOCUS_RETURN_IF_ERROR(locusd::CheckToken(endpoint, !token.empty(), tls.enabled));
  }
  if (token.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return absl::InvalidArgumentError("the token contains a line break");
  }
  for (absl::Duration limit : {timeout, request_timeout}) {
    if (limit < absl::Milliseconds(10) || limit > absl::Hours(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a time limit is ", absl::FormatDuration(limit), "; it must be between 10 ms and 1 h"));
    }
  }
  return absl::OkStatus();
}

}  // namespace locus
