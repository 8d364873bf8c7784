// SPDX-License-Identifier: Apache-2.0
#include "locus/hybrid_clock.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

constexpr uint64_t kMaxValue = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMaxMillis = kMaxValue >> HybridTime::kCounterBits;

std::string Shown(HybridTime time) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time.time(), absl::UTCTimeZone()),
                      "+", time.counter());
}

}  // namespace

std::ostream& operator<<(std::ostream& out, HybridTime time) {
  return out << time.unix_millis() << '.' << time.counter();
}

absl::StatusOr<HybridClock> HybridClock::Create(const Options& options) {
  if (options.clock == nullptr) {
    return absl::InvalidArgumentError("a hybrid clock needs a physical clock");
  }
  if (options.max_drift < absl::ZeroDuration() || options.max_drift == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_drift ", absl::FormatDuration(options.max_drift), " is negative or infinite"));
  }
  return HybridClock(options);
}

absl::StatusOr<HybridTime> HybridClock::Now() { return After(HybridTime()); }
absl::StatusOr<HybridTime> HybridClock::Observe(HybridTime remote) { return After(remote); }

absl::StatusOr<HybridTime> HybridClock::After(HybridTime remote) {
  while (true) {
    // Acquire: read the word before the clock. In the other order, a thread suspended between the
    // two would mistake the progress of other threads for drift.
    uint64_t last = last_.load(std::memory_order_acquire);
    auto millis = static_cast<uint64_t>(
        std::clamp<int64_t>(options_.clock->UnixMillis(), 0, static_cast<int64_t>(kMaxMillis)));
    uint64_t known = std::max(last, remote.value());
    uint64_t next =
        std::max(known + (known < kMaxValue ? 1 : 0), millis << HybridTime::kCounterBits);
    auto ahead = HybridTime::FromUint64(next).unix_millis() - static_cast<int64_t>(millis);
    if (absl::Milliseconds(ahead) > options_.max_drift) [[unlikely]] {
      return absl::FailedPreconditionError(
          absl::StrCat(remote.value() > last ? "the remote time " : "the last time given ",
                       Shown(HybridTime::FromUint64(known)), " is ", ahead,
                       " ms ahead of the clock, more than max_drift ",
                       absl::FormatDuration(options_.max_drift)));
    }
    if (next == known) {
      return absl::OutOfRangeError("the 48 bits of milliseconds of a hybrid time are used up");
    }
    // Release pairs with the load above.
    if (last_.compare_exchange_weak(last, next, std::memory_order_release,
                                    std::memory_order_relaxed)) {
      return HybridTime::FromUint64(next);
    }
  }
}

}  // namespace locus
