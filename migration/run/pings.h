// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_PINGS_H_
#define LOCUS_MIGRATION_RUN_PINGS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace locus::mysql {

// The lag of a stream, by markers that were sent and that passed: never by the clocks of servers.
// Thread safety: none.
class Pings {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void Sent(uint64_t ping, TimePoint at) {
    // When full, the newest is dropped: the lag of a stopped stream is the age of the oldest ping.
    if (open_.size() < kMostOpen) open_.push_back({ping, at});
  }
  // All pings up to this one have passed by `at`.
  void Passed(uint64_t ping, TimePoint at) {
    passed_at_ = std::max(passed_at_, at);
    while (!open_.empty() && open_.front().ping <= ping) {
      last_ = absl::FromChrono(at - open_.front().sent);
      passed_ = true;
      passed_sent_ = open_.front().sent;
      open_.pop_front();
    }
  }
  // Whether one that was sent has passed.
  bool passed() const { return passed_; }
  // When the last one that has passed was sent.
  TimePoint passed_sent() const { return passed_sent_; }
  // How long the last one took, or how long the oldest that has not passed has been on its way.
  // Infinite: none has passed, or the stream does not advance. Pings are sent many times a second,
  // so one that moves brings some of them again and again, however late it is.
  absl::Duration Lag(TimePoint now) const {
    if (!passed_) return absl::InfiniteDuration();
    if (open_.empty()) return last_;
    const TimePoint since = std::max(passed_at_, open_.front().sent);
    if (absl::FromChrono(now - since) > std::max(kStandsStill, 2 * last_)) {
      return absl::InfiniteDuration();
    }
    return std::max(last_, absl::FromChrono(now - open_.front().sent));
  }

 private:
  struct Ping {
    uint64_t ping;
    TimePoint sent;
  };
  static constexpr size_t kMostOpen = 10'000;
  // Of a stream that brings each ping in less than half of this.
  static constexpr absl::Duration kStandsStill = absl::Milliseconds(500);
  std::deque<Ping> open_;
  TimePoint passed_at_, passed_sent_;
  absl::Duration last_ = absl::ZeroDuration();
  bool passed_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_PINGS_H_
