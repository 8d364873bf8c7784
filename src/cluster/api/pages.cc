// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/pages.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/version.h"
#include "src/metrics/metrics.h"

namespace locus::cluster_api {

namespace json = boost::json;

using raft::NodeStatus;

namespace {

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }
// Node IDs have 64 bits: as text.
json::string IdOf(raft::NodeId id) { return Json(absl::StrCat(id)); }

json::array MembersOf(const NodeStatus& status) {
  json::array members;
  for (const NodeStatus::OfMember& of : status.members) {
    json::object member{{"id", IdOf(of.member.id)}, {"address", Json(of.member.address)},
                        {"voter", of.member.voter}, {"leader", of.member.id == status.leader},
                        {"match", of.match},        {"forgot", of.forgot}};
    member["silent_ms"] =
        of.silent_for ? json::value(of.silent_for->count()) : json::value(nullptr);
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

std::string MembersPage(const NodeStatus& status) { return json::serialize(MembersOf(status)); }

std::string StatusPage(const std::string& cluster, const cluster_node::MemberAddress& address,
                       const NodeStatus& status, const cluster_node::ClusterNode::Stats& stats,
                       const std::string& unreached) {
  return json::serialize(
      json::object{{"id", IdOf(status.self)},
                   {"cluster", Json(cluster)},
                   {"version", Json(Version())},
                   {"raft", Json(address.raft)},
                   {"api", Json(address.api)},
                   {"role", Json(ToString(status.role))},
                   {"leads_for_sure", status.leads_for_sure},
                   {"term", status.term},
                   {"leader", status.leader == 0 ? json::value(nullptr) : IdOf(status.leader)},
                   {"leader_address", Json(status.leader_address)},
                   {"removed", status.removed},
                   {"commit", status.commit},
                   {"applied", status.applied},
                   {"last", status.last},
                   {"snapshot", status.snapshot},
                   {"waiting", status.waiting},
                   {"workers", stats.workers},
                   {"held", stats.held},
                   {"clock_off_ms", absl::ToInt64Milliseconds(stats.clock_off)},
                   {"failure", Json(std::string(status.failure.message()))},
                   {"unreached", Json(unreached)},
                   {"members", MembersOf(status)}});
}

std::string TimePage(const cluster_node::ClusterNode::TimeView& view) {
  json::object page{{"time_ms", absl::ToUnixMillis(view.time)}, {"ending", view.ending}};
  page["agreed_ms"] =
      view.agreed ? json::value(absl::ToUnixMillis(*view.agreed)) : json::value(nullptr);
  return json::serialize(page);
}

std::string MetricsPage(const NodeStatus& status, const cluster_node::ClusterNode::Stats& stats,
                        const Traffic& traffic) {
  metrics::MetricsText text;
  text.Add(metrics::locusd_leads, status.leads_for_sure);
  text.Add(metrics::locusd_knows_leader, status.leader != 0);
  text.Add(metrics::locusd_term, status.term);
  text.Add(metrics::locusd_commit_index, status.commit);
  text.Add(metrics::locusd_applied_index, status.applied);
  text.Add(metrics::locusd_members, status.members.size());
  text.Add(metrics::locusd_members_forgot,
           std::count_if(status.members.begin(), status.members.end(),
                         [](const NodeStatus::OfMember& of) { return of.forgot; }));
  text.Add(metrics::locusd_refused_messages_total, status.refused);
  text.Add(metrics::locusd_dropped_messages_total, status.dropped);
  text.Add(metrics::locusd_commands_total, stats.commands);
  text.Add(metrics::locusd_requests_total, stats.requests);
  text.Add(metrics::locusd_workers, stats.workers);
  text.Add(metrics::locusd_held, stats.held);
  text.Add(metrics::locusd_remembered_requests, stats.remembered);
  text.Add(metrics::locusd_counters, stats.counters);
  text.Add(metrics::locusd_sections, stats.sections);
  text.Add(metrics::locusd_sequence_types, stats.types);
  text.Add(metrics::locusd_strict_sections, stats.strict_sections);
  text.Add(metrics::locusd_strict_owners, stats.strict_owners);
  text.Add(metrics::locusd_sessions, stats.sessions);
  text.Add(metrics::locusd_grants_remembered, stats.grants_remembered);
  text.Add(metrics::locusd_clock_off_seconds, stats.clock_off);
  text.Add(metrics::locusd_requests_under_way, traffic.under_way.load());
  text.Add(metrics::locusd_requests_limited_total, traffic.limited.load());
  text.Add(metrics::locusd_requests_overload_total, traffic.overloads.load());
  text.Add(metrics::locusd_requests_forwarded_total, traffic.forwarded.load());
  return text.ToString();
}

}  // namespace locus::cluster_api
