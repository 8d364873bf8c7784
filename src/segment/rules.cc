// SPDX-License-Identifier: Apache-2.0
#include "src/segment/rules.h"

#include <algorithm>
#include <bit>
#include <bitset>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::segment_rules {
namespace {

// Of HighestSeen: how often max_lead; 2 after one loss, 1 more for each further one.
constexpr uint64_t kMostLeadsSeen = 8;

uint64_t RoundUp(uint64_t sequence) { return (sequence + kUnit - 1) / kUnit * kUnit; }

// The longest segment of at most `wanted` that fits into `room`; 0: none does.
uint64_t LongestFit(uint64_t first, uint64_t limit, uint64_t wanted) {
  if (limit < first + kUnit) return 0;
  return std::min(wanted, std::bit_floor((limit - first) / kUnit) * kUnit);
}

}  // namespace

std::string Describe(const SpaceOptions& options) {
  return absl::StrCat("section_size ", options.section_size, ", floor_epoch ",
                      absl::FormatTime(options.floor_epoch, absl::UTCTimeZone()), ", floor_rate ",
                      options.floor_rate, ", max_lead ", options.max_lead);
}

absl::Status CheckOptions(const SpaceOptions& options) {
  if (!std::has_single_bit(options.section_size) || options.section_size > 65536) {
    return absl::InvalidArgumentError(
        absl::StrCat("section_size ", options.section_size, " is not a power of two in 1..65536"));
  }
  if (options.floor_rate == 0 || options.floor_rate > (1 << 20)) {
    return absl::InvalidArgumentError(
        absl::StrCat("floor_rate ", options.floor_rate, " is not in 1..1048576 a second"));
  }
  if (options.max_lead == 0 || options.max_lead % kSmallSegment != 0 ||
      options.max_lead > (uint64_t{1} << 40)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_lead ", options.max_lead, " is not a multiple of 4096 up to 2^40"));
  }
  if (options.floor_epoch < absl::UnixEpoch() ||
      options.floor_epoch > absl::FromUnixSeconds(int64_t{1} << 33)) {
    return absl::InvalidArgumentError(
        absl::StrCat("floor_epoch ", absl::FormatTime(options.floor_epoch, absl::UTCTimeZone()),
                     " is not between 1970 and 2242"));
  }
  return absl::OkStatus();
}

absl::Status CheckSameOptions(const SpaceName& space, const SpaceOptions& stored,
                              const SpaceOptions& asked) {
  if (stored == asked) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("space ", space.str(), " was created with ",
                                                    Describe(stored), ", not with ",
                                                    Describe(asked)));
}

absl::Status CheckRequests(const SpaceOptions& options, std::span<const SegmentRequest> requests) {
  std::bitset<65536> named;
  for (const SegmentRequest& request : requests) {
    if (request.section >= SectionsOf(options)) {
      return absl::InvalidArgumentError(
          absl::StrCat("section ", request.section, " is not below ", SectionsOf(options)));
    }
    if (named[request.section]) {
      return absl::InvalidArgumentError(
          absl::StrCat("section ", request.section, " is requested twice in one allocation"));
    }
    named.set(request.section);
    if (request.length % kUnit != 0 || !std::has_single_bit(request.length / kUnit) ||
        request.length > kEndOfSequences) {
      return absl::InvalidArgumentError(
          absl::StrCat("length ", request.length, " is not 64 times a power of two up to 2^56"));
    }
    if (request.seen > kEndOfSequences) {
      return absl::InvalidArgumentError(absl::StrCat("sequence ", request.seen, " of section ",
                                                     request.section,
                                                     " is above 2^56, the end of all sequences"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClock(const SpaceOptions& options, absl::Time caller_now, absl::Time store_now) {
  absl::Duration difference = caller_now - store_now;
  if (absl::AbsDuration(difference) > kMaxClockDifference) {
    return absl::FailedPreconditionError(
        absl::StrCat("this process's clock, ", absl::FormatTime(caller_now, absl::UTCTimeZone()),
                     ", is ", absl::FormatDuration(absl::AbsDuration(difference)),
                     difference < absl::ZeroDuration() ? " behind" : " ahead of",
                     " the store's; at most 60s are allowed: correct the clock"));
  }
  if (store_now < options.floor_epoch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store's clock, ", absl::FormatTime(store_now, absl::UTCTimeZone()),
        ", is before the floor's epoch, ",
        absl::FormatTime(options.floor_epoch, absl::UTCTimeZone()), ": correct the clock"));
  }
  return absl::OkStatus();
}

absl::Status CheckRaise(uint64_t to) {
  if (to >= kEndOfSequences) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence ", to, " is above 2^56 - 1, the last one of an order ID"));
  }
  return absl::OkStatus();
}

uint64_t Floor(const SpaceOptions& options, absl::Time now) {
  if (now <= options.floor_epoch) return 0;
  absl::Duration elapsed = now - options.floor_epoch;
  absl::Duration rest;
  auto seconds = static_cast<uint64_t>(absl::IDivDuration(elapsed, absl::Seconds(1), &rest));
  auto nanoseconds = static_cast<uint64_t>(absl::ToInt64Nanoseconds(rest));
  absl::uint128 floor = absl::uint128(seconds) * options.floor_rate +
                        nanoseconds * options.floor_rate / 1'000'000'000;
  return floor > kEndOfSequences ? kEndOfSequences : absl::Uint128Low64(floor);
}

absl::Duration FloorTime(const SpaceOptions& options, int64_t sequences) {
  return absl::Seconds(static_cast<double>(sequences) / static_cast<double>(options.floor_rate));
}

uint64_t BaseAfterLoss(const SpaceOptions& options, uint64_t base, absl::Time now,
                       uint64_t at_least) {
  // No allocation ends above max(floor, base) + max_lead, so one max_lead above that level is above
  // all of them. kLossMargin is for clocks that differ.
  uint64_t above_all_segments =
      std::max(base, Floor(options, now + kLossMargin)) + options.max_lead;
  return std::min(std::max(above_all_segments, at_least), kEndOfSequences);
}

uint64_t HighestSeen(const SpaceOptions& options, absl::Time now) {
  // An allocation ends at most max_lead above base. The first loss raises base to max_lead above
  // the floor of kLossMargin later, by a clock that may have been as far ahead; each further one by
  // max_lead. The bound must not be computed from base, because each claim of a loss raises base.
  return std::min(Floor(options, now + 2 * kLossMargin) + kMostLeadsSeen * options.max_lead,
                  kEndOfSequences);
}

absl::Status CheckSeen(const SpaceName& space, const SpaceOptions& options, uint64_t base,
                       uint64_t head, absl::Time now, const SegmentRequest& request) {
  if (!ShowsLoss(request.seen, base, head)) return absl::OkStatus();
  const uint64_t highest = HighestSeen(options, now);
  if (request.seen <= highest) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "space ", space.str(), " knows of no allocation of section ", request.section,
      " that ends at sequence ", request.seen, ", and cannot have forgotten one above ", highest,
      ": nothing is allocated. If its data were put back, and base had been raised so far or a "
      "clock was far ahead, an operator may raise base to that sequence (`locus store raise`)"));
}

absl::Duration Room(const SpaceOptions& options, uint64_t base, uint64_t head, uint64_t floor) {
  const uint64_t top = std::min(std::max(floor, base) + options.max_lead, kEndOfSequences);
  return FloorTime(options,
                   static_cast<int64_t>(std::min(top - std::min(head, top), options.max_lead)));
}

Decision Decide(const SpaceOptions& options, uint64_t base, uint64_t head, absl::Time now,
                const SegmentRequest& request) {
  uint64_t floor = Floor(options, now);
  uint64_t top = std::min(std::max(floor, base) + options.max_lead, kEndOfSequences);
  uint64_t first = RoundUp(std::max({head, request.seen, floor, base}));

  uint64_t length = 0;
  if (request.length > kSmallSegment) {
    // A long allocation leaves an eighth of the lead free for short ones.
    length = LongestFit(first, top - options.max_lead / 8, request.length);
  }
  if (length <= kSmallSegment) {
    length = LongestFit(first, top, std::min(request.length, kSmallSegment));
  }

  Decision decision;
  decision.head = head;
  if (length > 0) {
    decision.grant.segment = {first, length};
    decision.head = first + length;
  } else if (first + kUnit > kEndOfSequences) {
    decision.grant.wait = absl::InfiniteDuration();
  } else {
    uint64_t needed_floor = first + kUnit - options.max_lead;
    decision.grant.wait = FloorTime(options, static_cast<int64_t>(needed_floor - floor));
  }
  decision.grant.lead = FloorTime(options, static_cast<int64_t>(decision.head - floor));
  decision.grant.room = Room(options, base, decision.head, floor);
  return decision;
}

}  // namespace locus::segment_rules
