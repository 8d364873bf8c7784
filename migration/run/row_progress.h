// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_ROW_PROGRESS_H_
#define LOCUS_MIGRATION_RUN_ROW_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <deque>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/move.h"
#include "migration/run/shard_link.h"
#include "src/base/run/mutex.h"

namespace locus::mysql {

// The progress of a task over rows: how far, how fast, and how long it still takes. Thread safety:
// all methods may be called from any thread.
class RowProgress {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Sight {
    uint64_t rows = 0;
    uint64_t estimated = 0;      // that there are, about; 0: not known
    double rows_per_second = 0;  // of the last minute in which some came; 0: none has come yet
    // Since the last one came, or since it was begun.
    absl::Duration idle = absl::ZeroDuration();
    // Infinite: not known, for instance while it makes no progress, or has more rows than expected.
    absl::Duration left = absl::InfiniteDuration();

    bool stands_still() const { return idle > kStill; }
  };

  // `rows` of `estimated` were done before, by a runner that is gone or an attempt that failed.
  void Begin(uint64_t rows, uint64_t estimated, TimePoint now);
  // Another attempt after one that failed: its first Expect takes the place of what was expected,
  // which is shown until then.
  void BeginAgain(TimePoint now);
  void Expect(uint64_t more);  // rows, besides those that were expected before
  // So many in all, those of Begin included.
  void Reached(uint64_t rows, TimePoint now);
  Sight At(TimePoint now) const;

 private:
  // A task that waits for a shard's space or locks adds nothing for longer than a chunk takes.
  static constexpr absl::Duration kStill = absl::Seconds(10);
  static constexpr std::chrono::seconds kWindow{60}, kApart{1};

  struct Sample {
    TimePoint at;
    uint64_t rows;
  };
  mutable internal::Mutex mutex_;
  uint64_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t estimated_ ABSL_GUARDED_BY(mutex_) = 0;
  bool estimated_before_ ABSL_GUARDED_BY(mutex_) = false;  // by the attempt before
  TimePoint rose_at_ ABSL_GUARDED_BY(mutex_);
  std::deque<Sample> samples_ ABSL_GUARDED_BY(mutex_);  // of the window
};

// How many rows of the move's vnodes a shard has, by the statistics of the server: may be wrong by
// half. Without an index that shows the vnode: the rows of the whole table.
absl::StatusOr<uint64_t> EstimateRows(ShardLink& link, const Move& move);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_ROW_PROGRESS_H_
