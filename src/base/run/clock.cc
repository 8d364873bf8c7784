// SPDX-License-Identifier: Apache-2.0
#include "locus/clock.h"

#include <time.h>

#include "absl/time/clock.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

timespec Read(clockid_t clock) {
  timespec time;
  LOCUS_CHECK(clock_gettime(clock, &time) == 0);
  return time;
}

class SystemClock : public Clock {
 public:
  absl::Time Now() override { return absl::TimeFromTimespec(Read(CLOCK_REALTIME)); }
  absl::Duration SinceBoot() override { return absl::DurationFromTimespec(Read(CLOCK_BOOTTIME)); }
  int64_t UnixMillis() override {
    timespec time = Read(CLOCK_REALTIME);
    return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }
};

}  // namespace

int64_t Clock::UnixMillis() { return absl::ToUnixMillis(Now()); }

void Clock::SleepFor(absl::Duration duration) {
  if (duration > absl::ZeroDuration()) absl::SleepFor(duration);
}

Clock& Clock::System() {
  static SystemClock* clock = new SystemClock;
  return *clock;
}

}  // namespace locus
