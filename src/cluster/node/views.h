// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_VIEWS_H_
#define LOCUS_SRC_CLUSTER_NODE_VIEWS_H_

#include "absl/status/status.h"
#include "src/cluster/machine/machine.h"
#include "src/cluster/node/cluster_node.h"

// A node's views of its machine.

namespace locus::cluster_node {

// Sets what stats have of the machine.
void Count(const cluster_machine::Machine& machine, ClusterNode::Stats& stats);

// Of a view with an agreed clock: by so much that AdvanceTime does something.
bool IsBehind(const ClusterNode::TimeView& view);
// Whether ClusterNode::AdvanceTime may do it.
absl::Status CheckAdvance(const ClusterNode::TimeView& view, absl::Duration most);

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_VIEWS_H_
