// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_RUNS_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_RUNS_H_

#include <vector>

#include "routing/rebalance/planned_ring.h"

namespace locus {

// Gives runs of vnodes from shards whose surplus is positive to those where it is negative, until
// no run can be given without giving or taking too much. Few runs, long ones, and where they join
// ranges of the taker. Where every vnode has load 1, nothing is fixed and the surpluses are whole
// numbers whose sum is 0, all of it is given.
//
// `load_before` is the load of the vnodes before each, and last of all (one more than vnodes); it
// rises, but for stretches of vnodes that count nothing: loads closer than `least` are equal, and a
// run does not end in vnodes that make no difference.
void GiveRuns(const std::vector<double>& load_before, double least, PlannedRing& ring,
              std::vector<double>& surplus);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_RUNS_H_
