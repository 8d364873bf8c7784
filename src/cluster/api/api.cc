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
#include "src/cluster/api/listing.h"
#include "src/cluster/api/listing_query.h"
#include "src/cluster/api/pages.h"
#include "src/cluster/api/store_bodies.h"
#include "src/cluster/api/store_calls.h"
#include "src/cluster/api/strict_bodies.h"
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
using http_api::FindRoute;
using http_api::RouteTable;
using http_api::RouteTo;
using http_api::Scope;
using http_api::Scopes;
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

ServerAnswer Done() { return {204, {}, ""}; }

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
    traffic_->on_request = options.on_request;
  }

  absl::Status Start() {
    if (options_.forward.most == 0) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(forwarder_, Forwarder::Make(options_.forward, options_.tls));
    return absl::OkStatus();
  }

  void Handle(ServerRequest request, Server::Respond respond) {
    const auto call = std::make_shared<ApiCall>(traffic_, std::move(request), std::move(respond));
    const std::string& path = call->request().path;
    if (!HasRoomFor(call)) return;
    std::string_view parameter;
    const RouteTo<Handler>* const route =
        FindRoute<Handler>(Table(), call->request().method, path, &parameter);
    if (options_.admit) {
      Admission admission =
          options_.admit(call->request(), route != nullptr ? route->scopes : Scopes::All());
      call->set_client(std::move(admission.client));
      if (admission.refusal) return call->Answer(*std::move(admission.refusal));
    }
    const absl::Status status =
        route != nullptr ? (this->*route->handler)(call, parameter)
                         : absl::NotFoundError(absl::StrCat("there is no ", call->request().method,
                                                            " ", Quoted(path)));
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

  static const RouteTable& Table();

 private:
  // An error, or the answer is under way.
  using Handler = absl::Status (Rep::*)(const ApiCallPtr&, std::string_view parameter);

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

  absl::Status ShowStatus(const ApiCallPtr& call, std::string_view) {
    call->Answer(JsonAnswer(
        200, StatusPage(options_.cluster, options_.address, node_.Status(), node_.stats(),
                        options_.unreached ? options_.unreached() : std::string())));
    return absl::OkStatus();
  }

  absl::Status ShowMembers(const ApiCallPtr& call, std::string_view) {
    call->Answer(JsonAnswer(200, MembersPage(node_.Status())));
    return absl::OkStatus();
  }

  absl::Status Delete(const ApiCallPtr& call, std::string_view name) {
    LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(name));
    return Submit(call, space, cluster_machine::Delete{}, 204);
  }

  absl::Status Create(const ApiCallPtr& call, std::string_view name) {
    LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(name));
    LOCUS_ASSIGN_OR_RETURN(CreateWish wish, ParseCreate(call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::CheckRest(wish.rest));
    return Submit(call, space, cluster_machine::Create{wish.rest, wish.caller_now}, 204);
  }

  absl::Status Acquire(const ApiCallPtr& call, std::string_view) {
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

  template <StoreParser Parse>
  absl::Status OfStore(const ApiCallPtr& call, std::string_view name) {
    if (!options_.keeps_store) {
      return absl::FailedPreconditionError(
          "this cluster keeps no counters and no order IDs: set api.store = true on each of its "
          "nodes, once all of them have this version");
    }
    LOCUS_ASSIGN_OR_RETURN(StoreCall of, Parse(name, call->request()));
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

  absl::Status Renew(const ApiCallPtr& call, std::string_view text) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t worker, WorkerOf(text));
    LOCUS_ASSIGN_OR_RETURN(auto of, ParseRenew(worker, call->request().body));
    LOCUS_RETURN_IF_ERROR(worker::Check(of.wish));
    return Submit(call, of.space, std::move(of.wish), 200);
  }

  absl::Status Release(const ApiCallPtr& call, std::string_view text) {
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

  absl::Status ListLeases(const ApiCallPtr& call, std::string_view) {
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

  absl::Status ShowTime(const ApiCallPtr& call, std::string_view) {
    node_.ShowTime([self = shared_from_this(), call](absl::StatusOr<TimeView> view) {
      if (!view.ok()) return self->Refuse(call, view.status());
      call->Answer(JsonAnswer(200, TimePage(*view)));
    });
    return absl::OkStatus();
  }

  absl::Status AdvanceTime(const ApiCallPtr& call, std::string_view) {
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

  absl::Status AddMember(const ApiCallPtr& call, std::string_view) {
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

  static absl::StatusOr<raft::NodeId> MemberOf(std::string_view text) {
    const std::optional<uint64_t> id = ParseDecimal(text, UINT64_MAX);
    if (id && *id != 0) return *id;
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is no member's ID"));
  }

  template <raft::MemberChange::Kind kKind>
  absl::Status ChangeMember(const ApiCallPtr& call, std::string_view member) {
    raft::MemberChange change;
    change.kind = kKind;
    LOCUS_ASSIGN_OR_RETURN(change.id, MemberOf(member));
    return Change(std::move(change), call);
  }

  absl::Status Transfer(const ApiCallPtr& call, std::string_view member) {
    LOCUS_ASSIGN_OR_RETURN(const raft::NodeId to, MemberOf(member));
    // A node that does not lead has nothing to hand over, and says so by OK.
    if (node_.Status().role != raft::Role::kLeader) {
      return Refuse(call, absl::UnavailableError("this node does not lead")), absl::OkStatus();
    }
    node_.Transfer(to, WhenDone(call));
    return absl::OkStatus();
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
  const ApiOptions options_;
  const std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  const std::shared_ptr<RateLimit> rate_;
  RateLimit members_rate_;
  std::unique_ptr<Forwarder> forwarder_;  // nullptr: nothing is forwarded
};

// Who leases cannot make anything repeat; who sets a counter or changes its type can, and who takes
// a strict section from its owner breaks its order.
const RouteTable& Api::Rep::Table() {
  using Kind = raft::MemberChange::Kind;
  static constexpr Scopes kNode = {Scope::kRead, Scope::kOperate}, kOperate = {Scope::kOperate},
                          kLeases = {Scope::kLeases}, kStore = {Scope::kStore},
                          kSeeLeases = {Scope::kLeases, Scope::kRead},
                          kSeeStore = {Scope::kStore, Scope::kRead};
  static constexpr RouteTo<Handler> kRoutes[] = {
      {{"PUT", "/v1/spaces/{space}", kOperate, "createSpace", "SpaceRequest", "", 204},
       &Rep::Create},
      {{"DELETE", "/v1/spaces/{space}", kOperate, "deleteSpace", "", "", 204}, &Rep::Delete},
      {{"GET", "/v1/leases", kSeeLeases, "listLeases", "", "Leases"}, &Rep::ListLeases},
      {{"POST", "/v1/leases", kLeases, "acquireLease", "Acquire", "Grant", 201}, &Rep::Acquire},
      {{"PUT", "/v1/leases/{worker}", kLeases, "renewLease", "Renew", "Grant"}, &Rep::Renew},
      {{"DELETE", "/v1/leases/{worker}", kLeases, "releaseLease", "Release", "", 204},
       &Rep::Release},
      {{"POST", "/v1/counters", kStore, "callCounter", "CounterCall", "CounterReply"},
       &Rep::OfStore<CallCounter>},
      {{"GET", "/v1/sequence_types", kSeeStore, "showTypes", "", "Rules"},
       &Rep::OfStore<ShowTypes>},
      {{"POST", "/v1/sequence_types", kStore, "changeType", "TypeChange", "TypeChanged"},
       &Rep::OfStore<ChangeType>},
      {{"GET", "/v1/segments/{space}", kSeeLeases, "showOrderSpace", "", "OrderSpace"},
       &Rep::OfStore<ShowSegments>},
      {{"PUT", "/v1/segments/{space}", kOperate, "createOrderSpace", "OrderSpaceRequest", "", 204},
       &Rep::OfStore<CallSegments<ParseSegmentCreate>>},
      {{"POST", "/v1/segments/{space}:allocate", kLeases, "allocateSegments", "SegmentAllocation",
        "SegmentGrants"},
       &Rep::OfStore<CallSegments<ParseSegmentAllocation>>},
      {{"POST", "/v1/segments/{space}:restored", kOperate, "declareRestored", "ClockOnly", "", 204},
       &Rep::OfStore<CallSegments<ParseSegmentRestored>>},
      {{"POST", "/v1/segments/{space}:raise", kOperate, "raiseBase", "BaseRequest", "Base"},
       &Rep::OfStore<CallSegments<ParseSegmentRaise>>},
      {{"GET", "/v1/strict_sets/{set}", kSeeStore, "showStrictSet", "", "StrictSet"},
       &Rep::OfStore<ShowStrictSet>},
      {{"PUT", "/v1/strict_sets/{set}", kOperate, "createStrictSet", "StrictSetCreate", "", 204},
       &Rep::OfStore<CreateStrictSet>},
      {{"POST", "/v1/strict_sets/{set}:take", kStore, "takeSections", "StrictSetTake",
        "StrictSetGrants"},
       &Rep::OfStore<CallStrictSet<ParseStrictTake>>},
      {{"POST", "/v1/strict_sets/{set}:extend", kStore, "extendSections", "StrictSetExtend",
        "StrictSetExtended"},
       &Rep::OfStore<CallStrictSet<ParseStrictExtend>>},
      {{"POST", "/v1/strict_sets/{set}:release", kStore, "releaseSections", "StrictSetRelease",
        "StrictSetExtended"},
       &Rep::OfStore<CallStrictSet<ParseStrictRelease>>},
      {{"POST", "/v1/strict_sets/{set}:restored", kOperate, "declareStrictRestored", "Nothing", "",
        204},
       &Rep::OfStore<CallStrictSet<ParseStrictRestored>>},
      {{"GET", "/v1/members", kNode, "listMembers", "", "Members"}, &Rep::ShowMembers},
      {{"POST", "/v1/members", kOperate, "addMember", "NewMember", "", 204}, &Rep::AddMember},
      {{"DELETE", "/v1/members/{id}", kOperate, "removeMember", "", "", 204},
       &Rep::ChangeMember<Kind::kRemove>},
      {{"POST", "/v1/members/{id}:promote", kOperate, "promoteMember", "", "", 204},
       &Rep::ChangeMember<Kind::kPromote>},
      {{"POST", "/v1/members/{id}:transfer", kOperate, "transferLeadership", "", "", 204},
       &Rep::Transfer},
      {{"GET", "/v1/time", kNode, "showTime", "", "ClusterTime"}, &Rep::ShowTime},
      {{"POST", "/v1/time:advance", kOperate, "advanceTime", "TimeAdvance", "ClusterTime"},
       &Rep::AdvanceTime},
      {{"GET", "/v1/status", kNode, "status", "", "Status"}, &Rep::ShowStatus},
  };
  static const RouteTable* const table = new RouteTable(kRoutes);
  return *table;
}

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
  LOCUS_RETURN_IF_ERROR(rep->Start());
  return std::shared_ptr<Api>(new Api(std::move(rep)));
}

void Api::Handle(ServerRequest request, Server::Respond respond) {
  rep_->Handle(std::move(request), std::move(respond));
}

const RouteTable& Api::Routes() { return Rep::Table(); }
absl::Status Api::Health(bool ready) const { return rep_->Health(ready); }
std::string Api::Metrics() const { return rep_->Metrics(); }

}  // namespace locus::cluster_api
