// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_PINGS_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_PINGS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace locus::mariadb {

// The lag of a stream, by markers that were sent and that passed: never by the clocks of servers.
// Thread safety: none.
class Pings {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void Sent(uint64_t ping, TimePoint at) {
    // When full, the newest is dropped: a stream that stands still is as late as the oldest says.
    if (open_.size() < kMostOpen) open_.push_back({ping, at});
  }
  // All pings up to this one have passed by `at`.
  void Passed(uint64_t ping, TimePoint at) {
    while (!open_.empty() && open_.front().ping <= ping) {
      last_ = absl::FromChrono(at - open_.front().sent);
      passed_ = true;
      open_.pop_front();
    }
  }
  // Whether one that was sent has passed.
  bool passed() const { return passed_; }
  // How long the last one took, or how long the oldest that has not passed has been on its way.
  absl::Duration Lag(TimePoint now) const {
    if (open_.empty()) return passed_ ? last_ : absl::InfiniteDuration();
    const absl::Duration waited = absl::FromChrono(now - open_.front().sent);
    return passed_ ? std::max(last_, waited) : absl::InfiniteDuration();
  }

 private:
  struct Ping {
    uint64_t ping;
    TimePoint sent;
  };
  static constexpr size_t kMostOpen = 10'000;
  std::deque<Ping> open_;
  absl::Duration last_ = absl::ZeroDuration();
  bool passed_ = false;
};

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_PINGS_H_
