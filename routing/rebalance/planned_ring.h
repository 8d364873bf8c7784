// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_
#define LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "locus/routing/routing_table.h"

namespace locus::internal {

// A ring while it is being planned. It may have any number of vnodes, so that tests can compare
// plans of small rings with exact solutions. Shards are numbered from 0.
struct PlannedRing {
  std::vector<uint32_t> owners;  // of each vnode, as planned so far
  std::vector<bool> fixed;       // the vnode stays with its owner, whatever the plan
};

// The ring as it will be when all moves under way have ended; vnodes that move are fixed. A shard's
// number is its place in table.shards().
PlannedRing PlannedRingOf(const RoutingTable& table);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_
