// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_SHARD_ROWS_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_SHARD_ROWS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/engine/shard_pools.h"
#include "order.h"
#include "verdict.h"

namespace shop {

// Runs one statement. The number of rows that it changed. Errors: those of locus::ShardErrorOf.
absl::StatusOr<uint64_t> Execute(locus::ShardConnection& connection, const std::string& statement);

// Calls `take` for each row of the answer, as it arrives.
absl::Status Select(locus::ShardConnection& connection, const std::string& query,
                    const std::function<void(const Row&)>& take);

// The order's rows in the three tables. No such order: an empty state.
absl::StatusOr<OrderState> SelectOrder(locus::ShardConnection& connection,
                                       const locus::OrderId& id);

// Every row of a shard, in one snapshot. Errors also: those of ShardPools::Take. The pools'
// ShardPoolsSettings::timeout is that of reading one table.
absl::StatusOr<ShardContents> ReadShard(locus::ShardPools& pools, const locus::RoutedShard& shard);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_SHARD_ROWS_H_
