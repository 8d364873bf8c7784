// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_SEQUENCE_LOADER_H_
#define LOCUS_SRC_COUNTER_SEQUENCE_LOADER_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "src/segment/loading_rules.h"

namespace locus::internal {

// How many numbers of one counter are at hand, and how fast they go.
struct SequenceUse {
  bool any = false;        // a segment is, or was, in use
  bool has_next = false;   // another waits
  uint64_t left = 0;       // numbers, both together
  double rate_now = 0;     // numbers a second of the segment in use
  double rate_before = 0;  // of the one before
  double seconds_in_use = 1;
};

// Decides how many numbers one counter takes from its sequencer when, by the rules that sections of
// order IDs allocate by (loading_rules.h). Does no I/O and reads no clock. Times are since boot.
// One request is in flight at a time.
// Thread safety: none.
class SequenceLoader {
 public:
  // Numbers are taken `shortest` to `longest` at once.
  SequenceLoader(uint64_t shortest, uint64_t longest, absl::Duration horizon, uint64_t seed)
      : shortest_(shortest), longest_(longest), horizon_(horizon), random_(seed) {}

  // Whether requests of callers may wait, because the sequencer is not called before the time that
  // NextDue returns.
  bool stopped(absl::Duration now) const { return wanted_ && (in_flight_ || now < retry_at_); }
  // A caller moved on to the next segment, or was starved: it found none.
  void Hear(bool starved, const SequenceUse& use, absl::Duration now) {
    starved_ += starved;
    if (use.has_next || (!starved && (wanted_ || !IsShort(use)))) return;
    if (!wanted_ || starved) due_ = starved ? now : now + Jitter(use);
    wanted_ = true;
  }

  // How many numbers to ask for now; 0: none. The answer goes to Granted, TooMany or Failed.
  uint64_t Collect(const SequenceUse& use, absl::Duration now) {
    if (now >= next_tick_) {
      if (IsShort(use)) Hear(/*starved=*/false, use, now);
      next_tick_ = now + loading_rules::Tick(horizon_);
    }
    if (use.has_next) wanted_ = false;
    if (!wanted_ || in_flight_ || due_ > now || now < retry_at_) return 0;
    in_flight_ = true;
    return std::min(ceiling_,
                    loading_rules::Length(Rate(use), horizon_, last_length_, shortest_, longest_));
  }

  // `use` includes the new segment.
  void Granted(uint64_t count, const SequenceUse& use, absl::Duration now) {
    backoff_.Reset();
    retry_at_ = -absl::InfiniteDuration();
    in_flight_ = false;
    bool first = last_length_ == 0;
    last_length_ = count;
    ceiling_ = longest_;
    wanted_ = !use.has_next && (first || IsShort(use));
    if (wanted_) due_ = now;
    if (next_tick_ == absl::InfiniteDuration()) {
      next_tick_ = now + loading_rules::Tick(horizon_);
    }
  }
  // The sequencer does not have that many numbers before its limit. False: not even one.
  bool TooMany(uint64_t count, absl::Duration now) {
    in_flight_ = false;
    ceiling_ = std::max<uint64_t>(count / loading_rules::kGrowth, 1);
    if (count > 1) {
      due_ = now;
      return true;
    }
    // Other processes may still return numbers.
    retry_at_ = now + loading_rules::kBackoff.longest + backoff_.Next(random_());
    return false;
  }
  void Failed(absl::Duration now) {
    in_flight_ = false;
    retry_at_ = now + backoff_.Next(random_());
  }

  // When Collect next has something to do without new requests of callers.
  absl::Duration NextDue() const {
    if (!wanted_ || in_flight_) return next_tick_;
    return std::min(next_tick_, std::max(due_, retry_at_));
  }
  // How long the numbers at hand last.
  absl::Duration Autonomy(const SequenceUse& use) const {
    double rate = Rate(use);
    if (!use.any || rate <= 0) return absl::InfiniteDuration();
    return absl::Seconds(static_cast<double>(use.left) / rate);
  }
  uint64_t starved() const { return starved_; }

 private:
  double Random() { return std::uniform_real_distribution<double>()(random_); }
  double Rate(const SequenceUse& use) const {
    return loading_rules::Rate(use.rate_now, use.rate_before, use.seconds_in_use, horizon_);
  }
  bool IsShort(const SequenceUse& use) const {
    return loading_rules::IsShort(Autonomy(use), horizon_);
  }
  absl::Duration Jitter(const SequenceUse& use) {
    return loading_rules::Jitter(Autonomy(use), horizon_, Random());
  }

  const uint64_t shortest_;
  const uint64_t longest_;
  const absl::Duration horizon_;
  std::mt19937_64 random_;
  Backoff backoff_{loading_rules::kBackoff};
  absl::Duration retry_at_ = -absl::InfiniteDuration();  // no call to the sequencer before
  uint64_t last_length_ = 0;                             // 0: nothing taken yet
  uint64_t ceiling_ = ~uint64_t{0};
  uint64_t starved_ = 0;
  bool wanted_ = false;
  bool in_flight_ = false;
  absl::Duration due_;  // no request before
  absl::Duration next_tick_ = absl::InfiniteDuration();
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_SEQUENCE_LOADER_H_
