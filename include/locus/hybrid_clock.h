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
#include "locus/str.h"

namespace locus {

// A moment of a hybrid logical clock (Kulkarni et al. 2014), 64 bits:
//
//   milliseconds since 1970 48 | counter 16
//
// Ordered as the number. Fits a positive BIGINT until the year 6429. Two nodes may produce equal
// moments: where that matters, order by (time, node).
class HybridTime {
 public:
  static constexpr int kCounterBits = 16;

  // Zero: before every moment that a clock gives.
  constexpr HybridTime() = default;
  // Every number is a valid moment.
  static constexpr HybridTime FromUint64(uint64_t value) { return HybridTime(value); }

  constexpr uint64_t value() const { return value_; }
  constexpr int64_t unix_millis() const { return static_cast<int64_t>(value_ >> kCounterBits); }
  constexpr uint16_t counter() const { return static_cast<uint16_t>(value_); }
  absl::Time time() const { return absl::FromUnixMillis(unix_millis()); }

  friend constexpr auto operator<=>(HybridTime, HybridTime) = default;
  // Prints milliseconds, a point, and the counter.
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
// Drift. A moment may be ahead of this node's physical clock by at most Options::max_drift. Beyond
// that both methods return FAILED_PRECONDITION and change nothing, so that one bad clock cannot
// drag the others along. From Observe it means that the sender's clock is ahead; from Now, that
// this node's clock was set back. It ends when the clock is repaired or enough time has passed.
// OUT_OF_RANGE: the milliseconds are used up (in the year 10889).
//
// Thread safety: all methods may be called from any thread. A call that begins after another has
// returned gets a later moment, on any threads; no two calls get the same one.
// Cost: one clock reading and one CAS; no lock; allocates only on failure.
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
  // Requires that no other thread uses `other`.
  HybridClock(HybridClock&& other) noexcept
      : options_(other.options_), last_(other.last_.load(std::memory_order_relaxed)) {}

  // The moment of a local event, or of a message about to be sent.
  absl::StatusOr<HybridTime> Now();
  // The moment at which a message that carries `remote` was received.
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
