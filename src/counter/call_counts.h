// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_CALL_COUNTS_H_
#define LOCUS_SRC_COUNTER_CALL_COUNTS_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "locus/latency_histogram.h"
#include "locus/sequencer.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Counts the calls of a sequencer. Each is a round trip, beside which a lock costs nothing.
// Thread safety: all methods may be called from any thread. Counts nothing in a forked child.
class CallCounts {
 public:
  void Count(bool ok, uint64_t numbers, absl::Duration took) {
    if (home_.forked()) return;
    MutexLock lock(mutex_);
    ++stats_.calls;
    stats_.failures += !ok;
    stats_.numbers += numbers;
    stats_.latency.Add(took);
  }
  SequencerStats Stats() const {
    if (home_.forked()) return {};
    MutexLock lock(mutex_);
    return stats_;
  }

 private:
  const ForkGuard home_;
  mutable Mutex mutex_;
  SequencerStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_CALL_COUNTS_H_
