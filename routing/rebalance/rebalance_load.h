// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_LOAD_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_LOAD_H_

#include <cstdint>
#include <vector>

#include "routing/rebalance/planned_ring.h"

namespace locus {

// Moves little load, in few vnodes, so that the most loaded shard (load over weight) has little
// more than it must. `load` is that of each vnode, none negative, the sum not 0; `weights` are of
// the shards, not all 0: those with 0 give away all that is not fixed.
void BalanceByLoad(const std::vector<uint32_t>& weights, const std::vector<double>& load,
                   double tolerance, PlannedRing& ring);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_LOAD_H_
