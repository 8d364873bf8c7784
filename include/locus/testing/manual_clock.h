// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_MANUAL_CLOCK_H_
#define LOCUS_TESTING_MANUAL_CLOCK_H_

#include <atomic>

#include "absl/time/time.h"
#include "locus/clock.h"

namespace locus::fakes {

// A clock that changes only when a test advances it or calls SleepFor.
// Thread safety: all methods may be called from any thread.
class ManualClock : public Clock {
 public:
  explicit ManualClock(absl::Time now = absl::FromUnixSeconds(1767225600))  // 2026-01-01
      : wall_ns_(absl::ToUnixNanos(now)) {}

  absl::Time Now() override { return absl::FromUnixNanos(wall_ns_.load()); }
  absl::Duration SinceBoot() override { return absl::Nanoseconds(boot_ns_.load()); }

  // Advances by `duration` and returns at once.
  void SleepFor(absl::Duration duration) override {
    if (duration > absl::ZeroDuration()) Advance(duration);
  }

  // Lets time pass, for both clocks.
  void Advance(absl::Duration by) {
    wall_ns_ += absl::ToInt64Nanoseconds(by);
    boot_ns_ += absl::ToInt64Nanoseconds(by);
  }
  // Sets the wall clock; the time since boot does not change.
  void Jump(absl::Duration by) { wall_ns_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> wall_ns_;
  std::atomic<int64_t> boot_ns_{int64_t{3600} * 1'000'000'000};
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_MANUAL_CLOCK_H_
