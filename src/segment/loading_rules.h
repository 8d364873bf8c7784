// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_LOADING_RULES_H_
#define LOCUS_SRC_SEGMENT_LOADING_RULES_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "src/base/run/backoff.h"

// When to take how much from a store. The same rules serve segments of order IDs and segments of
// one counter. Pure functions; times are since boot, random numbers lie in [0, 1).
namespace locus::loading_rules {

// By how much a length grows at most in one step.
constexpr uint64_t kGrowth = 8;

// How often the supply is checked.
inline absl::Duration Tick(absl::Duration horizon) {
  return std::max(horizon / 8, absl::Milliseconds(100));
}

// Whether the supply will not last a horizon at the next tick.
inline bool IsShort(absl::Duration autonomy, absl::Duration horizon) {
  return autonomy < horizon + Tick(horizon);
}

// Numbers a second. While the segment in use is too young to measure, the rate of the previous
// segment counts if it is higher.
inline double Rate(double now, double before, double seconds_in_use, absl::Duration horizon) {
  bool known = seconds_in_use > absl::ToDoubleSeconds(horizon) / 8;
  return known ? now : std::max(now, before);
}

// How much to take: the need of a horizon at this rate, at most kGrowth times the last amount.
// `last` is 0 before the first.
inline uint64_t Length(double rate, absl::Duration horizon, uint64_t last, uint64_t shortest,
                       uint64_t longest) {
  if (last == 0) return shortest;
  double wanted = rate * absl::ToDoubleSeconds(horizon);
  uint64_t length =
      wanted >= static_cast<double>(longest) ? longest : static_cast<uint64_t>(wanted) + 1;
  return std::clamp(std::min(length, kGrowth * last), shortest, longest);
}

// A delay so that sections which moved on together do not ask together. Short compared with how
// long the supply lasts.
inline absl::Duration Jitter(absl::Duration autonomy, absl::Duration horizon, double random) {
  return std::min(horizon / 50, autonomy / 8) * random;
}

// How long a store that failed is left alone.
inline constexpr internal::Backoff::Policy kBackoff = {
    .first = absl::Milliseconds(20), .longest = absl::Seconds(5), .jitter = 0.5};

}  // namespace locus::loading_rules

#endif  // LOCUS_SRC_SEGMENT_LOADING_RULES_H_
