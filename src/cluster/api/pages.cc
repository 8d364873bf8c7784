// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/pages.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/version.h"
#include "src/base/text/text.h"

namespace locus::cluster_api {

namespace json = boost::json;

using internal::ToAbsl;
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

void AddMetric(std::string& text, std::string_view name, std::string_view type,
               std::string_view help, const absl::AlphaNum& value) {
  absl::StrAppend(&text, "# HELP locusd_", ToAbsl(name), " ", ToAbsl(help), "\n# TYPE locusd_",
                  ToAbsl(name), " ", ToAbsl(type), "\nlocusd_", ToAbsl(name), " ", value, "\n");
}

std::string MetricsPage(const NodeStatus& status, const cluster_node::ClusterNode::Stats& stats,
                        const Traffic& traffic) {
  std::string text;
  auto add = [&text](std::string_view name, std::string_view type, std::string_view help,
                     const absl::AlphaNum& value) { AddMetric(text, name, type, help, value); };
  add("leads", "gauge", "Whether this node leads.", status.leads_for_sure ? 1 : 0);
  add("knows_leader", "gauge", "Whether this node knows a leader.", status.leader != 0 ? 1 : 0);
  add("term", "gauge", "Term of Raft.", status.term);
  add("commit_index", "gauge", "Committed entries.", status.commit);
  add("applied_index", "gauge", "Applied entries.", status.applied);
  add("members", "gauge", "Members of the cluster.", status.members.size());
  add("members_forgot", "gauge",
      "Members that lack what they had confirmed to this node, their leader, or are this node.",
      std::count_if(status.members.begin(), status.members.end(),
                    [](const NodeStatus::OfMember& of) { return of.forgot; }));
  add("refused_messages_total", "counter", "Messages of nodes that cannot be true, dropped.",
      status.refused);
  add("dropped_messages_total", "counter",
      "Messages of nodes that came faster than they were read.", status.dropped);
  add("commands_total", "counter", "Commands that this node proposed.", stats.commands);
  add("requests_total", "counter", "Requests in these commands.", stats.requests);
  add("workers", "gauge", "Worker IDs that were ever granted.", stats.workers);
  add("held", "gauge", "Worker IDs with a holder.", stats.held);
  add("remembered_requests", "gauge", "Requests whose answers are kept.", stats.remembered);
  add("counters", "gauge", "Counters that the cluster keeps.", stats.counters);
  add("sections", "gauge", "Sections of order IDs with an allocation.", stats.sections);
  add("rules", "gauge", "Sequence types.", stats.types);
  add("strict_sections", "gauge", "Sections of strict sequences that were ever owned.",
      stats.strict_sections);
  add("strict_owners", "gauge", "Owners of these sections, and successors that are to take one.",
      stats.strict_owners);
  add("sessions", "gauge", "Clients of counters and order IDs whose last answers are kept.",
      stats.sessions);
  add("grants_remembered", "gauge",
      "Grants of sections in these answers, those of strict sequences with their owners.",
      stats.grants_remembered);
  add("clock_off_seconds", "gauge", "The node's clock less the cluster's time.",
      absl::ToDoubleSeconds(stats.clock_off));
  add("requests_under_way", "gauge", "Requests of clients that are not answered.",
      traffic.under_way.load());
  add("requests_limited_total", "counter", "Requests refused to an address that sends too many.",
      traffic.limited.load());
  add("requests_overload_total", "counter", "Requests refused because of too many under way.",
      traffic.overloads.load());
  add("requests_forwarded_total", "counter", "Requests handed on to the leader.",
      traffic.forwarded.load());
  return text;
}

}  // namespace locus::cluster_api
