// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_GENERATOR_LOADING_RULES_H_
#define LOCUS_SRC_GENERATOR_LOADING_RULES_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

// How much is taken from a store when, the same for the segments of order IDs and for those of one
// counter. Pure; times are since boot, random numbers lie in [0, 1).
namespace locus::loading_rules {

// The most times that a length is multiplied at once.
constexpr uint64_t kGrowth = 8;

// How often what is at hand is looked at.
inline absl::Duration Tick(absl::Duration horizon) {
  return std::max(horizon / 8, absl::Milliseconds(100));
}

// What is at hand does not last a horizon beyond the next tick.
inline bool IsShort(absl::Duration autonomy, absl::Duration horizon) {
  return autonomy < horizon + Tick(horizon);
}

// Numbers a second: of the segment in use, or for as long as that tells little, of the one before
// where that is more.
inline double Rate(double now, double before, double seconds_in_use, absl::Duration horizon) {
  bool known = seconds_in_use > absl::ToDoubleSeconds(horizon) / 8;
  return known ? now : std::max(now, before);
}

// How much to take: a horizon at this rate, at most kGrowth times what was taken last. `last` 0:
// nothing yet.
inline uint64_t Length(double rate, absl::Duration horizon, uint64_t last, uint64_t shortest,
                       uint64_t longest) {
  if (last == 0) return shortest;
  double wanted = rate * absl::ToDoubleSeconds(horizon);
  uint64_t length =
      wanted >= static_cast<double>(longest) ? longest : static_cast<uint64_t>(wanted) + 1;
  return std::clamp(std::min(length, kGrowth * last), shortest, longest);
}

// So that those who moved on together do not ask together. Never long beside what is left.
inline absl::Duration Jitter(absl::Duration autonomy, absl::Duration horizon, double random) {
  return std::min(horizon / 50, autonomy / 8) * random;
}

// When a store that failed is asked again.
class Backoff {
 public:
  static constexpr absl::Duration kFirst = absl::Milliseconds(20);
  static constexpr absl::Duration kLongest = absl::Seconds(5);

  void Succeeded() { failures_ = 0; }
  void Failed(absl::Duration now, double random) {
    absl::Duration pause = std::min(kLongest, kFirst * (1 << std::min(failures_, 12)));
    ++failures_;
    next_attempt_ = now + pause * (0.5 + 0.5 * random);
  }
  absl::Duration next_attempt() const { return next_attempt_; }

 private:
  int failures_ = 0;  // in a row
  absl::Duration next_attempt_ = -absl::InfiniteDuration();
};

}  // namespace locus::loading_rules

#endif  // LOCUS_SRC_GENERATOR_LOADING_RULES_H_
