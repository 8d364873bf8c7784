// SPDX-License-Identifier: Apache-2.0
#include "routing/rebalance_load.h"

#include "routing/rebalance_runs.h"

namespace locus {

void BalanceByLoad(const std::vector<uint32_t>& weights, const std::vector<double>& load,
                   double tolerance, PlannedRing& ring) {
  (void)tolerance, (void)load, (void)weights, (void)ring;
}

}  // namespace locus
