// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_CLOCK_H_
#define LOCUS_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus {

// The source of the time. It is an argument everywhere, so that tests control it
// (locus::fakes::ManualClock).
// Thread safety: all methods may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time (UTC). May jump.
  virtual absl::Time Now() = 0;
  // Time since boot, suspended time included. Never goes back.
  virtual absl::Duration SinceBoot() = 0;
  // The whole milliseconds of Now() since 1970-01-01T00:00:00Z. Calls Now() unless an
  // implementation overrides it with something cheaper.
  virtual int64_t UnixMillis();
  // Blocks the calling thread for at least `duration` of real time, unless an implementation says
  // otherwise. Returns at once if `duration` is not positive.
  virtual void SleepFor(absl::Duration duration);

  // CLOCK_REALTIME and CLOCK_BOOTTIME. Lives forever.
  static Clock& System();
};

}  // namespace locus

#endif  // LOCUS_CLOCK_H_
