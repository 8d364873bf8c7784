// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_PEER_BANDS_H_
#define LOCUS_MIGRATION_APPLY_PEER_BANDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/fence.h"

// Which vnodes a stream is about, and which of their cohorts the shard that it comes from accepted
// at a point of its log.

namespace locus::internal {

constexpr size_t kMostRanges = 1024;
constexpr uint32_t kCohorts = 10000;

// INVALID_ARGUMENT, naming `option`: the ranges are not 1 to 1,024, ascending, apart, up to 65535.
absl::Status CheckRanges(std::string_view option, const std::vector<FencedRange>& ranges);
// The index of the range that has the vnode.
std::optional<size_t> RangeOf(const std::vector<FencedRange>& ranges, uint32_t gene);
// The index of the range that is exactly lo..hi.
std::optional<size_t> RangeAt(const std::vector<FencedRange>& ranges, uint64_t lo, uint64_t hi);

// The cohorts [own_lo, own_hi) that a shard accepts.
struct Band {
  uint32_t own_lo = 0;
  uint32_t own_hi = 0;

  bool Has(uint32_t cohort) const { return cohort >= own_lo && cohort < own_hi; }
  friend bool operator==(const Band&, const Band&) = default;
};
// A band for each range, in their order.
using Bands = std::vector<Band>;

// For the checkpoint: [[0,99,0,2500],[200,299,0,0]], the vnodes and the cohorts. Neighbours with
// one band are written as one.
std::string BandsText(const std::vector<FencedRange>& ranges, const Bands& bands);
// DATA_LOSS: the text has not one band for each of the ranges.
absl::StatusOr<Bands> BandsIn(std::string_view text, const std::vector<FencedRange>& ranges);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_PEER_BANDS_H_
