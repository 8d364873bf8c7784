// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_PLANNED_RING_H_
#define LOCUS_ROUTING_PLANNER_PLANNED_RING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "locus/routing/routing_table.h"

namespace locus::internal {

// A ring while it is being planned. It may have any number of vnodes, so that tests can compare
// plans of small rings with exact solutions. Shards are numbered from 0.
struct PlannedRing {
  std::vector<uint32_t> owners;  // of each vnode, as planned so far
  std::vector<bool> fixed;       // the vnode stays with its owner in every plan
};

// The ring as it will be when all moves under way have ended; vnodes that move are fixed. A shard's
// number is its place in table.shards().
PlannedRing PlannedRingOf(const RoutingTable& table);

// FAILED_PRECONDITION: a plan for the table with this table_id (empty: it had none) is not for
// `table`.
absl::Status CheckPlannedTable(std::string_view planned_id, const RoutingTable& table);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_PLANNED_RING_H_
