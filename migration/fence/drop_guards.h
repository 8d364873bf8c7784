// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_DROP_GUARDS_H_
#define LOCUS_MIGRATION_FENCE_DROP_GUARDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/fence.h"
#include "src/engine/mysql/connection.h"

namespace locus::mysql {

// ShardFence::DropGuards, each statement within `timeout`. The connection keeps a lock of the shard
// until it is closed.
absl::StatusOr<std::vector<std::string>> DropGuardTriggers(Connection& connection,
                                                           const FenceOptions& options,
                                                           absl::Duration timeout, bool dry);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_FENCE_DROP_GUARDS_H_
