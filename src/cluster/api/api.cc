// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/api.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"
#include "src/cluster/api/call.h"
#include "src/cluster/api/forwarder.h"
#include "src/cluster/api/listing_query.h"
#include "src/cluster/api/pages.h"
#include "src/cluster/api/store_bodies.h"
#include "src/cluster/api/store_calls.h"
#include "src/cluster/api/strict_bodies.h"
#include "src/cluster/api/tokens.h"
#include "src/cluster/node/member_address.h"
#include "src/http/api/members.h"
#include "src/http/api/rate_limit.h"
#include "src/worker/worker_rules.h"

namespace locus::cluster_api {

using cluster_machine::Answer;
using cluster_machine::Request;
using cluster_machine::RequestId;
using http::Server;
using http::ServerAnswer;
using http::ServerRequest;
using internal::ParseDecimal;
using internal::Quoted;
using raft::NodeStatus;
using TimeView = cluster_node::ClusterNode::TimeView;

namespace {

// Of what a member forwards, for many clients.
RateLimitOptions OfMembers(RateLimitOptions rate) {
  constexpr double kClients = 10;
  rate.per_second *= kClients;
  rate.burst *= kClients;
  return rate;
}

// One has megabytes, where holders are long or a strict set is large, and is kept while its client
// reads it.
constexpr size_t kMostListings = 32;

// A listing of leases or of a strict set until it is sent.
struct Listing {
  explicit Listing(std::shared_ptr<Traffic> of) : traffic(std::move(of)) {}
  ~Listing() { --traffic->listings; }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  const std::shared_ptr<Traffic> traffic;
  const size_t others = traffic->listings++;
  ViewPage page;  // of leases
};
using ListingPtr = std::shared_ptr<Listing>;

absl::StatusOr<ListingPtr> NewListing(const std::shared_ptr<Traffic>& traffic) {
  auto listing = std::make_shared<Listing>(traffic);
  if (listing->others < kMostListings) return listing;
  return absl::UnavailableError(
      absl::StrCat("this node has ", kMostListings, " listings under way, which is the most"));
}

ServerAnswer Done() { return {204, {}, ""}; }

// "<ms since 1970>-<32 hex digits>[-<serial>]"; nullopt: there is none.
absl::StatusOr<std::optional<RequestId>> RequestIdOf(const ServerRequest& request) {
  const std::string_view text = request.Header("Request-Id");
  if (text.empty()) return std::nullopt;
  const size_t dash = text.find('-');
  std::optional<uint64_t> made;
  std::optional<absl::uint128> number;
  std::optional<uint64_t> serial = 0;
  if (dash != std::string_view::npos) {
    made = ParseDecimal(text.substr(0, dash), 253402300799999);
    std::string_view rest = text.substr(dash + 1);
    if (rest.size() > 33 && rest[32] == '-') {
      serial = ParseDecimal(rest.substr(33), UINT64_MAX);
      rest = rest.substr(0, 32);
    }
    number = internal::ParseHex(rest);
  }
  if (!made || !number || !serial) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Request-Id ", Quoted(text), " is not <ms since 1970>-<32 hex digits>[-<serial>]"));
  }
  return RequestId{absl::FromUnixMillis(static_cast<int64_t>(*made)), absl::Uint128High64(*number),
                   absl::Uint128Low64(*number), *serial};
}

}  // namespace

// Held by each request that waits for the node.
class Api::Rep : public std::enable_shared_from_this<Rep> {
 public:
  Rep(cluster_node::ClusterNode& node, const ApiOptions& options)
      : node_(node),
        options_(options),
        rate_(options.shared_rate != nullptr ? options.shared_rate
                                             : std::make_shared<RateLimit>(options.rate)),
        members_rate_(OfMembers(options.rate)) {
    options_.tokens.clear();
    options_.operator_tokens.clear();
    traffic_->on_request = options.on_request;
  }

  absl::Status Start(const ApiOptions& options) {
    LOCUS_RETURN_IF_ERROR(tokens_.Keep(options.tokens, options.operator_tokens));
    if (options_.forward.most == 0) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(forwarder_, Forwarder::Make(options_.forward, options_.tls));
    return absl::OkStatus();
  }

  void Handle(ServerRequest request, Server::Respond respond) {
    const auto call = std::make_shared<ApiCall>(traffic_, std::move(request), std::move(respond));
    const std::string& path = call->request().path;
    if (path == "/healthz" || path == "/readyz") {
      const absl::Status health = Health(path == "/readyz");
      if (!health.ok()) return call->Refuse(health, 503);
      return call->Answer({200, {{"Content-Type", "text/plain"}}, "ok\n"});
    }
    if (!HasRoomFor(call)) return;
    if (options_.admit) {
      Admission admission = options_.admit(call->request());
      call->set_client(std::move(admission.client));
      if (admission.refusal) return call->Answer(*std::move(admission.refusal));
    } else if (auto refusal = tokens_.Refuse(call->request())) {
      return call->Answer(*std::move(refusal));
    }
    absl::Status status = Route(call);
    if (!status.ok()) call->Refuse(status);
  }

  absl::Status Health(bool ready) const {
    const NodeStatus status = node_.Status();
    LOCUS_RETURN_IF_ERROR(status.failure);
    if (status.removed) {
      return absl::UnavailableError("this node was removed from the cluster");
    }
    if (ready && status.leader == 0) return absl::UnavailableError("no leader is known");
    return absl::OkStatus();
  }
  std::string Metrics() const { return MetricsPage(node_.Status(), node_.stats(), *traffic_); }

 private:
  // False: the call is answered.
  bool HasRoomFor(const ApiCallPtr& call) {
    if (traffic_->under_way > options_.most_under_way) {
      ++traffic_->overloads;
      call->Refuse(absl::UnavailableError(absl::StrCat("this node has ", options_.most_under_way,
                                                       " requests under way, which is the most")));
      return false;
    }
    if (options_.rate.per_second == 0) return true;
    RateLimit& rate = IsFromMember(call->request()) ? members_rate_ : *rate_;
    const absl::Duration wait =
        rate.Take(call->request().peer,
                  absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()));
    if (wait == absl::ZeroDuration()) return true;
    ++traffic_->limited;
    ServerAnswer answer = ProblemAnswer(
        absl::UnavailableError(absl::StrCat("more than ", rate.options().per_second,
                                            " requests a second come from ", call->request().peer)),
        429);
    for (auto& [name, value] : answer.headers) {
      if (name == "Retry-After") value = absl::StrCat(absl::ToInt64Seconds(wait) + 1);
    }
    call->Answer(std::move(answer));
    return false;
  }

  // A member that forwards has already counted the request, and forwards those of many clients.
  // Other processes at a member's address can claim the same, so forwarded requests have a limit of
  // their own.
  bool IsFromMember(const ServerRequest& request) {
    if (!Forwarder::IsForwarded(request)) return false;
    for (const NodeStatus::OfMember& of : node_.Status().members) {
      const auto address = cluster_node::MemberAddress::Parse(of.member.address);
      if (!address.ok()) continue;
      const auto endpoint = http::Endpoint::Parse(address->api);
      if (endpoint.ok() && endpoint->host == request.peer) return true;
    }
    return false;
  }

  // An error, or the answer is under way.
  absl::Status Route(const ApiCallPtr& call) {
    const std::string& path = call->request().path;
    const std::string& method = call->request().method;
    auto below = [&path](std::string_view prefix) -> std::optional<std::string_view> {
      if (!std::string_view(path).starts_with(prefix)) return std::nullopt;
      return std::string_view(path).substr(prefix.size());
    };
    if (method == "GET" && path == "/v1/status") {
      call->Answer(JsonAnswer(
          200, StatusPage(options_.cluster, options_.address, node_.Status(), node_.stats(),
                          options_.unreached ? options_.unreached() : std::string())));
      return absl::OkStatus();
    }
    if (method == "GET" && path == "/v1/members") {
      call->Answer(JsonAnswer(200, MembersPage(node_.Status())));
      return absl::OkStatus();
    }
    if (method == "GET" && path == "/metrics") {
      call->Answer({200, {{"Content-Type", "text/plain; version=0.0.4"}}, Metrics()});
      return absl::OkStatus();
    }
    if (method == "GET" && path == "/v1/time") return ShowTime(call);
    if (method == "POST" && path == "/v1/time:advance") return AdvanceTime(call);
    if (IsOfStore(path)) return OfStore(call);
    if (method == "GET" && path == "/v1/leases") return Show(call);
    if (method == "POST" && path == "/v1/leases") return Acquire(call);
    if (method == "POST" && path == "/v1/members") return AddMember(call);
    if (auto space = below("/v1/spaces/"); space && method == "PUT") {
      return Create(*space, call);
    }
    if (auto space = below("/v1/spaces/"); space && method == "DELETE") {
      LOCUS_ASSIGN_OR_RETURN(SpaceName name, SpaceName::Parse(*space));
      return Submit(call, name, cluster_machine::Delete{}, 204);
    }
    if (auto worker = below("/v1/leases/"); worker && method == "PUT") {
      return Renew(*worker, call);
    }
    if (auto worker = below("/v1/leases/"); worker && method == "DELETE") {
      return Release(*worker, call);
    }
    if (auto member = below("/v1/members/")) return ChangeMember(*member, call);
    return absl::NotFoundError(absl::StrCat("there is no ", method, " ", Quoted(path)));
  }

  absl::Status Create(std::string_view name, const ApiCallPtr& call) {
    LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(name));
    LOCUS_ASSIGN_OR_RETURN(CreateWish wish, ParseCreate(call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::CheckRest(wish.rest));
    return Submit(call, space, cluster_machine::Create{wish.rest, wish.caller_now}, 204);
  }

  absl::Status Acquire(const ApiCallPtr& call) {
    LOCUS_ASSIGN_OR_RETURN(auto of, ParseAcquire(call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::Check(of.wish));
    return Submit(call, of.space, std::move(of.wish), 201);
  }

  // Answers with the value that it is called with; the body is made off the node's thread.
  template <typename Shown>
  std::function<void(absl::StatusOr<Shown>)> ShowsTo(const ApiCallPtr& call,
                                                     ListingPtr listing = nullptr) {
    return [self = shared_from_this(), call, listing](absl::StatusOr<Shown> shown) {
      if (!shown.ok()) return self->Refuse(call, shown.status());
      ServerAnswer answer = JsonAnswer(200, "");
      answer.make_body = [shown = *std::move(shown), listing] { return BodyOf(shown) + '\n'; };
      call->Answer(std::move(answer));
    };
  }

  absl::Status OfStore(const ApiCallPtr& call) {
    if (!options_.keeps_store) {
      return absl::FailedPreconditionError(
          "this cluster keeps no counters and no order IDs: set api.store = true on each of its "
          "nodes, once all of them have this version");
    }
    LOCUS_ASSIGN_OR_RETURN(StoreCall of, ParseStoreCall(call->request()));
    if (!of.action) return ShowOfStore(std::move(of), call);
    LOCUS_ASSIGN_OR_RETURN(std::optional<RequestId> id, RequestIdOf(call->request()));
    node_.Submit({id, of.space, *std::move(of.action), call->trace()},
                 [self = shared_from_this(), call](const Answer& answer) {
                   if (!answer.status.ok()) return self->Refuse(call, answer.status);
                   call->Answer(StoreAnswer(answer));
                 });
    return absl::OkStatus();
  }

  absl::Status ShowOfStore(StoreCall of, const ApiCallPtr& call) {
    switch (of.shows) {
      case StoreCall::Shows::kOrderSpace:
        node_.ShowSegments(of.space, ShowsTo<SpaceView>(call));
        break;
      case StoreCall::Shows::kTypes:
        node_.ShowTypes(std::move(of.type), ShowsTo<cluster_node::ClusterNode::Types>(call));
        break;
      case StoreCall::Shows::kStrictSet: {
        LOCUS_ASSIGN_OR_RETURN(ListingPtr listing, NewListing(traffic_));
        node_.ShowStrictSet(of.space, ShowsTo<strict_machine::View>(call, std::move(listing)));
        break;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> WorkerOf(std::string_view text) {
    const std::optional<uint64_t> worker = ParseDecimal(text, kMostWorker);
    if (worker) return *worker;
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is no worker ID"));
  }

  absl::Status Renew(std::string_view text, const ApiCallPtr& call) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t worker, WorkerOf(text));
    LOCUS_ASSIGN_OR_RETURN(auto of, ParseRenew(worker, call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::Check(of.wish));
    return Submit(call, of.space, std::move(of.wish), 200);
  }

  absl::Status Release(std::string_view text, const ApiCallPtr& call) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t worker, WorkerOf(text));
    LOCUS_ASSIGN_OR_RETURN(auto of, ParseRelease(worker, call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::Check(of.wish));
    return Submit(call, of.space, std::move(of.wish), 204);
  }

  absl::Status Submit(const ApiCallPtr& call, const SpaceName& space,
                      cluster_machine::Action action, unsigned good) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<RequestId> id, RequestIdOf(call->request()));
    node_.Submit({id, space, std::move(action), call->trace()},
                 [self = shared_from_this(), good, call](const Answer& answer) {
                   if (!answer.status.ok()) return self->Refuse(call, answer.status);
                   if (good == 204 || !answer.grant) return call->Answer(Done());
                   call->Answer(JsonAnswer(good, BodyOf(*answer.grant)));
                 });
    return absl::OkStatus();
  }

  absl::Status Show(const ApiCallPtr& call) {
    LOCUS_ASSIGN_OR_RETURN(const ListingQuery query, ParseListingQuery(call->request().query));
    LOCUS_ASSIGN_OR_RETURN(ListingPtr listing, NewListing(traffic_));
    // A copy is all that the node's thread makes; the lease behind the last one says where the
    // next page begins.
    auto answered = [self = shared_from_this(), call, listing,
                     limit = query.limit](absl::StatusOr<WorkerSpaceView> view) mutable {
      if (!view.ok()) return self->Refuse(call, view.status());
      if (view->workers.size() > limit) {
        listing->page.next = view->workers[limit].worker;
        view->workers.resize(limit);
      }
      listing->page.view = *std::move(view);
      ServerAnswer answer = JsonAnswer(200, "");
      answer.make_body = [listing = std::move(listing)] {
        return BodyOf(std::exchange(listing->page, {})) + '\n';
      };
      call->Answer(std::move(answer));
    };
    node_.Show(query.space, query.from, query.limit + 1, std::move(answered));
    return absl::OkStatus();
  }

  absl::Status ShowTime(const ApiCallPtr& call) {
    node_.ShowTime([self = shared_from_this(), call](absl::StatusOr<TimeView> view) {
      if (!view.ok()) return self->Refuse(call, view.status());
      call->Answer(JsonAnswer(200, TimePage(*view)));
    });
    return absl::OkStatus();
  }

  absl::Status AdvanceTime(const ApiCallPtr& call) {
    Members members(call->request().body);
    const absl::Duration most = members.Duration("most_ms");
    LOCUS_RETURN_IF_ERROR(members.Finish());
    node_.AdvanceTime(most, [self = shared_from_this(), call](absl::StatusOr<TimeView> before) {
      if (!before.ok()) return self->Refuse(call, before.status());
      if (self->options_.on_advance) self->options_.on_advance(call->client(), *before);
      call->Answer(JsonAnswer(200, TimePage(*before)));
    });
    return absl::OkStatus();
  }

  absl::Status AddMember(const ApiCallPtr& call) {
    Members members(call->request().body);
    const std::string id = members.Text("id", 20);
    const std::string address = members.Text("address", 1024);
    LOCUS_RETURN_IF_ERROR(members.Finish());
    raft::MemberChange change;
    const std::optional<uint64_t> number = ParseDecimal(id, UINT64_MAX);
    if (!number || *number == 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"id\": ", Quoted(id), " is no node's ID"));
    }
    LOCUS_RETURN_IF_ERROR(cluster_node::MemberAddress::Parse(address).status());
    change.id = *number;
    change.address = address;
    return Change(std::move(change), call);
  }

  absl::Status ChangeMember(std::string_view member, const ApiCallPtr& call) {
    const size_t colon = member.find(':');
    const std::string_view verb = colon == member.npos ? "" : member.substr(colon + 1);
    const std::optional<uint64_t> id = ParseDecimal(member.substr(0, colon), UINT64_MAX);
    if (!id || *id == 0) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(member), " is no member's ID"));
    }
    raft::MemberChange change;
    change.id = *id;
    const std::string& method = call->request().method;
    if (method == "DELETE" && verb.empty()) {
      change.kind = raft::MemberChange::Kind::kRemove;
      return Change(std::move(change), call);
    }
    if (method == "POST" && verb == "promote") {
      change.kind = raft::MemberChange::Kind::kPromote;
      return Change(std::move(change), call);
    }
    if (method == "POST" && verb == "transfer") {
      // A node that does not lead has nothing to hand over, and says so by OK.
      if (node_.Status().role != raft::Role::kLeader) {
        return Refuse(call, absl::UnavailableError("this node does not lead")), absl::OkStatus();
      }
      node_.Transfer(*id, WhenDone(call));
      return absl::OkStatus();
    }
    return absl::NotFoundError(
        absl::StrCat("there is no ", method, " ", Quoted(call->request().path)));
  }

  absl::Status Change(raft::MemberChange change, const ApiCallPtr& call) {
    node_.ChangeMembers(std::move(change), WhenDone(call));
    return absl::OkStatus();
  }

  raft::Shell::Done WhenDone(const ApiCallPtr& call) {
    return [self = shared_from_this(), call](const absl::Status& status) {
      if (!status.ok()) return self->Refuse(call, status);
      call->Answer(Done());
    };
  }

  // If another node leads: forwards, or redirects to it. If the outcome of a request is unknown,
  // only its client may repeat it.
  void Refuse(const ApiCallPtr& call, const absl::Status& status) {
    const std::string address = absl::IsUnavailable(status) && !raft::IsCommitUnknown(status)
                                    ? AddressOfLeader()
                                    : std::string();
    if (address.empty()) return call->Refuse(status);
    auto redirect = [status, origin = (options_.tls ? "https://" : "http://") +
                                      address](const ApiCallPtr& one) {
      const ServerRequest& request = one->request();
      ServerAnswer answer = ProblemAnswer(status, 307);
      answer.headers.emplace_back(
          "Location",
          absl::StrCat(origin, request.path, request.query.empty() ? "" : "?", request.query));
      one->Answer(std::move(answer));
    };
    if (forwarder_ != nullptr && Forwarder::IsWanted(call->request()) &&
        forwarder_->Forward(address, call, redirect)) {
      ++traffic_->forwarded;
      return;
    }
    redirect(call);
  }

  // Of the API of another node that leads; empty: none is known.
  std::string AddressOfLeader() {
    const NodeStatus node = node_.Status();
    if (node.leader == 0 || node.leader == node.self) return "";
    const auto parsed = cluster_node::MemberAddress::Parse(node.leader_address);
    return parsed.ok() ? parsed->api : "";
  }

  cluster_node::ClusterNode& node_;
  ApiOptions options_;  // without the tokens
  Tokens tokens_;
  const std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  const std::shared_ptr<RateLimit> rate_;
  RateLimit members_rate_;
  std::unique_ptr<Forwarder> forwarder_;  // nullptr: nothing is forwarded
};

absl::Status ApiOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(forward.Check());
  LOCUS_RETURN_IF_ERROR(rate.Check());
  if (most_under_way >= 1 && most_under_way <= 100'000) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("requests under way are ", most_under_way, "; they must be 1 to 100000"));
}

Api::Api(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}
Api::~Api() = default;

absl::StatusOr<std::shared_ptr<Api>> Api::Make(cluster_node::ClusterNode& node,
                                               const ApiOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  auto rep = std::make_shared<Rep>(node, options);
  LOCUS_RETURN_IF_ERROR(rep->Start(options));
  return std::shared_ptr<Api>(new Api(std::move(rep)));
}

void Api::Handle(ServerRequest request, Server::Respond respond) {
  rep_->Handle(std::move(request), std::move(respond));
}

absl::Status Api::Health(bool ready) const { return rep_->Health(ready); }
std::string Api::Metrics() const { return rep_->Metrics(); }

}  // namespace locus::cluster_api
