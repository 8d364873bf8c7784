// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_TOMBSTONES_H_
#define LOCUS_MIGRATION_RUN_TOMBSTONES_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "locus/migration/move.h"
#include "migration/cut_over/handover.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// Tombstones from before the stream began. The triggers of a table may have stood for long, for
// other moves: an order that was deleted then and is inserted again on the target has to get a
// version above that of the source's tombstone, or the source would take it for older.

// Brings tombstones of the move's vnodes whose cohorts are in [own_lo, own_hi) of `own`, which
// `from` accepts, to the other shard, after the stream has begun and before rows are compared.
// `before_write` is called between reading and writing some of them. May be repeated.
// FAILED_PRECONDITION: another runner has taken over.
absl::Status CopyTombstones(ShardLink& from, ShardLink& to, const Move& move,
                            const internal::BandFence& own, uint64_t run,
                            const std::function<absl::Status()>& before_write,
                            const std::atomic<bool>& stop);

// Deletes from `link` the rows of these cohorts whose versions are below that of their tombstone,
// which the shard has by CopyTombstones: their owner has deleted them, and no stream brought the
// deletion. Rows are looked up by their primary keys, some hundred in a statement, which every
// table can serve. Otherwise as CopyTombstones.
absl::Status DeleteDeadRows(ShardLink& link, const Move& move, const internal::BandFence& own,
                            uint64_t run, const std::atomic<bool>& stop);

// Deletes tombstones of the move's vnodes from the target, before anything is copied there: an
// earlier move left them, and no row of the source knows of them. In many transactions.
// FAILED_PRECONDITION as above: a runner that was replaced must not delete tombstones that its
// successor relies on.
absl::Status ForgetTombstones(ShardLink& target, const Move& move, uint64_t run);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_TOMBSTONES_H_
