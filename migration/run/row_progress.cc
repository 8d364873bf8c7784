// SPDX-License-Identifier: Apache-2.0
#include "migration/run/row_progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

void RowProgress::Begin(uint64_t rows, uint64_t estimated, TimePoint now) {
  internal::MutexLock lock(mutex_);
  rows_ = rows;
  estimated_ = estimated;
  estimated_before_ = false;
  rose_at_ = now;
  samples_ = {{now, rows}};
}

void RowProgress::BeginAgain(TimePoint now) {
  internal::MutexLock lock(mutex_);
  estimated_before_ = true;
  rose_at_ = now;
  samples_ = {{now, rows_}};
}

void RowProgress::Expect(uint64_t more) {
  internal::MutexLock lock(mutex_);
  estimated_ = std::exchange(estimated_before_, false) ? more : estimated_ + more;
}

void RowProgress::Reached(uint64_t rows, TimePoint now) {
  internal::MutexLock lock(mutex_);
  if (rows <= rows_) return;
  // A pause says nothing about the current speed, so the rate starts again.
  if (absl::FromChrono(now - rose_at_) > kStill) samples_.clear();
  if (samples_.empty() || now - samples_.back().at >= kApart) samples_.push_back({now, rows});
  while (samples_.size() > 2 && now - samples_[1].at > kWindow) samples_.pop_front();
  rose_at_ = now;
  rows_ = rows;
}

RowProgress::Sight RowProgress::At(TimePoint now) const {
  internal::MutexLock lock(mutex_);
  Sight sight;
  sight.rows = rows_;
  sight.estimated = estimated_;
  if (samples_.empty()) return sight;
  sight.idle = absl::FromChrono(now - rose_at_);
  const double seconds = absl::ToDoubleSeconds(absl::FromChrono(rose_at_ - samples_.front().at));
  if (seconds <= 0) return sight;
  sight.rows_per_second = static_cast<double>(rows_ - samples_.front().rows) / seconds;
  if (sight.stands_still() || estimated_ <= rows_) return sight;
  sight.left = absl::Seconds(static_cast<double>(estimated_ - rows_) / sight.rows_per_second);
  return sight;
}

absl::StatusOr<uint64_t> EstimateRows(ShardLink& link, const Move& move) {
  // The most ranges in one statement that the server still looks up one by one.
  constexpr size_t kMost = 128;
  uint64_t rows = 0;
  for (const MovedTable& table : move.tables) {
    for (size_t i = 0; i < move.ranges.size(); i += kMost) {
      std::vector<std::string> conditions;
      for (size_t k = i; k < std::min(i + kMost, move.ranges.size()); ++k) {
        conditions.push_back(
            absl::StrCat("(", internal::RowsOf(table.guard, move.ranges[k], true), ")"));
      }
      // id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra
      LOCUS_ASSIGN_OR_RETURN(
          const std::vector<Result> plan,
          link.Run(absl::StrCat("EXPLAIN SELECT 1 FROM ", internal::SqlName(table.guard.name),
                                " WHERE ", absl::StrJoin(conditions, " OR ")),
                   {OneRow(10)}));
      rows += internal::ParseDecimal(plan[0].rows[0][8].value_or(""), UINT64_MAX).value_or(0);
    }
  }
  return rows;
}

}  // namespace locus::mysql
