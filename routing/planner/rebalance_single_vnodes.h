// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_SINGLE_VNODES_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_SINGLE_VNODES_H_

#include <vector>

#include "routing/planner/planned_ring.h"
#include "routing/planner/shard_loads.h"

namespace locus::internal {

// Where a shard's load should be.
struct LoadWindow {
  double least = 0;
  double portion = 0;
  double most = 0;
};

// Pass kSingleVnodes: moves or exchanges single vnodes between the shard that is furthest above its
// portion and the one furthest below, until all shards are in their windows or nothing helps.
void MoveSingleVnodes(const std::vector<double>& load, const std::vector<LoadWindow>& windows,
                      PlannedRing& ring, ShardLoads& loads);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_SINGLE_VNODES_H_
