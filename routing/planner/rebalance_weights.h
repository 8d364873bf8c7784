// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_WEIGHTS_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/planner/planned_ring.h"

namespace locus::internal {

// How many of the ring's vnodes each shard should own: its part by weight, rounded down or up.
// Which shards are rounded up is chosen so that as few vnodes move as any such portions allow, then
// by largest remainder. A shard with more fixed vnodes than its portion keeps these, and the others
// share the rest. At least one weight must be above 0.
std::vector<size_t> PortionsByWeight(const std::vector<uint32_t>& weights, const PlannedRing& ring);

// Gives every shard its portion, moving no more vnodes than that takes: the greater of what shards
// own above their ceilings and what they lack below their floors.
void BalanceByWeight(const std::vector<uint32_t>& weights, PlannedRing& ring);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_WEIGHTS_H_
