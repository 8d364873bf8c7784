// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_FEW_VNODES_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_FEW_VNODES_H_

#include <cstdint>
#include <vector>

#include "routing/rebalance/planned_ring.h"
#include "routing/rebalance/shard_loads.h"

namespace locus {

// Where only a few vnodes have any load, tries all ways to deal them, as far as a bound on the work
// lets it: the least peak there is, then the most for the shard that has least, then, within
// `tolerance` of both, as little load moved as can be. `homes` are the owners before the plan,
// `level` the load over weight of a shard that has its share. Leaves rings with more loaded vnodes
// as they are.
void DealFewVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                   double level, double tolerance, PlannedRing& ring, ShardLoads& loads);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_FEW_VNODES_H_
