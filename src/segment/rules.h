// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_RULES_H_
#define LOCUS_SRC_SEGMENT_RULES_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"

// The arithmetic and the limits of allocations; plan.h decides with them.

namespace locus::segment_rules {

constexpr uint64_t kUnit = 64;  // segments begin and end at multiples of it
constexpr uint64_t kEndOfSequences = uint64_t{1} << 56;
constexpr uint64_t kSmallSegment =
    4096;  // up to here an allocation may use the last part of the lead
constexpr absl::Duration kMaxClockDifference = absl::Seconds(60);
// How far the clocks of an old and a new store may differ without a repeat after a loss.
constexpr absl::Duration kLossMargin = absl::Seconds(120);

// "section_size 256, floor_epoch ..."
std::string Describe(const SpaceOptions& options);

absl::Status CheckOptions(const SpaceOptions& options);
absl::Status CheckSameOptions(const SpaceName& space, const SpaceOptions& stored,
                              const SpaceOptions& asked);
absl::Status CheckRequests(const SpaceOptions& options, std::span<const SegmentRequest> requests);
// FAILED_PRECONDITION: the caller's clock differs from the store's by more than 60 s, or the
// store's clock is before the floor's epoch.
absl::Status CheckClock(const SpaceOptions& options, absl::Time caller_now, absl::Time store_now);
absl::Status CheckRaise(uint64_t to);

inline uint32_t SectionsOf(const SpaceOptions& options) { return 65536 / options.section_size; }

// The sequence that time alone has reached; 0 before the epoch, at most 2^56.
uint64_t Floor(const SpaceOptions& options, absl::Time now);
// How long the floor takes to rise by `sequences`.
absl::Duration FloorTime(const SpaceOptions& options, int64_t sequences);

// The new base when a loss is noticed at `now`; `at_least` is the highest `seen` known.
uint64_t BaseAfterLoss(const SpaceOptions& options, uint64_t base, absl::Time now,
                       uint64_t at_least);
// Whether a request knows of allocations that a store with this base and head does not.
inline bool ShowsLoss(uint64_t seen, uint64_t base, uint64_t head) {
  return seen > base && seen > head;
}

// For a store whose callers must not be able to end a space: the highest possible end of an
// allocation that is forgotten at `now`, after up to seven losses in a row, by a clock that was
// kLossMargin ahead. Raises by an operator are not included.
uint64_t HighestSeen(const SpaceOptions& options, absl::Time now);
// FAILED_PRECONDITION: `request` shows a loss to a store with this base and head, but by an
// impossible end, above HighestSeen. Without this, one request could end a space: base never falls.
absl::Status CheckSeen(const SpaceName& space, const SpaceOptions& options, uint64_t base,
                       uint64_t head, absl::Time now, const SegmentRequest& request);

// SegmentGrant::room of a section with this head.
absl::Duration Room(const SpaceOptions& options, uint64_t base, uint64_t head, uint64_t floor);

struct Decision {
  SegmentGrant grant;
  uint64_t head = 0;  // of the section from now on
};
Decision Decide(const SpaceOptions& options, uint64_t base, uint64_t head, absl::Time now,
                const SegmentRequest& request);

}  // namespace locus::segment_rules

#endif  // LOCUS_SRC_SEGMENT_RULES_H_
