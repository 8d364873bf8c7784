// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_NET_EFFECT_H_
#define LOCUS_MIGRATION_APPLY_NET_EFFECT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "migration/apply/row_sql.h"
#include "migration/cut_over/version_rule.h"
#include "migration/stream/change.h"

namespace locus::internal {

// A row as it came. A deleted one has its last values, and the version of its tombstone.
struct IncomingRow {
  stream::Row row;
  RowState state;
};

// The states that came for one row of a table, in order. Only the last one is written. All of them
// decide whether the history fits the row of the shard.
struct RowHistory {
  std::string key;                  // TombstoneKey
  std::vector<IncomingRow> states;  // at least one; versions rise
  uint64_t skipped = 0;             // states that were not newer than one before them
  uint64_t conflict = 0;            // the highest version that came twice with different values

  const IncomingRow& last() const { return states.back(); }
};

// The same as JudgeIncoming for each of the states in turn. `same_row`: whether the state of the
// local version, if there is one, has the values of the local row.
struct HistoryVerdict {
  ApplyVerdict verdict = ApplyVerdict::kSkip;
  uint64_t written = 0;  // states that are newer than the local row, folded into the last
  uint64_t skipped = 0;
};
HistoryVerdict JudgeHistory(const RowHistory& history, RowState local, bool same_row);
// The state of the local row's version, whose values have to be compared; nullptr: none.
const IncomingRow* StateToCompare(const RowHistory& history, RowState local);

// Folds the changes of a table, in their order, to one history for each row.
class NetEffect {
 public:
  // `map` outlives it and stays the same while it has rows.
  explicit NetEffect(const RowMap& map) : map_(map) {}

  void Add(stream::Row row, RowState state);
  void Clear();

  bool empty() const { return histories_.empty(); }
  size_t bytes() const { return bytes_; }  // about, in memory
  // In the order of the primary key's index, so that all sessions lock rows in one order. Nothing
  // can be added any more until Clear.
  const std::vector<RowHistory>& Sorted();

 private:
  const RowMap& map_;
  std::vector<RowHistory> histories_;
  std::unordered_map<std::string, size_t> by_key_;
  size_t bytes_ = 0;
};

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_NET_EFFECT_H_
