// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/zone_offset.h"

namespace locus::internal {

ZoneOffset::ZoneOffset(absl::TimeZone zone) : zone_(zone) {
  for (std::atomic<uint64_t>& slot : slots_) {
    slot.store(uint64_t{static_cast<uint32_t>(kNoWindow)} << 32, std::memory_order_relaxed);
  }
}

int64_t ZoneOffset::Look(int64_t seconds) const {
  auto offset_at = [&](int64_t when) { return zone_.At(absl::FromUnixSeconds(when)).offset; };
  int32_t window = WindowOf(seconds);
  int64_t begin = int64_t{window} << kWindowBits;
  int first = offset_at(begin);
  if (first != offset_at(begin + (int64_t{1} << kWindowBits) - 1)) return offset_at(seconds);
  SlotOf(window).store(uint64_t{static_cast<uint32_t>(window)} << 32 | static_cast<uint32_t>(first),
                       std::memory_order_relaxed);
  return first;
}

}  // namespace locus::internal
