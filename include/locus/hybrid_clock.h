// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_HYBRID_CLOCK_H_
#define LOCUS_HYBRID_CLOCK_H_

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"

namespace locus {

// A moment of a hybrid logical clock (Kulkarni et al. 2014), 64 bits:
//
//   milliseconds since 1970 48 | counter 16
//
// Ordered as the number. Fits a positive BIGINT until the year 6429. Two nodes may have the same
// one: where that matters, order by (time, node).
class HybridTime {
 public:
  static constexpr int kCounterBits = 16;

  // Before every moment of a clock.
  constexpr HybridTime() = default;
  // Any number is one.
  static constexpr HybridTime FromUint64(uint64_t value) { return HybridTime(value); }

  constexpr uint64_t value() const { return value_; }
  constexpr int64_t unix_millis() const { return static_cast<int64_t>(value_ >> kCounterBits); }
  constexpr uint16_t counter() const { return static_cast<uint16_t>(value_); }
  absl::Time time() const { return absl::FromUnixMillis(unix_millis()); }

  friend constexpr auto operator<=>(HybridTime, HybridTime) = default;
  // Milliseconds, a point, counter.
  friend std::ostream& operator<<(std::ostream& out, HybridTime time);

 private:
  explicit constexpr HybridTime(uint64_t value) : value_(value) {}
  uint64_t value_ = 0;
};

// Tells moments that respect causality without a central clock: what Now() or Observe() answers is
// later than all that this clock answered before, and than every remote moment it observed. So send
// Now() with each message, and Observe() it on receipt: an effect is never earlier than its cause,
// whatever the clocks of the nodes say. Beside that, a moment stays close to the physical clock:
// its milliseconds are the highest reading that it knows of, except that the counter carries into
// them once it is full.
//
// Drift: how far a moment may be ahead of this node's physical clock. Past it both methods answer
// FAILED_PRECONDITION and change nothing: a clock somewhere needs repair (Observe: the sender's is
// ahead; Now: this node's was set back), or it comes right as time passes. So one bad clock cannot
// drag the others along for good. OUT_OF_RANGE: the milliseconds are used up (in the year 10889).
//
// Thread safety: all methods may be called from any thread; calls that follow each other get rising
// moments, whichever threads make them, and no two calls the same.
// Cost: one clock reading and one CAS; no lock, no allocation unless it fails.
class HybridClock {
 public:
  struct Options {
    // At least 0. Longer: worse clocks are tolerated, and moments tell less about real time.
    absl::Duration max_drift = absl::Milliseconds(500);
    // Outlives this one.
    Clock* clock = &Clock::System();
  };

  // INVALID_ARGUMENT: no clock, a negative or infinite drift.
  static absl::StatusOr<HybridClock> Create(const Options& options);
  // Only while no other thread uses it.
  HybridClock(HybridClock&& other) noexcept
      : options_(other.options_), last_(other.last_.load(std::memory_order_relaxed)) {}

  // A local event, or a message that is about to be sent.
  absl::StatusOr<HybridTime> Now();
  // A message was received that carries `remote`.
  absl::StatusOr<HybridTime> Observe(HybridTime remote);
  // What it answered last, without a reading; HybridTime() before the first.
  HybridTime last() const { return HybridTime::FromUint64(last_.load(std::memory_order_acquire)); }

 private:
  explicit HybridClock(const Options& options) : options_(options) {}
  absl::StatusOr<HybridTime> After(HybridTime remote);

  const Options options_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace locus

template <>
struct std::hash<locus::HybridTime> {
  size_t operator()(locus::HybridTime time) const noexcept {
    return std::hash<uint64_t>()(time.value());
  }
};

#endif  // LOCUS_HYBRID_CLOCK_H_
