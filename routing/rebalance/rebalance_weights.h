// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_WEIGHTS_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/rebalance/planned_ring.h"

namespace locus {

// How many of the ring's vnodes each shard should own, by largest remainder, ties in favour of who
// has more. A shard that more vnodes are fixed to than its share keeps these, and the others share
// the rest. Needs a weight above 0.
std::vector<size_t> SharesByWeight(const std::vector<uint32_t>& weights, const PlannedRing& ring);

// Moves as few vnodes as shares by weight need.
void BalanceByWeight(const std::vector<uint32_t>& weights, PlannedRing& ring);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_WEIGHTS_H_
