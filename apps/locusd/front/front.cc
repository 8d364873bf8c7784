// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/front/front.h"

#include <atomic>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "apps/locusd/front/replaceable.h"
#include "apps/locusd/front/request_id.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/run/seldom.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"
#include "src/http/api/problem.h"
#include "src/http/api/traceparent.h"
#include "src/http/endpoint.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {

using cluster_api::ProblemAnswer;
using http::Server;
using http::ServerAnswer;
using http::ServerRequest;
using internal::Quoted;
using internal::ToAbsl;
using SteadyClock = std::chrono::steady_clock;

namespace {

using http_api::Route;
using http_api::RouteTable;
using http_api::RouteTo;

// What Front answers without a handler.
enum class Own { kHealth, kReady, kMetrics, kOpenApi };
constexpr RouteTo<Own> kOwnRoutes[] = {
    {{"GET", "/healthz", {}, "health"}, Own::kHealth},
    {{"GET", "/readyz", {}, "ready"}, Own::kReady},
    {{"GET", "/metrics", {Scope::kRead}, "metrics"}, Own::kMetrics},
    {{"GET", "/openapi.json", {}, "openapi"}, Own::kOpenApi},
};

std::string HostOf(std::string_view text) {
  const absl::StatusOr<http::Endpoint> endpoint = http::Endpoint::Parse(text);
  return endpoint.ok() ? endpoint->host : std::string(text);
}

bool NamesLoopback(std::string_view host) {
  const std::string name = HostOf(host);
  return name == "localhost" || internal::IsLoopback(name);
}

// Whether a browser says that a page of another origin sends it.
bool IsOfAnotherOrigin(const ServerRequest& request) {
  const std::string_view site = request.Header("Sec-Fetch-Site");
  if (site == "cross-site" || site == "same-site") return true;
  const std::string_view origin = request.Header("Origin");
  if (origin.empty()) return false;
  const size_t scheme = origin.find("://");
  return scheme == origin.npos ||
         !absl::EqualsIgnoreCase(ToAbsl(origin.substr(scheme + 3)), ToAbsl(request.Header("Host")));
}

ServerAnswer WrongHostAnswer(const ServerRequest& request) {
  return ProblemAnswer(absl::PermissionDeniedError(absl::StrCat(
      "Host is ", Quoted(request.Header("Host")), "; it must be this machine's loopback")));
}

void AddRequestId(const std::string& id, ServerAnswer& answer) {
  answer.headers.emplace_back("X-Request-Id", id);
  if (answer.status >= 400) http_api::AddToProblem(answer, {{"request_id", id}});
}

bool IsEncoded(const ServerRequest& request) {
  const std::string_view encoding = request.Header("Content-Encoding");
  return !encoding.empty() && !absl::EqualsIgnoreCase(ToAbsl(encoding), "identity");
}
ServerAnswer EncodedAnswer(const ServerRequest& request) {
  ServerAnswer answer =
      ProblemAnswer(absl::InvalidArgumentError(absl::StrCat(
                        "Content-Encoding is ", Quoted(request.Header("Content-Encoding")),
                        "; bodies are taken without one")),
                    415);
  answer.headers.emplace_back("Accept-Encoding", "identity");
  return answer;
}

ServerAnswer TextAnswer(std::string type, std::string body) {
  return {200, {{"Content-Type", std::move(type)}}, std::move(body)};
}

}  // namespace

class Front::Rep : public std::enable_shared_from_this<Rep> {
 public:
  Rep(std::shared_ptr<AccessControl> access, FrontOptions options)
      : options_(std::move(options)),
        access_(std::move(access)),
        rate_(std::make_shared<cluster_api::RateLimit>(options_.rate)) {}

  void Add(Handler& handler) { handlers_.push_back(&handler); }
  void Replace(std::shared_ptr<AccessControl> access) {
    access->GoOnFrom(*access_.load());
    access_.store(std::move(access));
  }
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  size_t under_way() const { return under_way_; }
  std::shared_ptr<cluster_api::RateLimit> rate() const { return rate_; }

  AccessControl::Decision Decide(const ServerRequest& request, Scopes any_of) const {
    AccessControl::Decision decision =
        access_.load()->Decide(request, any_of, absl::Now(), SteadyNow());
    if (decision.refusal && decision.refusal->status == 401) TellOfUnauthorized(request);
    // Whoever is let in without a token is on this machine; a page of the web in its browser is not
    // meant, whatever the method: a GET of IDs uses them up.
    const bool by_nobody = decision.access.client.empty() && !decision.access.scopes.empty();
    if (!decision.refusal && by_nobody) {
      if (!NamesLoopback(request.Header("Host"))) {
        decision.refusal = WrongHostAnswer(request);
      } else if (IsOfAnotherOrigin(request) && (!any_of.empty() || !IsRead(request))) {
        decision.refusal = ProblemAnswer(absl::PermissionDeniedError(
            "a page of another origin sends this, and no token comes with it"));
      }
    }
    return decision;
  }

  bool ReadsBody(const ServerRequest& request) const {
    if (WrongHost(request) || IsEncoded(request)) return false;
    const Target target = TargetOf(request);
    if (target.handler == nullptr || target.route == nullptr) return false;
    const Scopes any_of = target.route->scopes;
    return !any_of.empty() && access_.load()->Admits(request, any_of, absl::Now());
  }

  void Refused(const std::string& peer, ServerAnswer& answer) const {
    const std::string id = MakeRequestId();
    AddRequestId(id, answer);
    if (!options_.on_request || (options_.is_logged && !options_.is_logged())) return;
    options_.on_request({"", "", peer, "", id, "", answer.status, absl::ZeroDuration()});
  }

  void Handle(ServerRequest request, Server::Respond respond) {
    auto pending =
        std::make_shared<Pending>(shared_from_this(), TakeRequestId(request), std::move(respond));
    const Target target = TargetOf(request);
    Handler* const handler = target.handler;
    const bool wrong_host = WrongHost(request);
    if (!wrong_host) {
      if (auto answer = AnswerToMethod(request, target)) return pending->Give(*std::move(answer));
    }
    if (handler != nullptr && handler->AdmitsItself() && !wrong_host && !request.body_unread) {
      return handler->Handle(std::move(request), {},
                             [pending](ServerAnswer answer) { pending->Give(std::move(answer)); });
    }
    if (options_.on_request && (!options_.is_logged || options_.is_logged())) {
      pending->event = EventOf(request, pending->id);
    }
    Access access;
    std::optional<ServerAnswer> answer = Refuse(request, target, wrong_host, access);
    if (pending->event) pending->event->client = access.client;
    if (!answer && IsEncoded(request)) answer = EncodedAnswer(request);
    if (!answer && handler == nullptr) answer = OwnAnswer(request, target.route);
    if (!answer && request.body_unread && !target.route->scopes.empty()) {
      // ReadsBody decided by tokens that were replaced since.
      answer = ProblemAnswer(absl::UnavailableError("the tokens changed meanwhile: send it again"));
    }
    if (answer) return pending->Give(*std::move(answer));
    handler->Handle(std::move(request), access,
                    [pending](ServerAnswer given) { pending->Give(std::move(given)); });
  }

 private:
  // Guesses at a token must not fill the log.
  void TellOfUnauthorized(const ServerRequest& request) const {
    if (!options_.on_unauthorized) return;
    const std::optional<uint64_t> untold = unauthorized_.Next();
    if (untold) {
      options_.on_unauthorized(request.peer, request.Header("X-Request-Id"), *untold);
    }
  }

  // A request until it is answered.
  struct Pending {
    Pending(std::shared_ptr<Rep> of, std::string request_id, Server::Respond take)
        : rep(std::move(of)), id(std::move(request_id)), respond(std::move(take)) {
      ++rep->under_way_;
    }
    ~Pending() { --rep->under_way_; }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    void Give(ServerAnswer answer) {
      AddRequestId(id, answer);
      const unsigned status = answer.status;
      respond(std::move(answer));
      if (!event) return;
      event->status = status;
      event->duration = absl::FromChrono(SteadyClock::now() - begun);
      rep->options_.on_request(*event);
    }

    const std::shared_ptr<Rep> rep;
    const std::string id;
    const Server::Respond respond;
    const SteadyClock::time_point begun = SteadyClock::now();
    std::optional<AnsweredRequest> event;  // nullopt: it is not logged
  };

  static AnsweredRequest EventOf(const ServerRequest& request, const std::string& id) {
    return {request.method,
            request.path,
            request.peer,
            "",
            id,
            ToString(http_api::TraceOf(request)),
            0,
            {}};
  }
  static bool IsRead(const ServerRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
  }

  // The request's own ID, or one that it gets.
  static std::string TakeRequestId(ServerRequest& request) {
    const std::string_view given = request.Header("X-Request-Id");
    if (IsRequestId(given)) return std::string(given);
    std::string made = MakeRequestId();
    std::erase_if(request.headers, [](const auto& header) {
      return absl::EqualsIgnoreCase(header.first, "X-Request-Id");
    });
    request.headers.emplace_back("X-Request-Id", made);
    return made;
  }

  // Who answers a request.
  struct Target {
    Handler* handler = nullptr;              // nullptr: the front itself
    const RouteTable::Path* path = nullptr;  // nullptr: there is none
    const Route* route = nullptr;            // nullptr: the path has no such method

    bool IsHealth() const {
      return handler == nullptr && path != nullptr &&
             (path->path == "/healthz" || path->path == "/readyz");
    }
  };
  Target TargetOf(const ServerRequest& request) const {
    Target target;
    target.path = Front::Routes().Find(request.path).path;
    for (auto each = handlers_.begin(); target.path == nullptr && each != handlers_.end(); ++each) {
      target.path = (*each)->Routes().Find(request.path).path;
      target.handler = target.path == nullptr ? nullptr : *each;
    }
    if (target.path == nullptr) return target;
    target.route = target.path->Find(request.method == "HEAD" ? "GET" : request.method);
    return target;
  }
  // 405 where the path has other methods, or what there is to OPTIONS. A HEAD becomes the GET that
  // it is without its body, which the server leaves away.
  std::optional<ServerAnswer> AnswerToMethod(ServerRequest& request, const Target& target) const {
    if (request.path == "*") return ServerAnswer{204, {{"Allow", AllowOfAll()}}, ""};
    if (target.path == nullptr) return std::nullopt;
    const std::string& allow = target.path->allow;
    if (request.method == "OPTIONS") return ServerAnswer{204, {{"Allow", allow}}, ""};
    if (target.route == nullptr) {
      ServerAnswer answer = ProblemAnswer(
          absl::InvalidArgumentError(absl::StrCat("there is no ", Quoted(request.method), " of ",
                                                  Quoted(request.path), ", but ", allow)),
          405);
      answer.headers.emplace_back("Allow", allow);
      return answer;
    }
    if (request.method == "HEAD") request.method = "GET";
    return std::nullopt;
  }
  std::string AllowOfAll() const {
    std::set<std::string> all = {"GET", "HEAD", "OPTIONS"};
    for (const Handler* const handler : handlers_) {
      for (const Route* const route : handler->Routes().routes()) all.emplace(route->method);
    }
    return absl::StrJoin(all, ", ");
  }
  bool WrongHost(const ServerRequest& request) const {
    return options_.only_loopback_hosts && !NamesLoopback(request.Header("Host"));
  }

  // Why it is not let in; otherwise `access` is the client's.
  std::optional<ServerAnswer> Refuse(const ServerRequest& request, const Target& target,
                                     bool wrong_host, Access& access) {
    if (wrong_host) return WrongHostAnswer(request);
    if (target.IsHealth()) return std::nullopt;
    if (under_way_ > options_.most_under_way) {
      ++overloads_;
      return ProblemAnswer(absl::UnavailableError(absl::StrCat(
          "this node has ", options_.most_under_way, " requests under way, which is the most")));
    }
    const absl::Duration wait = rate_->Take(request.peer, SteadyNow());
    if (wait > absl::ZeroDuration()) {
      ++limited_;
      ServerAnswer answer = ProblemAnswer(
          absl::UnavailableError(absl::StrCat("more than ", options_.rate.per_second,
                                              " requests a second come from ", request.peer)),
          429);
      for (auto& [name, value] : answer.headers) {
        if (name == "Retry-After") value = absl::StrCat(absl::ToInt64Seconds(wait) + 1);
      }
      return answer;
    }
    const Scopes any_of = target.route != nullptr ? target.route->scopes : Scopes::All();
    AccessControl::Decision decision = Decide(request, any_of);
    access = std::move(decision.access);
    if (decision.refusal) return std::move(decision.refusal);
    return std::nullopt;
  }

  // To what no handler has. nullptr: nor has the front.
  ServerAnswer OwnAnswer(const ServerRequest& request, const Route* route) const {
    if (route == nullptr) {
      return ProblemAnswer(absl::NotFoundError(
          absl::StrCat("there is no ", request.method, " ", Quoted(request.path))));
    }
    switch (static_cast<const RouteTo<Own>*>(route)->handler) {
      case Own::kHealth:
        return ShownHealth(request, /*ready=*/false);
      case Own::kReady:
        return ShownHealth(request, /*ready=*/true);
      case Own::kMetrics:
        return TextAnswer("text/plain; version=0.0.4", Metrics());
      case Own::kOpenApi:
        return TextAnswer("application/json", options_.document ? options_.document() : "{}");
    }
    LOCUS_UNREACHABLE();
  }

  ServerAnswer ShownHealth(const ServerRequest& request, bool ready) const {
    ServerAnswer health = Health(ready);
    // Reasons name hosts, ports and files.
    if (health.status == 200 || access_.load()->Admits(request, {Scope::kRead}, absl::Now())) {
      return health;
    }
    return ProblemAnswer(absl::UnavailableError("the scope read is shown why"), 503);
  }

  ServerAnswer Health(bool ready) const {
    absl::Status status;
    for (const Handler* const handler : handlers_) status.Update(handler->Healthy());
    if (ready && draining_) status.Update(absl::UnavailableError("this node ends"));
    for (const Handler* const handler : handlers_) {
      if (ready) status.Update(handler->Ready());
    }
    return status.ok() ? TextAnswer("text/plain", "ok\n") : ProblemAnswer(status, 503);
  }

  std::string Metrics() const {
    std::string text;
    for (const Handler* const handler : handlers_) text += handler->Metrics();
    text += access_.load()->Metrics();
    if (options_.metrics) text += options_.metrics();
    metrics::MetricsText own;
    own.Add(metrics::locusd_front_limited_total, limited_);
    own.Add(metrics::locusd_front_overload_total, overloads_);
    own.Add(metrics::locusd_draining, draining_.load());
    own.Add(metrics::process_start_time_seconds, absl::ToUnixSeconds(begun_));
    return text + own.ToString();
  }

  const FrontOptions options_;
  const absl::Time begun_ = absl::Now();
  std::vector<Handler*> handlers_;
  Replaceable<AccessControl> access_;
  const std::shared_ptr<cluster_api::RateLimit> rate_;
  // Release by Drain, acquire by requests; it publishes nothing else.
  std::atomic<bool> draining_ = false;
  std::atomic<size_t> under_way_ = 0;
  mutable internal::Seldom unauthorized_;
  std::atomic<uint64_t> limited_ = 0;
  std::atomic<uint64_t> overloads_ = 0;
};

Front::Front(std::shared_ptr<AccessControl> access, FrontOptions options)
    : rep_(std::make_shared<Rep>(std::move(access), std::move(options))) {}
Front::~Front() = default;

const RouteTable& Front::Routes() {
  static const RouteTable* const table = new RouteTable(kOwnRoutes);
  return *table;
}

void Front::Add(Handler& handler) { rep_->Add(handler); }
void Front::Replace(std::shared_ptr<AccessControl> access) { rep_->Replace(std::move(access)); }
bool Front::ReadsBody(const ServerRequest& request) const { return rep_->ReadsBody(request); }
void Front::Refused(const std::string& peer, ServerAnswer& answer) const {
  rep_->Refused(peer, answer);
}
void Front::Handle(ServerRequest request, Server::Respond respond) {
  rep_->Handle(std::move(request), std::move(respond));
}
void Front::Drain() { rep_->Drain(); }
bool Front::draining() const { return rep_->draining(); }
size_t Front::under_way() const { return rep_->under_way(); }
AccessControl::Decision Front::Decide(const ServerRequest& request, Scopes any_of) const {
  return rep_->Decide(request, any_of);
}
std::shared_ptr<cluster_api::RateLimit> Front::rate() const { return rep_->rate(); }

}  // namespace locus::locusd
