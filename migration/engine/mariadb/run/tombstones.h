// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_TOMBSTONES_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_TOMBSTONES_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "locus/migration/move.h"
#include "migration/engine/mariadb/run/shard_link.h"

namespace locus::mariadb {

// Tombstones from before the stream began. The triggers of a table may have stood for long, for
// other moves: an order that was deleted then and is inserted again on the target has to get a
// version above that of the source's tombstone, or the source would take it for older.

// Brings those of the move's vnodes from the source to the target, after the stream has begun and
// before rows are compared. `before_write` is called between reading and writing some of them. May
// be repeated. FAILED_PRECONDITION: another runner has taken over.
absl::Status CopyTombstones(ShardLink& source, ShardLink& target, const Move& move, uint64_t run,
                            const std::function<absl::Status()>& before_write,
                            const std::atomic<bool>& stop);

// Deletes those of the move's vnodes from the target, before anything is copied there: an earlier
// move left them, and no row of the source knows of them.
absl::Status ForgetTombstones(ShardLink& target, const Move& move);

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_TOMBSTONES_H_
