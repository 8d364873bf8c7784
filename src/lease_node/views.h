// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_LEASE_NODE_VIEWS_H_
#define LOCUS_SRC_LEASE_NODE_VIEWS_H_

#include "absl/status/status.h"
#include "src/lease_machine/machine.h"
#include "src/lease_node/lease_node.h"

// What a node shows of its machine.

namespace locus::lease_node {

// Sets what stats have of the machine.
void Count(const lease_machine::Machine& machine, LeaseNode::Stats& stats);

// Of a view with an agreed clock: by so much that AdvanceTime does something.
bool IsBehind(const LeaseNode::TimeView& view);
// Whether LeaseNode::AdvanceTime may do it.
absl::Status CheckAdvance(const LeaseNode::TimeView& view, absl::Duration most);

}  // namespace locus::lease_node

#endif  // LOCUS_SRC_LEASE_NODE_VIEWS_H_
