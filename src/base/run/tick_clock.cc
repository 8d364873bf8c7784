// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/tick_clock.h"

#include <sys/prctl.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace locus::internal {
namespace {

constexpr int64_t kShortestIntervalNs = 500'000'000;
// A sample that took longer was interrupted in the middle.
constexpr int64_t kLongestSampleNs = 100'000;
// How far two intervals may differ. The kernel slews its clock by at most 500 ppm.
constexpr double kAgreement = 2e-3;
// Less than the slower of the two, to allow for the error of a sample and of a slewed clock.
constexpr double kAllowance = 3e-3;

}  // namespace

bool KernelTrustsTicks() {
#if defined(__x86_64__)
  int allowed = PR_TSC_SIGSEGV;
  if (prctl(PR_GET_TSC, &allowed) != 0 || allowed != PR_TSC_ENABLE) return false;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return std::getline(file, source) && source == "tsc";
#else
  return false;
#endif
}

void TickClock::Observe(const Sample& sample) {
  if (sample.after_ns - sample.before_ns > kLongestSampleNs) return;
  if (last_.before_ns != 0 && sample.before_ns - last_.before_ns < kShortestIntervalNs &&
      sample.before_ns >= last_.before_ns) {
    return;
  }
  const Sample before = last_;
  last_ = sample;
  const double measured_before = measured_;
  measured_ = rate_ = 0;
  if (before.before_ns == 0 || sample.before_ns < before.before_ns ||
      sample.ticks <= before.ticks) {
    return;
  }
  // The longest that the interval can have been.
  measured_ = static_cast<double>(sample.ticks - before.ticks) /
              static_cast<double>(sample.after_ns - before.before_ns);
  const double slower = std::min(measured_, measured_before);
  const double faster = std::max(measured_, measured_before);
  if (slower > 0 && faster - slower <= slower * kAgreement) rate_ = slower * (1 - kAllowance);
}

uint64_t TickClock::TickOf(int64_t deadline_ns, const Sample& now) const {
  const int64_t left_ns = deadline_ns - kMarginNs - now.after_ns;
  if (rate_ <= 0 || left_ns <= 0) return 0;
  const double ticks = static_cast<double>(left_ns) * rate_;
  return now.ticks + (ticks < static_cast<double>(kLongestTicks) ? static_cast<uint64_t>(ticks)
                                                                 : kLongestTicks);
}

}  // namespace locus::internal
