// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_LATENCY_HISTOGRAM_H_
#define LOCUS_LATENCY_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus {

// The durations of calls: how many fell into each bucket, and their sum. A value of 136 bytes.
// Thread safety: none; const methods may be called from any thread.
class LatencyHistogram {
 public:
  // The upper bound of each bucket, inclusive; the last bucket has none.
  static constexpr std::array<absl::Duration, 14> kUpperBounds = {
      absl::Microseconds(100), absl::Microseconds(250),  absl::Microseconds(500),
      absl::Milliseconds(1),   absl::Microseconds(2500), absl::Milliseconds(5),
      absl::Milliseconds(10),  absl::Milliseconds(25),   absl::Milliseconds(50),
      absl::Milliseconds(100), absl::Milliseconds(250),  absl::Seconds(1),
      absl::Seconds(5),        absl::Seconds(30)};
  static constexpr size_t kBuckets = kUpperBounds.size() + 1;

  void Add(absl::Duration duration) {
    size_t bucket = 0;
    while (bucket < kUpperBounds.size() && duration > kUpperBounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += duration;
  }
  // Adds all calls of `other`.
  void Merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }

  // Calls in bucket `i` only (Prometheus counts the buckets below it too).
  uint64_t count(size_t i) const { return counts_[i]; }
  uint64_t total() const {
    uint64_t total = 0;
    for (uint64_t count : counts_) total += count;
    return total;
  }
  absl::Duration sum() const { return sum_; }

 private:
  std::array<uint64_t, kBuckets> counts_{};
  absl::Duration sum_;
};

}  // namespace locus

#endif  // LOCUS_LATENCY_HISTOGRAM_H_
