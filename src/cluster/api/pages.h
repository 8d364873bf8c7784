// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_PAGES_H_
#define LOCUS_SRC_CLUSTER_API_PAGES_H_

#include <string>

#include "src/cluster/api/call.h"
#include "src/cluster/node/cluster_node.h"
#include "src/cluster/node/member_address.h"

// The bodies of answers about the node itself.

namespace locus::cluster_api {

// GET /v1/members, as JSON.
std::string MembersPage(const raft::NodeStatus& status);
// GET /v1/status, as JSON. `address`: of this node. `unreached`: as in ApiOptions.
std::string StatusPage(const std::string& cluster, const cluster_node::MemberAddress& address,
                       const raft::NodeStatus& status,
                       const cluster_node::ClusterNode::Stats& stats, const std::string& unreached);
// GET /v1/time, as JSON.
std::string TimePage(const cluster_node::ClusterNode::TimeView& view);
// GET /metrics, for Prometheus.
std::string MetricsPage(const raft::NodeStatus& status,
                        const cluster_node::ClusterNode::Stats& stats, const Traffic& traffic);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_PAGES_H_
