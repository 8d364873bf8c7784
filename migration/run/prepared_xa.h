// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_PREPARED_XA_H_
#define LOCUS_MIGRATION_RUN_PREPARED_XA_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// Waits until each XA transaction that the shard has prepared, or is preparing, when this is called
// has been committed or rolled back. Those that are prepared later do not count.
// `goes_on`: asked between two looks, with the number of those that are left, after it has paused.
// Returns that number; 0: all have ended. The account needs PROCESS.
absl::StatusOr<size_t> WaitForPrepared(ShardLink& shard,
                                       const std::function<bool(size_t)>& goes_on);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_PREPARED_XA_H_
