// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_REBALANCE_REQUEST_H_
#define LOCUS_ROUTING_PLANNER_REBALANCE_REQUEST_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/rebalance.h"

namespace locus::internal {

// The table with the shards and weights that are requested: same epoch, ranges and moves.
absl::StatusOr<RoutingTable> WithRequestedShards(const RoutingTable& table,
                                                 const RebalanceRequest& request);

// Whether load, hot_above and tolerance are as RebalanceRequest says.
absl::Status CheckLoadRequest(const RebalanceRequest& request);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_REBALANCE_REQUEST_H_
