// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_ZONE_OFFSET_H_
#define LOCUS_SRC_NUMBER_PATTERN_ZONE_OFFSET_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace locus::internal {

// How far a zone's local time is ahead of UTC, in seconds. Times near those asked for before cost
// one load, instead of a search in the zone's table. Thread safety: At may be called from any
// thread.
class ZoneOffset {
 public:
  // The valid times: the years 0 to 10000.
  static constexpr int64_t kFirst = -62'167'219'200;
  static constexpr int64_t kLast = 253'433'923'199;

  explicit ZoneOffset(absl::TimeZone zone);

  // `seconds` since 1970 (UTC), kFirst to kLast.
  int64_t At(int64_t seconds) const {
    int32_t window = WindowOf(seconds);
    // Relaxed: the window and its offset are in this one word.
    uint64_t cached = SlotOf(window).load(std::memory_order_relaxed);
    if (static_cast<int32_t>(cached >> 32) == window) [[likely]] {
      return static_cast<int32_t>(cached);
    }
    return Look(seconds);
  }

  absl::TimeZone zone() const { return zone_; }

 private:
  // An offset is cached for a window of 2^10 seconds if the window begins and ends with it: no zone
  // has ever changed its offset and changed it back within such a time.
  static constexpr int kWindowBits = 10;
  static constexpr int32_t kNoWindow = INT32_MIN;
  static_assert(kLast >> kWindowBits <= INT32_MAX && kFirst >> kWindowBits > kNoWindow);

  static int32_t WindowOf(int64_t seconds) { return static_cast<int32_t>(seconds >> kWindowBits); }
  int64_t Look(int64_t seconds) const;

  // Neighbouring windows use different slots, so that threads that work on orders of one day do not
  // evict each other's windows.
  std::atomic<uint64_t>& SlotOf(int32_t window) const {
    return slots_[static_cast<uint32_t>(window) % kSlots];
  }

  static constexpr size_t kSlots = 128;  // 36 hours

  absl::TimeZone zone_;
  mutable std::array<std::atomic<uint64_t>, kSlots> slots_;  // window 32 | offset 32
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_ZONE_OFFSET_H_
