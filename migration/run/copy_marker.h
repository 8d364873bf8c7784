// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_COPY_MARKER_H_
#define LOCUS_MIGRATION_RUN_COPY_MARKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/run/shard_link.h"

// The rows of locus_copy by which tools that copy or delete rows mark their transactions. All fail
// with IsTakenOver where another run has the move on this shard.

namespace locus::mysql {

// In a transaction: no other runner takes over before it ends.
absl::Status CheckRun(ShardLink& link, const std::string& move, uint64_t run);
// Makes the row where it is missing. It may be missing because the move has ended: a former run
// must not make it again.
absl::Status PutCopyMarker(ShardLink& link, const std::string& move, const std::string& table,
                           uint64_t run);
// First in a transaction.
absl::Status RaiseCopyMarker(ShardLink& link, const std::string& move, const std::string& table,
                             uint64_t run);

// The tables of this shard, among the runners' own, that name the move. locus_run still does when
// the move has ended and was cleaned up.
absl::StatusOr<std::vector<std::string>> TracesOf(ShardLink& link, const std::string& move);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_COPY_MARKER_H_
