// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/backoff.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "src/base/os/check.h"
#include "src/base/os/random_word.h"

namespace locus::internal {

Backoff::Backoff(Policy policy) : policy_(policy) {
  LOCUS_CHECK(policy.first > absl::ZeroDuration() && policy.first <= policy.longest);
  LOCUS_CHECK(policy.jitter >= 0 && policy.jitter <= 1);
}

absl::Duration Backoff::Next(uint64_t random_word) {
  // 2^40 nanoseconds are 18 minutes, so with the waits in use 2^40 is past any limit.
  constexpr int kMostDoublings = 40;
  absl::Duration wait = std::min(
      policy_.first * (int64_t{1} << std::min(failures_, kMostDoublings)), policy_.longest);
  if (failures_ < std::numeric_limits<int>::max()) ++failures_;
  constexpr double kTwoTo64 = 18446744073709551616.0;
  return wait * (1 - policy_.jitter * (static_cast<double>(random_word >> 11) * 2048 / kTwoTo64));
}

bool SleepBeforeRetry(Backoff& backoff, std::chrono::steady_clock::time_point deadline) {
  using SteadyClock = std::chrono::steady_clock;
  // Without OpenSSL's randomness the time still separates callers.
  uint64_t fallback = static_cast<uint64_t>(SteadyClock::now().time_since_epoch().count());
  absl::Duration wait =
      backoff.Next(RandomWord().value_or(fallback * uint64_t{0x9E3779B97F4A7C15}));
  SteadyClock::time_point wake = SteadyClock::now() + absl::ToChronoNanoseconds(wait);
  if (wake >= deadline) return false;
  std::this_thread::sleep_until(wake);
  return true;
}

}  // namespace locus::internal
