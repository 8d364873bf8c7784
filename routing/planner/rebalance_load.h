// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_LOAD_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_LOAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "routing/planner/planned_ring.h"

namespace locus::internal {

// The passes of a plan by load, in their order: vnodes that are hard to place come first. Each pass
// works on the ring that the earlier ones left. tests/planner/load_pass_test.cc shows by leaving
// each out what it is for.
enum class LoadPass : uint8_t {
  // Places vnodes of which a shard holds only a few, the biggest first: at home if they fit there.
  kBigVnodes,
  // Exchanges them between shards while the fullest shard has too much.
  kExchangeBigVnodes,
  // Gives a few hot vnodes away where these make up what a shard has too much.
  kHotVnodes,
  // Gives runs of vnodes from shards above their portion to shards below it.
  kRuns,
  // Moves or exchanges single vnodes where runs are too coarse.
  kSingleVnodes,
  // Tries all placements where only a few vnodes have any load.
  kFewVnodes,
  // The remaining passes undo moves that the plan does not need. This one undoes those of two
  // shards
  // that only exchanged what they hold.
  kExchangeShards,
  // Runs that fit where they came from.
  kReturnRuns,
  // Runs in whose place a lighter vnode can go.
  kReplaceRuns,
};

// Moves little load, in few vnodes, so that the most loaded shard (load over weight) has little
// more than it must. Where no shard is further from its portion than `tolerance`, a part of the
// portion, nothing moves. `load` is that of each vnode, none negative, the sum not 0; `weights` are
// of the shards, not all 0: those with 0 give away all that is not fixed. `without` is a pass to
// leave out, for tests.
void BalanceByLoad(const std::vector<uint32_t>& weights, const std::vector<double>& load,
                   double tolerance, PlannedRing& ring, std::optional<LoadPass> without = {});

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_LOAD_H_
