// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_SHARD_FAILURE_H_
#define LOCUS_ROUTING_POOL_SHARD_FAILURE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "routing/fence/fence_row.h"

namespace locus::internal {

// A status that the functions of locus/routing/engine/shard_error.h read. `text`: the server's, or
// that of a guard.
absl::Status ShardFailure(absl::StatusCode code, const std::string& place, unsigned number,
                          std::string_view text);
// The fence of the shard is bound to another server.
bool IsUnbound(const absl::Status& status);
bool IsNoSuchTable(const absl::Status& status);
bool IsTableDenied(const absl::Status& status);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_SHARD_FAILURE_H_
