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

// The caller's clock, by which engines judge together with a server's whether a counter is
// forgotten. Caller and server may be one host, whose clock jumps ahead for both: so the wall clock
// is believed to be later only once it has been so for a while by the time since boot. A process
// that starts after the jump cannot tell.
// Thread safety: all methods may be called from any thread.
class CallersClock {
 public:
  // `clock` must outlive it.
  CallersClock(Clock& clock, absl::Duration ttl);

  // The wall clock: what a new end counts from.
  absl::Time Wall() const { return clock_.Now(); }
  // Not after the wall clock, and not after what it would show had it not jumped ahead within the
  // ttl, or within a day without one: a counter whose end this has passed is forgotten.
  absl::Time Earlier();

 private:
  Clock& clock_;
  const ForkGuard home_;  // in a forked child the lock may be held for ever
  const absl::Duration believed_after_;
  Mutex mutex_;
  // Between wall clock and time since boot, as it is believed.
  absl::Time boot_ ABSL_GUARDED_BY(mutex_);
  // A later one that the wall clock says, and since when.
  struct Later {
    absl::Time boot;
    absl::Duration since;
  };
  std::optional<Later> later_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_CALLERS_CLOCK_H_
