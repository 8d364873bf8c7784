// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_REBALANCE_WISH_H_
#define LOCUS_ROUTING_REBALANCE_REBALANCE_WISH_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/rebalance.h"

namespace locus {

// The table with the shards and weights that are wished for: same epoch, ranges and moves.
absl::StatusOr<RoutingTable> WithWishedShards(const RoutingTable& table, const RebalanceWish& wish);

// Whether load, hot_above and tolerance are as RebalanceWish says.
absl::Status CheckLoadWish(const RebalanceWish& wish);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_REBALANCE_WISH_H_
