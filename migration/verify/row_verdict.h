// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_ROW_VERDICT_H_
#define LOCUS_MIGRATION_VERIFY_ROW_VERDICT_H_

#include "migration/cut_over/version_rule.h"

namespace locus::internal {

enum class RowVerdict {
  kEqual,
  kDiffers,   // the streams will not mend it
  kChanging,  // it was written meanwhile: look again
};

// A row that looked different was read on both shards, then both streams passed all that had been
// committed until then, then it was read again. A state is a row, a tombstone (deleted), or nothing
// (deleted, version 0). `same`: the columns are equal; only asked where both have a row.
inline RowVerdict JudgeRow(RowState source_before, RowState target_before, RowState source_now,
                           RowState target_now, bool same) {
  if (source_now.deleted && target_now.deleted) return RowVerdict::kEqual;
  // A stream that has passed brought at least what the other shard had before.
  if (target_now.version < source_before.version || source_now.version < target_before.version) {
    return RowVerdict::kDiffers;
  }
  if (source_now.version != target_now.version) return RowVerdict::kChanging;
  // One version is one state of the row.
  const bool equal = source_now.deleted == target_now.deleted && same;
  return equal ? RowVerdict::kEqual : RowVerdict::kDiffers;
}

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_VERIFY_ROW_VERDICT_H_
