// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/connection.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/mutex.h"
#include "src/base/text/most_telling.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/login.h"
#include "src/http/connection.h"

namespace locus::etcd {

using internal::CondVar;
using internal::MostTelling;
using internal::Mutex;
using internal::MutexLock;
using internal::WipeDeadStack;

namespace {

using http::Endpoint;
using http::HttpAnswer;
using http::HttpConnection;
using http::TlsContext;

// A space of 65,536 sections is shown in 1.4 MB.
constexpr size_t kLongestBody = 16 << 20;

// Boot time and wall clocks drift apart by less than a tenth of a second in this time.
constexpr absl::Duration kClockGoodFor = absl::Minutes(10);

std::atomic<uint64_t> links{0};

// A connection with what came with it.
struct Link {
  std::unique_ptr<HttpConnection> http;
  Origin origin;
  size_t member = 0;  // of the endpoints
};

// The outcome of one request to one member.
struct Outcome {
  absl::StatusOr<Answer> answer;
  bool maybe_served = false;
  bool try_other_member = false;
  bool member_failed = false;  // as opposed to refused
};

// Between rounds through all members while none knows a leader.
constexpr internal::Backoff::Policy kPausesWithoutLeader{absl::Milliseconds(16),
                                                         absl::Milliseconds(64), 1};

Outcome Failed(const absl::Status& status, bool maybe_served) {
  return {status, maybe_served, true, true};
}
// Before the request was sent. `refused`: by the member, which answered, for now.
Outcome NotSent(const absl::Status& status, bool refused) {
  return {status, false, true, !refused};
}

absl::Status At(const std::string& endpoint, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("etcd at ", endpoint, ": ", status.message()));
}

http::HttpRequest GatewayRequest(std::string_view path, std::string_view token,
                                 std::string_view body) {
  http::HttpRequest request{"POST", path, {{"Content-Type", "application/json"}}, body};
  // A member that knows no leader refuses at once, instead of waiting for one.
  request.headers.emplace_back("Grpc-Metadata-hasleader", "true");
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  return request;
}

}  // namespace

class Connection::Rep {
 public:
  Rep(const EtcdOptions& options, std::vector<Endpoint> endpoints, std::unique_ptr<TlsContext> tls,
      Login login, Clock* store_clock)
      : request_timeout_(absl::ToChronoNanoseconds(options.request_timeout)),
        call_timeout_(absl::ToChronoNanoseconds(options.call_timeout)),
        most_links_(options.max_connections),
        endpoints_(std::move(endpoints)),
        place_("etcd at " + absl::StrJoin(options.endpoints, ",")),
        tls_(std::move(tls)),
        login_(std::move(login)),
        store_clock_(store_clock) {}

  absl::StatusOr<Answer> Post(std::string_view path, std::string_view request, Repeat repeat,
                              TimePoint deadline) {
    return TryMembers(repeat, deadline,
                      [&](size_t member) { return Ask(member, path, request, deadline); });
  }

  absl::StatusOr<std::unique_ptr<Stream>> OpenStream(std::string_view path,
                                                     std::string_view request, TimePoint deadline) {
    std::unique_ptr<Stream> stream;
    absl::Status status = TryMembers(Repeat::kAllowed, deadline, [&](size_t member) {
                            return OpenStreamAt(member, path, request, deadline, stream);
                          }).status();
    LOCUS_RETURN_IF_ERROR(status);
    return stream;
  }

  absl::StatusOr<TimeSpan> Now(TimePoint deadline) {
    if (store_clock_ != nullptr) {
      absl::Time now = store_clock_->Now();
      return TimeSpan{now, now};
    }
    if (auto now = KnownTime()) return *now;
    auto answer = Post("/v3/maintenance/status", "{}", Repeat::kAllowed, deadline);
    LOCUS_RETURN_IF_ERROR(answer.status());
    if (auto now = KnownTime()) return *now;
    return absl::FailedPreconditionError(
        absl::StrCat(place_, " does not give its time: its answers have no Date header"));
  }

  EtcdStats Stats() const {
    return {requests_.load(), failures_.load(), conflicts_.load(), connects_.load(),
            logins_.load()};
  }

  const internal::ForkGuard process_;
  const std::chrono::nanoseconds request_timeout_;
  const std::chrono::nanoseconds call_timeout_;
  const int most_links_;
  const std::vector<Endpoint> endpoints_;
  const std::string place_;
  std::atomic<uint64_t> conflicts_{0};

 private:
  // Asks each member once, beginning with the one that answered last; again while members only lack
  // a leader.
  template <typename Asking>
  absl::StatusOr<Answer> TryMembers(Repeat repeat, TimePoint deadline, const Asking& ask) {
    internal::Backoff backoff(kPausesWithoutLeader);
    // Over all rounds: the last one may be cut off by the deadline.
    MostTelling told(endpoints_.size(),
                     absl::UnavailableError(place_ + ": no time was left to send the request"));
    while (true) {
      bool refused_for_now = false;
      size_t first = kept();
      for (size_t i = 0; i < endpoints_.size(); ++i) {
        if (i + backoff.failures() > 0 && std::chrono::steady_clock::now() >= deadline) {
          return told.status();
        }
        size_t member = (first + i) % endpoints_.size();
        Outcome outcome = ask(member);
        if (outcome.answer.ok()) {
          Keep(member);
          return outcome.answer;
        }
        ++failures_;
        if (!outcome.try_other_member) return outcome.answer.status();
        Leave(member);
        // If one member may come back, the call may be retried, so its error is the one to report.
        if (i == 0 || absl::IsUnavailable(outcome.answer.status())) {
          told.Note(
              outcome.member_failed ? MostTelling::Kind::kNoAnswer : MostTelling::Kind::kAnswer,
              outcome.answer.status());
        }
        if (outcome.maybe_served && repeat == Repeat::kNever) return outcome.answer.status();
        refused_for_now |= !outcome.member_failed;
      }
      if (!refused_for_now || !SleepBeforeRetry(backoff, deadline)) return told.status();
    }
  }

  std::optional<TimeSpan> KnownTime() {
    absl::Duration since_boot = Clock::System().SinceBoot();
    MutexLock lock(mutex_);
    return clock_.At(since_boot, since_boot - kClockGoodFor);
  }

  size_t kept() {
    MutexLock lock(mutex_);
    return kept_;
  }
  void Keep(size_t member) {
    MutexLock lock(mutex_);
    kept_ = member;
  }
  // The next call begins with the next member.
  void Leave(size_t member) {
    MutexLock lock(mutex_);
    if (kept_ == member) kept_ = (member + 1) % endpoints_.size();
  }

  Outcome Ask(size_t member, std::string_view path, std::string_view request, TimePoint deadline) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + request_timeout_);
    bool refused = false;
    absl::StatusOr<Link> link = Take(member, deadline, refused);
    if (!link.ok()) return NotSent(link.status(), refused);
    Outcome outcome = AskOver(*link, deadline, [&](const std::string& token) {
      return Exchange(*link, path, token, request, deadline);
    });
    GiveBack(*std::move(link), outcome.member_failed);
    return outcome;
  }

  // The stream's link is in no pool: it may be kept for as long as the process lives.
  Outcome OpenStreamAt(size_t member, std::string_view path, std::string_view request,
                       TimePoint deadline, std::unique_ptr<Stream>& stream) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + request_timeout_);
    bool refused = false;
    absl::StatusOr<Link> link = Connect(member, deadline, refused);
    if (!link.ok()) return NotSent(link.status(), refused);
    Outcome outcome = AskOver(*link, deadline, [&](const std::string& token) {
      return BeginStream(*link, path, token, request, deadline);
    });
    if (outcome.answer.ok()) {
      stream = std::make_unique<Stream>(std::move(link->http), std::move(link->origin));
    }
    return outcome;
  }

  // `exchange`: the request with a token.
  template <typename Exchanging>
  Outcome AskOver(Link& link, TimePoint deadline, const Exchanging& exchange) {
    for (bool renewed = false;; renewed = true) {
      bool refused = false;
      absl::StatusOr<Login::Token> token = TokenFor(link, deadline, refused);
      if (absl::IsUnavailable(token.status())) return NotSent(token.status(), refused);
      if (!token.ok()) return {token.status()};
      absl::StatusOr<HttpAnswer> got = exchange(token->text);
      if (!got.ok()) return Failed(got.status(), absl::IsUnavailable(got.status()));
      if (got->status == 200) return {Answer{std::move(got->body), link.origin}};
      Refusal refusal = ReadRefusal(got->status, got->body);
      if (refusal.token_expired && token->generation > 0 && !renewed) {
        login_.Forget(token->generation);
        continue;
      }
      return {At(link.origin.endpoint, refusal.status), refusal.maybe_served,
              refusal.try_other_member, false};
    }
  }

  // `token` empty: without one.
  absl::StatusOr<HttpAnswer> Exchange(Link& link, std::string_view path, std::string_view token,
                                      std::string_view request, TimePoint deadline) {
    absl::Duration sent = Clock::System().SinceBoot();
    ++requests_;
    absl::StatusOr<HttpAnswer> answer =
        link.http->Send(GatewayRequest(path, token, request), kLongestBody, deadline);
    // One that is too long may be of a write that was done.
    if (absl::IsOutOfRange(answer.status())) {
      answer = absl::UnavailableError(answer.status().message());
    }
    if (!answer.ok()) return At(link.origin.endpoint, answer.status());
    absl::Duration received = Clock::System().SinceBoot();
    if (auto date = ServerClock::ParseDate(answer->Header("Date"))) {
      MutexLock lock(mutex_);
      clock_.Note(*date, sent, received);
    }
    return answer;
  }

  // Reads only the head of a streamed answer.
  absl::StatusOr<HttpAnswer> BeginStream(Link& link, std::string_view path, std::string_view token,
                                         std::string_view request, TimePoint deadline) {
    ++requests_;
    absl::Status begun = link.http->Begin(GatewayRequest(path, token, request), deadline);
    if (!begun.ok()) return At(link.origin.endpoint, begun);
    absl::StatusOr<HttpAnswer> answer = link.http->ReadHead(deadline);
    if (answer.ok() && answer->status != 200) {
      absl::StatusOr<std::string> body = link.http->ReadBody(kLongestBody, deadline);
      if (body.ok()) answer->body = *std::move(body);
      if (!body.ok()) answer = body.status();
    }
    if (answer.ok()) return answer;
    return At(link.origin.endpoint, absl::UnavailableError(answer.status().message()));
  }

  // `refused`: set where the member answers that it cannot for now, and another one may.
  absl::StatusOr<Login::Token> TokenFor(Link& link, TimePoint deadline, bool& refused) {
    if (!login_.wanted()) return Login::Token();
    if (auto token = login_.Known()) return *token;
    ++logins_;
    absl::StatusOr<HttpAnswer> answer =
        Exchange(link, "/v3/auth/authenticate", "", login_.Request(), deadline);
    WipeDeadStack();
    LOCUS_RETURN_IF_ERROR(answer.status());
    if (answer->status != 200) {
      Refusal refusal = ReadRefusal(answer->status, answer->body);
      refused = refusal.try_other_member;
      return At(link.origin.endpoint, refusal.status);
    }
    absl::StatusOr<std::string> text = ReadToken(answer->body);
    if (!text.ok()) return At(link.origin.endpoint, text.status());
    return login_.Remember(*std::move(text));
  }

  // An idle link to the member, or a new one, once there are less than most_links_. `refused`: as
  // of TokenFor.
  absl::StatusOr<Link> Take(size_t member, TimePoint deadline, bool& refused) {
    {
      MutexLock lock(mutex_);
      while (links_in_use_ >= most_links_) {
        if (std::chrono::steady_clock::now() >= deadline) {
          return absl::UnavailableError(
              absl::StrCat(place_, ": all ", most_links_, " connections were in use"));
        }
        link_free_.WaitUntil(mutex_, deadline);
      }
      ++links_in_use_;
      while (!idle_.empty()) {
        auto at = std::find_if(idle_.rbegin(), idle_.rend(),
                               [&](const Link& link) { return link.member == member; });
        if (at == idle_.rend()) break;
        Link link = std::move(*at);
        idle_.erase(std::next(at).base());
        if (link.http->StillOpen()) return link;
      }
    }
    absl::StatusOr<Link> link = Connect(member, deadline, refused);
    if (!link.ok()) Free();
    return link;
  }

  absl::StatusOr<Link> Connect(size_t member, TimePoint deadline, bool& refused) {
    const Endpoint& endpoint = endpoints_[member];
    Link link;
    link.member = member;
    link.origin.endpoint = endpoint.text;
    auto http = HttpConnection::Connect(endpoint, tls_.get(), deadline);
    if (!http.ok()) return At(endpoint.text, http.status());
    link.http = *std::move(http);
    ++connects_;
    LOCUS_ASSIGN_OR_RETURN(HttpAnswer answer,
                           Exchange(link, "/v3/maintenance/status", "", "{}", deadline));
    if (answer.status != 200) {
      Refusal refusal = ReadRefusal(answer.status, answer.body);
      refused = refusal.try_other_member;
      return At(endpoint.text, refusal.status);
    }
    absl::StatusOr<MemberStatus> greeting = ReadStatus(answer.body);
    if (!greeting.ok()) return At(endpoint.text, greeting.status());
    link.origin = {++links, std::make_shared<MemberStatus>(*std::move(greeting)), endpoint.text};
    return link;
  }

  void GiveBack(Link link, bool broken) {
    // Other links to a member that hung would hang as well, each for another caller.
    std::vector<Link> dropped;
    size_t member = link.member;
    if (broken) {
      dropped.push_back(std::move(link));
      MutexLock lock(mutex_);
      auto others = std::partition(idle_.begin(), idle_.end(),
                                   [&](const Link& idle) { return idle.member != member; });
      std::move(others, idle_.end(), std::back_inserter(dropped));
      idle_.erase(others, idle_.end());
    } else {
      MutexLock lock(mutex_);
      idle_.push_back(std::move(link));
      if (idle_.size() > static_cast<size_t>(most_links_)) {
        dropped.push_back(std::move(idle_.front()));
        idle_.erase(idle_.begin());
      }
    }
    Free();
  }

  void Free() {
    MutexLock lock(mutex_);
    --links_in_use_;
    link_free_.NotifyAll();
  }

  const std::unique_ptr<TlsContext> tls_;
  Login login_;
  Clock* const store_clock_;
  std::atomic<uint64_t> requests_{0}, failures_{0}, connects_{0}, logins_{0};

  Mutex mutex_;
  CondVar link_free_;
  std::vector<Link> idle_ ABSL_GUARDED_BY(mutex_);  // the last one was used last
  int links_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t kept_ ABSL_GUARDED_BY(mutex_) = 0;
  ServerClock clock_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const EtcdOptions& options,
                                                             Clock* store_clock) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::vector<Endpoint> endpoints;
  for (const std::string& text : options.endpoints) {
    LOCUS_ASSIGN_OR_RETURN(Endpoint endpoint, Endpoint::Parse(text));
    endpoints.push_back(std::move(endpoint));
  }
  std::unique_ptr<TlsContext> tls;
  if (options.tls.enabled) {
    LOCUS_ASSIGN_OR_RETURN(tls, TlsContext::Load({options.tls.ca_file, options.tls.certificate_file,
                                                  options.tls.key_file}));
  }
  LOCUS_ASSIGN_OR_RETURN(Login login, Login::Make(options.user, options.password));
  return std::unique_ptr<Connection>(new Connection(std::make_unique<Rep>(
      options, std::move(endpoints), std::move(tls), std::move(login), store_clock)));
}

Connection::Connection(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Connection::~Connection() = default;

bool Connection::forked() const { return rep_->process_.forked(); }

absl::Status Connection::RefuseFork() const {
  if (!forked()) return absl::OkStatus();
  return internal::ForkGuard::Refusal(absl::StrCat("the connection to ", place()));
}

TimePoint Connection::Deadline() const {
  return std::chrono::steady_clock::now() + rep_->call_timeout_;
}

absl::StatusOr<Answer> Connection::Post(std::string_view path, std::string_view request,
                                        Repeat repeat, TimePoint deadline) {
  return rep_->Post(path, request, repeat, deadline);
}

absl::StatusOr<TxnAnswer> Connection::Commit(const Txn& txn, TimePoint deadline) {
  Repeat repeat = txn.writes() ? Repeat::kNever : Repeat::kAllowed;
  LOCUS_ASSIGN_OR_RETURN(Answer answer, Post("/v3/kv/txn", txn.Json(), repeat, deadline));
  absl::StatusOr<TxnReply> reply = ReadTxn(answer.body, txn.has_limit());
  if (!reply.ok()) return At(answer.origin.endpoint, reply.status());
  return TxnAnswer{*std::move(reply), std::move(answer.origin)};
}

absl::StatusOr<std::unique_ptr<Stream>> Connection::OpenStream(std::string_view path,
                                                               std::string_view request,
                                                               TimePoint deadline) {
  return rep_->OpenStream(path, request, deadline);
}

absl::StatusOr<MemberStatus> Connection::Status(TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(Answer answer,
                         Post("/v3/maintenance/status", "{}", Repeat::kAllowed, deadline));
  absl::StatusOr<MemberStatus> status = ReadStatus(answer.body);
  if (!status.ok()) return At(answer.origin.endpoint, status.status());
  return status;
}

absl::StatusOr<TimeSpan> Connection::Now(TimePoint deadline) { return rep_->Now(deadline); }
const std::string& Connection::place() const { return rep_->place_; }
void Connection::CountConflict() { ++rep_->conflicts_; }
EtcdStats Connection::Stats() const { return rep_->Stats(); }

Stream::Stream(std::unique_ptr<HttpConnection> http, Origin origin)
    : http_(std::move(http)), origin_(std::move(origin)) {}
Stream::~Stream() = default;

void Stream::Interrupt() { http_->Interrupt(); }

absl::StatusOr<std::string> Stream::ReadLine(TimePoint deadline) {
  absl::StatusOr<std::optional<std::string>> line = http_->ReadLine(kLongestBody, deadline);
  if (!line.ok()) {
    if (!absl::IsOutOfRange(line.status())) return At(origin_.endpoint, line.status());
    return At(origin_.endpoint, absl::FailedPreconditionError(line.status().message()));
  }
  if (line->has_value()) return **std::move(line);
  return At(origin_.endpoint, absl::UnavailableError("the stream ended"));
}

}  // namespace locus::etcd
