// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_RUN_TICK_CLOCK_H_
#define LOCUS_SRC_BASE_RUN_TICK_CLOCK_H_

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace locus::internal {

// The processor's time-stamp counter. Reading it, unlike a clock, waits for no earlier load of
// memory, so it overlaps the loads of other calls. It may therefore be read before earlier
// instructions have ended, but only within the instructions that a processor has under way at once:
// after an interrupt, or after a machine was taken off its processor, it is read again.
inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

// Whether the kernel itself takes its time from the counter, so that it runs evenly, is the same on
// all processors and does not stop: the clock source is "tsc", and this process may read it. False
// also if the kernel does not report its clock source.
bool KernelTrustsTicks();

// Computes the tick up to which a deadline by CLOCK_BOOTTIME is surely ahead. Beyond that tick the
// clock must be read. The rate is measured against the clock, over intervals of half a second or
// more, and used while two such intervals in a row agree.
//
// It errs to the safe side alone: after a suspension, when the counter stopped, it looks slow; a
// counter that restarted is further from the tick than kLongestTicks (see Before).
// Thread safety: none.
class TickClock {
 public:
  // At most as far ahead. About 26 s at 2.6 GHz.
  static constexpr uint64_t kLongestTicks = uint64_t{1} << 36;
  // For a counter read early, and for a sample read late.
  static constexpr int64_t kMarginNs = 1'000'000;

  // The counter and the clock, read one after the other.
  struct Sample {
    int64_t before_ns = 0;
    uint64_t ticks = 0;
    int64_t after_ns = 0;
  };

  void Observe(const Sample& sample);
  // 0: none; the clock must be read. `now` was read just before.
  uint64_t TickOf(int64_t deadline_ns, const Sample& now) const;

  // Whether `ticks` is surely before the deadline that belongs to `tick`.
  static bool Before(uint64_t ticks, uint64_t tick) { return tick - ticks - 1 < kLongestTicks; }

 private:
  Sample last_;
  double measured_ = 0;  // ticks a ns, over the last interval; 0: not measured
  double rate_ = 0;      // not above the counter's; 0: not known
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_RUN_TICK_CLOCK_H_
