// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_CALLERS_CLOCK_H_
#define LOCUS_SRC_COUNTER_CALLERS_CLOCK_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// The caller's clock. Engines use it, together with a server's clock, to decide whether a counter
// is forgotten. Caller and server may be one host, whose clock jumps ahead for both: so a wall
// clock that jumped ahead is believed only after it has stayed ahead for a while, by the time since
// boot. A process that starts after the jump cannot tell.
// Thread safety: all methods may be called from any thread.
class CallersClock {
 public:
  // `clock` must outlive it.
  CallersClock(Clock& clock, absl::Duration ttl);

  // The wall clock, from which a new end is computed.
  absl::Time Wall() const { return clock_.Now(); }
  // A time at most the wall clock's, and at most the one that it would show had it not jumped ahead
  // within the ttl (without a ttl, within a day). A counter whose end is before this time is
  // forgotten.
  absl::Time Earlier();

 private:
  Clock& clock_;
  const ForkGuard home_;  // in a forked child the lock may be held for ever
  const absl::Duration believed_after_;
  Mutex mutex_;
  // The believed difference between wall clock and time since boot.
  absl::Time boot_ ABSL_GUARDED_BY(mutex_);
  // A later difference that the wall clock shows, and since when.
  struct Later {
    absl::Time boot;
    absl::Duration since;
  };
  std::optional<Later> later_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_CALLERS_CLOCK_H_
