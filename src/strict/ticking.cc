// SPDX-License-Identifier: Apache-2.0
#include "src/strict/ticking.h"

#include "absl/time/time.h"

namespace locus::strict {
namespace {

constexpr int64_t kEveryNs = 1'000'000'000;

}  // namespace

internal::TickClock::Sample Ticking::Sample() const {
  internal::TickClock::Sample sample;
  sample.before_ns = absl::ToInt64Nanoseconds(clock_.SinceBoot());
  sample.ticks = internal::Ticks();
  sample.after_ns = absl::ToInt64Nanoseconds(clock_.SinceBoot());
  return sample;
}

bool Ticking::Measure() {
  if (!of_system_) return false;
  const internal::TickClock::Sample sample = Sample();
  if (sample.before_ns < next_ns_) return false;
  next_ns_ = sample.after_ns + kEveryNs;
  // The kernel may find at any time that the counter cannot be trusted.
  if (internal::KernelTrustsTicks()) {
    ticks_.Observe(sample);
  } else {
    ticks_ = internal::TickClock();
  }
  return true;
}

uint64_t Ticking::TickOf(int64_t deadline_ns) const {
  return of_system_ ? ticks_.TickOf(deadline_ns, Sample()) : 0;
}

}  // namespace locus::strict
