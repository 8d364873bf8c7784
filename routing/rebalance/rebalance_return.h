// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_RETURN_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_RETURN_H_

#include <cstdint>
#include <vector>

#include "routing/rebalance/planned_ring.h"
#include "routing/rebalance/rebalance_single_vnodes.h"
#include "routing/rebalance/shard_loads.h"

namespace locus {

// Undoes what a plan need not move: runs that fit where they were (`homes`), one or two at a time,
// vnodes in whose place a lighter one can go, and two shards that would only exchange what they
// hold. No shard gets further out of its window than the worst of them is, and the peak does not
// rise above what the windows allow.
void ReturnVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                  const std::vector<LoadWindow>& windows, PlannedRing& ring, ShardLoads& loads);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_RETURN_H_
