// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_RETURN_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_RETURN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "routing/planner/planned_ring.h"
#include "routing/planner/rebalance_load.h"
#include "routing/planner/rebalance_single_vnodes.h"
#include "routing/planner/shard_loads.h"

namespace locus::internal {

// Undoes moves that the plan does not need: passes kExchangeShards, kReturnRuns and kReplaceRuns,
// in rounds until none helps. `homes` are the owners before the plan. No shard gets further out of
// its window than the worst of them is, and the peak does not rise above what the windows allow.
void ReturnVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                  const std::vector<LoadWindow>& windows, std::optional<LoadPass> without,
                  PlannedRing& ring, ShardLoads& loads);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_RETURN_H_
