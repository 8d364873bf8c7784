// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_FEW_VNODES_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_FEW_VNODES_H_

#include <cstdint>
#include <vector>

#include "routing/planner/planned_ring.h"
#include "routing/planner/shard_loads.h"

namespace locus::internal {

// Pass kFewVnodes: where at most 32 vnodes have any load, tries all ways to place them, up to a
// limit of work. Looks for the least peak, then for the greatest load of the least loaded shard,
// then, within `tolerance` of both, for the least load moved. `homes` are the owners before the
// plan, `level` is the load over weight of a shard that has its portion. Rings with more loaded
// vnodes stay as they are.
void DealFewVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                   double level, double tolerance, PlannedRing& ring, ShardLoads& loads);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_FEW_VNODES_H_
