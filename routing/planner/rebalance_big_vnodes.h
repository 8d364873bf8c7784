// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_BIG_VNODES_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_BIG_VNODES_H_

#include <cstdint>
#include <vector>

#include "routing/planner/planned_ring.h"
#include "routing/planner/shard_loads.h"

namespace locus::internal {

// Passes kBigVnodes and, if `exchange`, kExchangeBigVnodes: places the vnodes with a load of at
// least `least_big`, of which a shard holds only a few. They stay where they are if they fit there,
// and are fixed afterwards, so that the other vnodes are planned around them. `loads` holds the
// load of fixed vnodes; that of big ones is added. `sum` is what all shards with a weight will have
// together.
void PlaceBigVnodes(const std::vector<double>& load, double sum, double tolerance, double least_big,
                    bool exchange, PlannedRing& ring, ShardLoads& loads);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_BIG_VNODES_H_
