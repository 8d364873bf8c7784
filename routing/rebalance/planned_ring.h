// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_
#define LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "locus/routing/routing_table.h"

namespace locus {

// A ring while it is being planned. It may have any number of vnodes, so that exact solvers can be
// compared on small ones. Shards are called by their index.
struct PlannedRing {
  std::vector<uint32_t> owners;  // of each vnode, as planned so far
  std::vector<bool> fixed;       // the vnode stays with its owner, whatever the plan
};

// As it will be when the moves that are under way have ended; their vnodes are fixed. The index of
// a shard is its place in table.shards().
PlannedRing PlannedRingOf(const RoutingTable& table);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_PLANNED_RING_H_
