// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/cluster_role.h"

#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locusd/audit.h"
#include "apps/locusd/data_directory.h"
#include "apps/locusd/probes.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/api.h"
#include "src/cluster/api/wrong_clock.h"
#include "src/cluster/node/member_address.h"
#include "src/http/tls_context.h"
#include "src/raft/tcp/tcp_transport.h"

namespace locus::locusd {

using cluster_node::ClusterNode;
using cluster_node::MemberAddress;
using internal::Quoted;
using raft::NodeStatus;

namespace {

absl::StatusOr<std::unique_ptr<raft::LogStore>> OpenStore(const Config& config,
                                                          ClusterRole::Start start, Log& log) {
  LOCUS_RETURN_IF_ERROR(MakeDataDirectory(config.data));
  const std::string path = config.NodePath();
  auto store = raft::LogStore::Open(path, config.cluster);
  if (absl::IsNotFound(store.status())) {
    store = raft::LogStore::Create(path, config.cluster);
    if (store.ok()) log.Info("new node", {{"id", (*store)->self()}, {"file", path}});
  }
  LOCUS_RETURN_IF_ERROR(store.status());
  if (start == ClusterRole::Start::kBegin) {
    const raft::Members members = {
        {(*store)->self(), true,
         MemberAddress{config.raft.advertise, config.api.advertise}.Text()}};
    const absl::Status begun = (*store)->Begin(members);
    if (absl::IsFailedPrecondition(begun)) {
      return absl::FailedPreconditionError(
          absl::StrCat("--begin is for the first start of a cluster's first node: ", Quoted(path),
                       " has begun or joined a cluster before; start it without"));
    }
    LOCUS_RETURN_IF_ERROR(begun);
    log.Info("new cluster", {{"cluster", config.cluster}, {"first", (*store)->self()}});
  }
  return store;
}

}  // namespace

class ClusterRole::Rep {
 public:
  Rep(const Config& config, Door door, Log& log, std::function<void()> on_end)
      : config_(config), door_(std::move(door)), log_(log), on_end_(std::move(on_end)) {}

  ~Rep() {
    // The API calls the node, which calls the transport.
    api_.reset();
    probes_.reset();
    node_.reset();
  }

  absl::Status Open(Start start) {
    if (config_.api.tls && config_.api.forward > 0) {
      LOCUS_ASSIGN_OR_RETURN(forward_tls_,
                             http::TlsContext::Load({config_.api.forward_authority, "", ""}));
    }
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<raft::LogStore> store, OpenStore(config_, start, log_));
    self_ = store->self();
    store_ = store.get();
    raft::TcpOptions tcp;
    tcp.self = self_;
    tcp.cluster = config_.cluster;
    tcp.listen = config_.raft.listen;
    tcp.advertise = config_.raft.advertise;
    if (config_.raft.tls) {
      tcp.tls = http::TlsFiles{.ca_file = config_.raft.tls->authority,
                               .certificate_file = config_.raft.tls->certificate,
                               .key_file = config_.raft.tls->key};
    }
    tcp.on_refused = [this](const std::string& peer, const std::string& why, uint64_t untold) {
      log_.Warn("refused a connection to raft",
                {{"peer", peer}, {"why", why}, {"untold_before", untold}});
    };
    LOCUS_ASSIGN_OR_RETURN(tcp_, raft::TcpTransport::Create(tcp));
    transport_.emplace(*tcp_);
    cluster_node::ClusterNodeOptions options;
    options.on_fact = [this](raft::Index index, size_t place, const cluster_machine::Fact& fact,
                             bool) {
      TellMended(fact);
      if (audit_ != nullptr) audit_->leases().OnFact(index, place, fact);
    };
    options.shell = config_.raft.shell;
    options.on_change = [this](const NodeStatus& status) { OnChange(status); };
    if (config_.audit) {
      LOCUS_ASSIGN_OR_RETURN(audit_, Audit::Open(config_));
      options.on_members = [this](raft::Index index, absl::Time time,
                                  const raft::Members& members) {
        audit_->leases().OnMembers(index, time, members);
      };
    }
    LOCUS_ASSIGN_OR_RETURN(node_, ClusterNode::Start(std::move(store), *transport_, options));
    if (config_.health) {
      LOCUS_ASSIGN_OR_RETURN(probes_, Probes::Start(*config_.health, *node_, log_));
    }
    LOCUS_RETURN_IF_ERROR(MakeApi());
    log_.Info("node works", {{"cluster", config_.cluster},
                             {"id", self_},
                             {"raft", config_.raft.advertise},
                             {"api", config_.api.advertise}});
    return absl::OkStatus();
  }

  cluster_api::Api& api() { return *api_; }
  ClusterNode& node() { return *node_; }
  Audit* audit() { return audit_.get(); }

  bool Works() {
    const NodeStatus status = node_->Status();
    return status.failure.ok() && !status.removed;
  }
  absl::Status FilesInPlace() { return store_->InPlace(); }
  void Tell() {
    if (audit_ != nullptr) audit_->Tell(log_);
    if (probes_ != nullptr) probes_->Tell();
    TellLinks();
  }
  // Why there is no leader is often that nodes refuse one another's certificates.
  absl::Status Ready() const {
    absl::Status ready = api_->Health(/*ready=*/true);
    const std::string clock = ready.ok() ? cluster_api::WrongClock(node_->stats().clock_off) : "";
    if (!clock.empty()) {
      return absl::UnavailableError(
          absl::StrCat("node ", self_, " at ", config_.api.advertise, ": ", clock));
    }
    if (ready.ok() || tcp_ == nullptr) return ready;
    const std::string unreached = Unreached();
    if (unreached.empty()) return ready;
    return absl::Status(ready.code(), absl::StrCat(ready.message(), "; ", unreached));
  }
  // "node 2 at host:port: why; ...".
  std::string Unreached() const {
    std::vector<std::string> nodes;
    for (const raft::TcpTransport::Link& link : tcp_->Links()) {
      if (link.connected || link.error.empty() || link.bulk) continue;
      nodes.push_back(absl::StrCat("node ", link.to, " at ", link.address, ": ", link.error));
    }
    return absl::StrJoin(nodes, "; ");
  }
  std::string Metrics() const {
    std::string text = api_->Metrics();
    if (audit_ != nullptr) text += audit_->Metrics();
    if (probes_ != nullptr) text += probes_->Metrics();
    return text;
  }

  void HandOver() {
    const NodeStatus status = node_->Status();
    if (status.role == raft::Role::kLeader && status.members.size() > 1) {
      auto done = std::make_shared<std::promise<absl::Status>>();
      std::future<absl::Status> answer = done->get_future();
      node_->Transfer(0, [done](const absl::Status& said) { done->set_value(said); });
      const absl::Status said = answer.get();  // within the time of an election
      if (said.ok()) {
        log_.Info("leadership handed over");
      } else {
        log_.Warn("leadership not handed over", {{"why", said.ToString()}});
      }
    }
  }

  // What an operator may have to do next.
  void TellPlace() {
    const NodeStatus status = node_->Status();
    if (status.members.empty()) {
      log_.Info("waits to be added",
                {{"by", absl::StrCat("locus cluster add URI ", config_.api.advertise)},
                 {"or", "locusd --begin, where it is the first node of a new cluster"}});
      return;
    }
    const std::string here = MemberAddress{config_.raft.advertise, config_.api.advertise}.Text();
    for (const NodeStatus::OfMember& of : status.members) {
      if (of.member.id == status.self && of.member.address != here) {
        log_.Warn("the cluster knows this node by other addresses",
                  {{"members", of.member.address},
                   {"file", here},
                   {"change_by", absl::StrCat("locus cluster add URI ", config_.api.advertise)}});
      }
    }
  }

 private:
  absl::Status MakeApi() {
    cluster_api::ApiOptions options;
    options.admit = [this](const http::ServerRequest& request,
                           Scopes any_of) -> cluster_api::Admission {
      AccessControl::Decision decision = door_.decide(request, any_of);
      return {std::move(decision.access.client), std::move(decision.refusal)};
    };
    options.tls = config_.api.tls.has_value();
    options.cluster = config_.cluster;
    options.keeps_store = config_.api.store;
    options.address = {config_.raft.advertise, config_.api.advertise};
    options.unreached = [this] { return Unreached(); };
    options.forward.most = config_.api.forward;
    options.forward.tls = forward_tls_.get();
    options.rate.per_second = static_cast<double>(config_.api.rate);
    options.rate.burst = static_cast<double>(config_.api.burst);
    options.shared_rate = door_.rate;
    options.most_under_way = config_.api.under_way;
    options.on_request = [this](const cluster_api::RequestEvent& event) {
      log_.Debug("request", {{"method", event.method},
                             {"path", event.path},
                             {"status", event.status},
                             {"us", absl::ToInt64Microseconds(event.duration)},
                             {"peer", event.peer},
                             {"client", event.client},
                             {"id", event.id},
                             {"trace", event.trace_id},
                             {"forwarded", event.forwarded ? "yes" : "no"}});
    };
    options.on_advance = [this](const std::string& client, const ClusterNode::TimeView& before) {
      if (*before.agreed - before.time <= absl::Seconds(1)) return;
      log_.Warn("the cluster's time was advanced",
                {{"client", client},
                 {"by", absl::FormatDuration(*before.agreed - before.time)},
                 {"leases_ended", before.ending}});
    };
    LOCUS_ASSIGN_OR_RETURN(api_, cluster_api::Api::Make(*node_, options));
    return absl::OkStatus();
  }

  void TellMended(const cluster_machine::Fact& fact) {
    if (fact.kind != cluster_machine::Fact::Kind::kExpired || fact.status.ok()) return;
    log_.Warn("a lease was mended", {{"space", fact.space.str()},
                                     {"worker", fact.worker},
                                     {"token", fact.token},
                                     {"why", fact.status.ToString()}});
  }

  // Each error of a connection to another node once, until the connection is there again.
  void TellLinks() {
    for (const raft::TcpTransport::Link& link : tcp_->Links()) {
      if (link.bulk) continue;
      const std::string now = link.connected ? "" : link.error;
      std::string& told = told_links_[link.to];
      if (now == told) continue;
      if (now.empty()) {
        if (!link.connected) continue;  // it is tried again
        log_.Info("connected to a node", {{"to", link.to}, {"address", link.address}});
      } else {
        log_.Warn("no connection to a node",
                  {{"to", link.to}, {"address", link.address}, {"why", now}});
      }
      told = now;
    }
  }

  void TellForgotten(const NodeStatus& status) {
    for (const NodeStatus::OfMember& of : status.members) {
      if (!of.forgot || !forgotten_.insert(of.member.id).second) continue;
      log_.Error("a member has forgotten what it had confirmed: its data is an older copy",
                 {{"id", of.member.id},
                  {"address", of.member.address},
                  {"replace_by", absl::StrCat("locus cluster remove URI ", of.member.id,
                                              ", then add a node with an empty data directory")}});
    }
  }

  // By the node's thread.
  void OnChange(const NodeStatus& status) {
    const Place place{status.role, status.leads_for_sure, status.term, status.leader};
    if (std::exchange(place_, place) != place) {
      log_.Info("node changed", {{"role", ToString(status.role)},
                                 {"term", status.term},
                                 {"leader", status.leader},
                                 {"commit", status.commit},
                                 {"members", status.members.size()}});
    }
    TellForgotten(status);
    if (std::exchange(refused_, status.refused) != status.refused) {
      log_.Warn("messages that cannot be true were dropped",
                {{"since_start", status.refused}, {"last_from", status.refused_from}});
    }
    if (status.failure.ok() && !status.removed) return;
    if (ended_.exchange(true)) return;
    if (status.removed) {
      log_.Error("this node was removed from the cluster");
    } else {
      log_.Error("node failed", {{"why", status.failure.ToString()}});
    }
    on_end_();
  }

  const Config config_;
  const Door door_;
  Log& log_;
  const std::function<void()> on_end_;
  std::atomic<bool> ended_ = false;
  // Told last; of the node's thread.
  using Place = std::tuple<raft::Role, bool, raft::Term, raft::NodeId>;
  Place place_;
  uint64_t refused_ = 0;  // messages
  std::set<raft::NodeId> forgotten_;
  raft::NodeId self_ = 0;
  std::unique_ptr<http::TlsContext> forward_tls_;
  std::unique_ptr<raft::TcpTransport> tcp_;
  std::map<raft::NodeId, std::string> told_links_;  // the errors that the log has; of Tell
  std::optional<cluster_node::MemberTransport> transport_;
  std::unique_ptr<Audit> audit_;           // nullptr: none
  const raft::LogStore* store_ = nullptr;  // the node's
  std::unique_ptr<ClusterNode> node_;
  std::unique_ptr<Probes> probes_;  // nullptr: nobody is probed
  std::shared_ptr<cluster_api::Api> api_;
};

ClusterRole::ClusterRole(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
ClusterRole::~ClusterRole() = default;

absl::StatusOr<std::unique_ptr<ClusterRole>> ClusterRole::Open(const Config& config, Start start,
                                                               Door door, Log& log,
                                                               std::function<void()> on_end) {
  auto rep = std::make_unique<Rep>(config, std::move(door), log, std::move(on_end));
  LOCUS_RETURN_IF_ERROR(rep->Open(start));
  return std::unique_ptr<ClusterRole>(new ClusterRole(std::move(rep)));
}

const http_api::RouteTable& ClusterRole::Routes() const { return cluster_api::Api::Routes(); }
void ClusterRole::Handle(http::ServerRequest request, const Access&,
                         http::Server::Respond respond) {
  rep_->api().Handle(std::move(request), std::move(respond));
}
absl::Status ClusterRole::Ready() const { return rep_->Ready(); }
absl::Status ClusterRole::Healthy() const { return rep_->api().Health(/*ready=*/false); }
std::string ClusterRole::Metrics() const { return rep_->Metrics(); }

ClusterNode& ClusterRole::node() { return rep_->node(); }
Audit* ClusterRole::audit() { return rep_->audit(); }
bool ClusterRole::Works() { return rep_->Works(); }
absl::Status ClusterRole::FilesInPlace() { return rep_->FilesInPlace(); }
void ClusterRole::Tell() { rep_->Tell(); }
bool ClusterRole::removed() { return rep_->node().Status().removed; }
absl::Status ClusterRole::failure() { return rep_->node().Status().failure; }
void ClusterRole::TellPlace() { rep_->TellPlace(); }
void ClusterRole::HandOver() { rep_->HandOver(); }

absl::Status ClusterRole::Begin(const Config& config, Log& log) {
  return OpenStore(config, Start::kBegin, log).status();
}

}  // namespace locus::locusd
