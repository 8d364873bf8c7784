// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_HYBRID_CLOCK_H_
#define LOCUS_HYBRID_CLOCK_H_

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

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
  template <typename Sink>
  friend void AbslStringify(Sink& sink, HybridTime time) {
    sink.Append(std::to_string(time.unix_millis()) + "." + std::to_string(time.counter()));
  }

 private:
  explicit constexpr HybridTime(uint64_t value) : value_(value) {}
  uint64_t value_ = 0;
};

// Gives moments that respect causality without a central clock: each is later than all moments that
// this clock gave before and than every remote moment it observed. Send Now() with each message and
// Observe() it on receipt: then an effect is never earlier than its cause, whatever the clocks of
// the nodes say. A moment also stays close to the physical clock: its milliseconds are the highest
// reading that the clock knows of, except that a full counter carries into them.
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
    // At least 0. Longer: worse clocks are tolerated, and moments say less about real time.
    absl::Duration max_drift = absl::Milliseconds(500);
    // Outlives this one.
    Clock* clock = &Clock::System();
  };

  // INVALID_ARGUMENT: no clock, a negative or infinite drift.
  static absl::StatusOr<HybridClock> Create(const Options& options);
  static absl::StatusOr<HybridClock> Create() { return Create(Options()); }
  // Only while no other thread uses it.
  HybridClock(HybridClock&& other) noexcept
      : options_(other.options_), last_(other.last_.load(std::memory_order_relaxed)) {}

  // A local event, or a message that is about to be sent.
  absl::StatusOr<HybridTime> Now();
  // A message was received that carries `remote`.
  absl::StatusOr<HybridTime> Observe(HybridTime remote);
  // The moment given last, without reading the clock; HybridTime() before the first.
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
