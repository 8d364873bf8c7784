// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_LOAD_METER_H_
#define LOCUS_APPS_LOCUSD_STRICT_LOAD_METER_H_

#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/time/time.h"

namespace locus::locusd {

// How many numbers a second the sections are asked for, on average over the last kWindow or so.
// Thread safety: Count may be called by any thread; Measure and `rates` by one.
class LoadMeter {
 public:
  static constexpr absl::Duration kWindow = absl::Seconds(10);

  explicit LoadMeter(uint32_t sections)
      : drawn_(new std::atomic<uint64_t>[sections]()), seen_(sections), rate_(sections) {}

  // Cost: one atomic step, which publishes nothing else.
  void Count(uint32_t section, uint64_t numbers) {
    drawn_[section].fetch_add(numbers, std::memory_order_relaxed);
  }

  // `now`: of a clock that never falls.
  void Measure(absl::Duration now) {
    const double seconds = absl::ToDoubleSeconds(now - measured_);
    if (seconds <= 0) return;
    measured_ = now;
    const double share = 1 - std::exp(-seconds / absl::ToDoubleSeconds(kWindow));
    for (size_t i = 0; i < rate_.size(); ++i) {
      const uint64_t drawn = drawn_[i].load(std::memory_order_relaxed);
      rate_[i] += share * (static_cast<double>(drawn - seen_[i]) / seconds - rate_[i]);
      seen_[i] = drawn;
    }
  }
  std::map<uint32_t, uint64_t> rates(std::span<const uint32_t> sections) const {
    std::map<uint32_t, uint64_t> rates;
    for (const uint32_t section : sections) {
      rates[section] = static_cast<uint64_t>(std::llround(rate_[section]));
    }
    return rates;
  }

 private:
  const std::unique_ptr<std::atomic<uint64_t>[]> drawn_;
  std::vector<uint64_t> seen_;
  std::vector<double> rate_;
  absl::Duration measured_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_LOAD_METER_H_
