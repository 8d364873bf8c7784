// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_ROW_CLEANER_H_
#define LOCUS_MIGRATION_RUN_ROW_CLEANER_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/migration/move.h"
#include "migration/cut_over/handover.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// Deletes the rows of a move's vnodes from the shard on `side`, which does not accept them: after
// the move from its source, after an abort from its target. In batches, the last table first, since
// the first is the one that others refer to; between batches it pauses for as long as a batch took.
// Its transactions carry the marker of the run, so that the deletions are not taken for a client's.
//
// FAILED_PRECONDITION: the shard's fence accepts cohorts of the vnodes, or that of the source is no
// more as this move left it, so nothing is deleted; or another runner has taken over.
absl::Status DeleteMovedRows(ShardLink& link, const Move& move, internal::Side side, uint64_t run,
                             absl::Duration batch_time, const std::atomic<bool>& stop,
                             std::atomic<uint64_t>& deleted);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_ROW_CLEANER_H_
