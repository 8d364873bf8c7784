// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_UUID_V7_H_
#define LOCUS_SRC_ORDER_UUID_V7_H_

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "locus/uuid.h"

// Time and counter of version 7 UUIDs as one number, a moment:
//   ms since 1970 48 | 1/4096 ms 12 | counter 4
namespace locus::uuid_v7 {

inline constexpr int kCounterBits = 4;
inline constexpr int kTickBits = 12;
inline constexpr int kRandomBits = 58;
static_assert(kTickBits + kCounterBits == 16, "a millisecond takes 48 bits of a moment");
static_assert(2 + kCounterBits + kRandomBits == 64, "variant, counter and randomness fill a word");
static_assert(std::numeric_limits<int64_t>::max() / 1'000'000 < int64_t{1} << 48,
              "the kernel's clock, 63 bits of nanoseconds, stays within a moment");

// The moment of a clock's reading, counter 0. A time before 1970 is 1970.
inline uint64_t MomentOf(const timespec& now) {
  if (now.tv_sec < 0) return 0;
  auto nanoseconds = static_cast<uint64_t>(now.tv_nsec);
  uint64_t ms = static_cast<uint64_t>(now.tv_sec) * 1000 + nanoseconds / 1'000'000;
  uint64_t tick = (nanoseconds % 1'000'000 << kTickBits) / 1'000'000;
  return ms << (kTickBits + kCounterBits) | tick << kCounterBits;
}

// Gives each moment once, rising. Thread safety: Take may be called from any thread.
class Order {
 public:
  // The clock's moment, or the moment after the last one given, if the clock has not passed that.
  uint64_t Take(uint64_t clock) {
    uint64_t last = last_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      next = std::max(clock, last + 1);
      // Relaxed: only the order of this word's values is promised.
    } while (!last_.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return next;
  }

 private:
  std::atomic<uint64_t> last_{0};
};

// Takes the low 58 bits of `random`.
constexpr Uuid Assemble(uint64_t moment, uint64_t random) {
  uint64_t high = moment >> 16 << 16 | 0x7000 | (moment >> kCounterBits & 0xFFF);
  uint64_t low = uint64_t{0b10} << 62 | (moment & 0xF) << kRandomBits |
                 (random & ((uint64_t{1} << kRandomBits) - 1));
  return Uuid::FromWords(high, low);
}

}  // namespace locus::uuid_v7

#endif  // LOCUS_SRC_ORDER_UUID_V7_H_
