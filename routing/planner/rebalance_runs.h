// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_RUNS_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_RUNS_H_

#include <vector>

#include "routing/planner/planned_ring.h"

namespace locus::internal {

// Pass kRuns: gives runs of vnodes from shards with a surplus above 0 to shards with one below 0,
// until any further run would give or take too much. Prefers few and long runs, and runs that join
// a range of the taker. If every vnode has load 1, nothing is fixed and the surpluses are whole
// numbers that sum to 0, all surpluses become 0.
//
// `load_before` has one number more than there are vnodes: the load of all vnodes before each one,
// and at the end that of all. Loads that differ by less than `least` are taken as equal, and a run
// does not end in vnodes without load.
void GiveRuns(const std::vector<double>& load_before, double least, PlannedRing& ring,
              std::vector<double>& surplus);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_RUNS_H_
