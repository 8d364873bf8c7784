// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_VERSION_RULE_H_
#define LOCUS_MIGRATION_CUT_OVER_VERSION_RULE_H_

#include <algorithm>
#include <cstdint>

namespace locus::internal {

// A row as one shard has it, or its tombstone.
struct RowState {
  // Of the row; of a deleted one, of its tombstone: one more than the row had. 0: never seen.
  uint64_t version = 0;
  bool deleted = false;

  friend bool operator==(const RowState&, const RowState&) = default;
};

enum class ApplyVerdict {
  kWrite,     // the incoming state is newer: write it, or delete the row
  kSkip,      // it has been written already, or something newer has
  kConflict,  // two different rows of one version: something wrote past the fence. Stop.
};

// The one rule for rows from the copy and from the change stream. Because of it they may come in
// any order and any number of times. `same_row`: whether all columns of an incoming row equal those
// of the local one; only asked where both have one version.
inline ApplyVerdict JudgeIncoming(RowState incoming, RowState local, bool same_row) {
  if (incoming.version > local.version) return ApplyVerdict::kWrite;
  if (incoming.version < local.version) return ApplyVerdict::kSkip;
  const bool same = incoming.deleted == local.deleted && (incoming.deleted || same_row);
  return same ? ApplyVerdict::kSkip : ApplyVerdict::kConflict;
}

// The versions that the triggers of a moved table give, regardless of the client's value. An
// UPDATE: above the one that the row had.
inline uint64_t VersionOfUpdate(RowState row, uint64_t asked) {
  return std::max(asked, row.version + 1);
}
// The tombstone of a DELETE.
inline uint64_t VersionOfDelete(RowState row) { return row.version + 1; }
// An INSERT: above the tombstone. Where a row is there, the statement is a REPLACE, which deletes
// it after this trigger: above the tombstone that the deletion will leave.
inline uint64_t VersionOfInsert(RowState there, uint64_t asked) {
  if (there.version == 0) return std::max<uint64_t>(asked, 1);
  return std::max(asked, there.version + (there.deleted ? 1 : 2));
}

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_VERSION_RULE_H_
