// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_BIG_VNODES_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_BIG_VNODES_H_

#include <cstdint>
#include <vector>

#include "routing/rebalance/planned_ring.h"
#include "routing/rebalance/shard_loads.h"

namespace locus {

// Decides where the vnodes go of which a shard holds only a few, before the others are laid around
// them: they stay where they are, as far as they fit there, and are fixed afterwards. `loads` holds
// what is fixed, and then these too. `sum` is what the shards with a weight will have in all.
void PlaceBigVnodes(const std::vector<double>& load, double sum, double tolerance, double least_big,
                    PlannedRing& ring, ShardLoads& loads);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_BIG_VNODES_H_
