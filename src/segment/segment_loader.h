// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_SEGMENT_LOADER_H_
#define LOCUS_SRC_SEGMENT_SEGMENT_LOADER_H_

#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/segment/counters.h"
#include "src/segment/loading_rules.h"

namespace locus::internal {

// Decides which sections allocate how much when, and publishes the granted segments to callers.
// Does no I/O and reads no clock: (state, time) -> requests, (state, reply, time) -> state. Times
// are since boot. One request a section is in flight at a time.
// Thread safety: none; the counters it works on may be used by others meanwhile.
template <typename Traits = CounterTraits>
class SegmentLoaderOf {
 public:
  struct Totals {
    uint64_t granted = 0;
    uint64_t dropped = 0;
    uint64_t moved_on = 0;  // sections that left an old segment for the next one
    uint64_t starved = 0;
    uint64_t first_uses = 0;
    uint64_t losses = 0;
    absl::Duration lead = -absl::InfiniteDuration();
  };
  SegmentLoaderOf(const SpaceOptions& space, absl::Duration horizon, CountersOf<Traits>& counters,
                  uint64_t seed)
      : SegmentLoaderOf(space, horizon, counters, seed, 0, counters.sections() - 1) {}
  // For the sections from `first` to `last` alone.
  SegmentLoaderOf(const SpaceOptions& space, absl::Duration horizon, CountersOf<Traits>& counters,
                  uint64_t seed, uint32_t first, uint32_t last)
      : space_(space),
        horizon_(horizon),
        counters_(counters),
        first_(first),
        sections_(last - first + 1),
        random_(seed) {}

  // The requests to the store that are due now; the answer goes to Granted or Failed.
  std::vector<SegmentRequest> Collect(absl::Duration now) {
    if (now >= next_tick_) Tick(now);
    std::vector<SegmentRequest> requests;
    more_to_collect_ = false;
    for (size_t seen = 0; seen < sections_.size(); ++seen) {
      uint32_t i = first_ + static_cast<uint32_t>((resume_at_ + seen) % sections_.size());
      if (requests.size() == kMostRequests) {
        // The next call continues here: from the front it would ask for the same sections again.
        more_to_collect_ = true;
        resume_at_ = i - first_;
        break;
      }
      Section& section = At(i);
      // While the store is left alone, requests of callers stay pending, so that callers do not
      // wake the loader again and again.
      bool stopped = now < retry_at_ || (section.lead_used_up && section.due > now);
      if (section.wanted && (section.in_flight || stopped)) continue;
      if (uint8_t asked = counters_.TakeRequests(i)) Hear(i, asked, now);
      if (!section.wanted || section.due > now || now < retry_at_) continue;
      section.in_flight = true;
      requests.push_back({static_cast<uint16_t>(i), LengthFor(i, now), section.seen});
    }
    return requests;
  }

  void Granted(std::span<const SegmentRequest> requests, const SegmentReply& reply,
               absl::Duration now) {
    backoff_.Reset();
    retry_at_ = -absl::InfiniteDuration();
    totals_.losses += reply.loss_noticed;
    for (size_t i = 0; i < requests.size(); ++i) {
      Section& section = At(requests[i].section);
      section.in_flight = false;
      const SegmentGrant& grant = reply.grants[i];
      totals_.lead = std::max(totals_.lead, grant.lead);
      section.room = grant.room;
      section.room_grows_at =
          now + std::max(grant.lead + grant.room - LongestLead(), absl::ZeroDuration());
      if (grant.wait == absl::InfiniteDuration()) {
        // Callers find a segment past all limits, and return OUT_OF_RANGE.
        section.wanted = false;
        Install(requests[i].section, SegmentWord({kEndOfSequences, 64}), now);
        continue;
      }
      if (grant.segment.length == 0) {
        // A little longer than until 64 fit, so that a store is not called every 4 ms.
        section.due = now + grant.wait + absl::Milliseconds(50);
        section.lead_used_up = true;
        continue;
      }
      section.lead_used_up = false;
      bool first = section.last_length == 0;
      // Callers that asked before the first segment came were not starved.
      if (first) counters_.TakeRequests(requests[i].section);
      section.seen = std::max(section.seen, grant.segment.end());
      section.last_length = requests[i].length;
      ++totals_.granted;
      Install(requests[i].section, SegmentWord(grant.segment), now);
      bool more = first || section.depth > 1 || IsShort(requests[i].section, now);
      section.wanted = more && counters_.NextCount(requests[i].section) < section.depth;
      if (section.wanted) section.due = now;
    }
    if (next_tick_ == absl::InfiniteDuration()) next_tick_ = now + tick();
  }

  // The store did not answer, or refused; segments that it granted nevertheless are never used.
  void Failed(std::span<const SegmentRequest> requests, absl::Duration now) {
    for (const SegmentRequest& request : requests) At(request.section).in_flight = false;
    retry_at_ = now + backoff_.Next(random_());
  }

  // When Collect next has something to do without new requests of callers.
  absl::Duration NextDue() const {
    absl::Duration next = more_to_collect_ ? std::min(next_tick_, retry_at_) : next_tick_;
    for (const Section& section : sections_) {
      if (section.wanted && !section.in_flight) {
        next = std::min(next, std::max(section.due, retry_at_));
      }
    }
    return next;
  }

  // Whether a section waits for the floor to rise.
  bool lead_used_up() const {
    return std::any_of(sections_.begin(), sections_.end(),
                       [](const Section& section) { return section.lead_used_up; });
  }
  // The part of max_lead that is left in the section that has used most of it; it grows with time.
  double Headroom(absl::Duration now) const {
    double least = 1;
    for (const Section& section : sections_) {
      const absl::Duration grown = std::max(now - section.room_grows_at, absl::ZeroDuration());
      least = std::min(least, absl::FDivDuration(section.room + grown, LongestLead()));
    }
    return least;
  }
  // How long the first section to run out can continue without the store.
  absl::Duration Autonomy(absl::Duration now) const {
    absl::Duration least = absl::InfiniteDuration();
    for (uint32_t i = first_; i < end(); ++i) least = std::min(least, AutonomyOf(i, now));
    return least;
  }
  const Totals& totals() const { return totals_; }

 private:
  static constexpr uint64_t kEndOfSequences = uint64_t{1} << 56;
  // Limit of one call to the store, so that a transaction stays small where sections are small.
  static constexpr size_t kMostRequests = 1024;

  struct Held {
    SegmentWord segment;
    absl::Duration allocated_at;
  };
  struct Section {
    uint64_t seen = 0;         // the highest end granted
    uint64_t last_length = 0;  // asked for last; 0: nothing yet
    int depth = 1;             // next segments to keep
    bool wanted = false;
    bool in_flight = false;
    bool lead_used_up = false;
    // As of the last grant. Room grows with time, once the floor is above base: until then, lead
    // and room together are more than max_lead.
    absl::Duration room = absl::InfiniteDuration();
    absl::Duration room_grows_at;
    SegmentWord to_replace;    // in use and getting old
    uint64_t sum_at_tick = 0;  // of the cursors
    absl::Duration due;        // no request before
    std::vector<Held> held;
  };

  uint32_t end() const { return first_ + static_cast<uint32_t>(sections_.size()); }
  Section& At(uint32_t i) { return sections_[i - first_]; }
  const Section& At(uint32_t i) const { return sections_[i - first_]; }

  // The time that the floor takes for max_lead.
  absl::Duration LongestLead() const {
    return absl::Seconds(static_cast<double>(space_.max_lead) /
                         static_cast<double>(space_.floor_rate));
  }
  absl::Duration tick() const { return loading_rules::Tick(horizon_); }
  double Random() { return std::uniform_real_distribution<double>()(random_); }

  double RateOf(uint32_t i, absl::Duration now) const {
    return loading_rules::Rate(counters_.RateNow(i, now), counters_.RateBefore(i),
                               counters_.SecondsInUse(i, now), horizon_);
  }

  // Rounded up to 64 times a power of two, like the longest and the last length.
  uint64_t LengthFor(uint32_t i, absl::Duration now) const {
    uint64_t longest = 64 * std::bit_floor(std::max<uint64_t>(space_.max_lead / 4 / 64, 1));
    uint64_t length =
        loading_rules::Length(RateOf(i, now), horizon_, At(i).last_length, 64, longest);
    return 64 * std::bit_ceil((length + 63) / 64);
  }

  absl::Duration AutonomyOf(uint32_t i, absl::Duration now) const {
    SegmentWord segment = counters_.Current(i);
    double rate = RateOf(i, now);
    if (segment.empty() || rate <= 0) return absl::InfiniteDuration();
    uint64_t fastest = counters_.Fastest(i);
    uint64_t left = segment.end() > fastest ? segment.end() - fastest : 0;
    return absl::Seconds(static_cast<double>(left + counters_.NextLength(i)) / rate);
  }

  // Handles the requests of callers (CountersOf::Request).
  void Hear(uint32_t i, uint8_t asked, absl::Duration now) {
    Section& section = At(i);
    bool starved = (asked & CountersOf<Traits>::kStarved) != 0;
    bool warm = (asked & CountersOf<Traits>::kWarm) != 0 && counters_.Current(i).empty();
    if (starved && section.last_length == 0) {
      ++totals_.first_uses;
    } else if (starved) {
      ++totals_.starved;
      section.depth = std::min(section.depth + 1, counters_.kDepth);
    }
    bool urgent = starved || warm;
    if (!urgent && (section.wanted || !IsShort(i, now))) return;
    if (!section.wanted || !section.lead_used_up) section.due = urgent ? now : now + Jitter(i, now);
    section.wanted = true;
  }

  absl::Duration Jitter(uint32_t i, absl::Duration now) {
    return loading_rules::Jitter(AutonomyOf(i, now), horizon_, Random());
  }

  void Install(uint32_t i, SegmentWord segment, absl::Duration now) {
    Section& section = At(i);
    section.held.push_back({segment, now});
    SegmentWord current = counters_.Current(i);
    bool replace = current.empty() || current == section.to_replace;
    // Segments come into use in their order: one that already waits is first.
    bool in_turn = !counters_.PeekNext(i);
    if (replace && in_turn && counters_.Publish(i, current, segment, now)) {
      if (!current.empty()) ++totals_.dropped;
      section.to_replace = SegmentWord();
      return;
    }
    if (!counters_.Store(i, segment)) ++totals_.dropped;
  }

  // Whether the supply would not last a horizon at the next tick.
  bool IsShort(uint32_t i, absl::Duration now) const {
    return loading_rules::IsShort(AutonomyOf(i, now), horizon_) &&
           counters_.NextCount(i) < counters_.kDepth;
  }

  // Every eighth of a horizon: forgets used-up segments, gives up old ones, and asks for more where
  // the supply is short.
  void Tick(absl::Duration now) {
    bool any_held = false;
    for (uint32_t i = first_; i < end(); ++i) {
      Section& section = At(i);
      if (section.held.empty()) continue;
      ForgetUsedUp(i);
      uint64_t sum = counters_.SumOfCursors(i);
      bool in_use = sum != section.sum_at_tick;
      section.sum_at_tick = sum;
      if (in_use) {
        ReplaceOld(i, now);
        if (IsShort(i, now)) Hear(i, CountersOf<Traits>::kMore, now);
      } else {
        DropOld(i, now);
      }
      if (section.depth > 1 && counters_.NextCount(i) >= section.depth) --section.depth;
      any_held |= !section.held.empty();
    }
    next_tick_ = any_held ? now + tick() : absl::InfiniteDuration();
  }

  bool IsOld(const Held& held, absl::Duration now) const {
    return now - held.allocated_at >= 2 * horizon_;
  }

  void ForgetUsedUp(uint32_t i) {
    SegmentWord current = counters_.Current(i);
    if (current.empty()) return;
    std::erase_if(At(i).held,
                  [&](const Held& held) { return held.segment.first() < current.first(); });
  }

  // For an unused section, whose old segments would only make its next IDs lag.
  void DropOld(uint32_t i, absl::Duration now) {
    std::erase_if(At(i).held, [&](const Held& held) {
      if (!IsOld(held, now)) return false;
      totals_.dropped += counters_.Drop(i, held.segment);
      return true;
    });
  }

  // Moves a section in use to a younger segment, as soon as there is one.
  void ReplaceOld(uint32_t i, absl::Duration now) {
    Section& section = At(i);
    SegmentWord current = counters_.Current(i);
    for (const Held& held : section.held) {
      if (held.segment != current || !IsOld(held, now)) continue;
      if (counters_.MoveOn(i, current, now)) {
        ++totals_.dropped;
        ++totals_.moved_on;
      } else {
        section.to_replace = current;
        section.wanted = true;
        section.due = std::min(section.due, now);
      }
      return;
    }
  }

  const SpaceOptions space_;
  const absl::Duration horizon_;
  CountersOf<Traits>& counters_;
  const uint32_t first_;
  std::vector<Section> sections_;
  std::mt19937_64 random_;
  Totals totals_;
  Backoff backoff_{loading_rules::kBackoff};
  absl::Duration retry_at_ = -absl::InfiniteDuration();  // no call to the store before
  absl::Duration next_tick_ = absl::InfiniteDuration();
  // Collect stopped at the most requests of one call; the sections from resume_at_ on were not
  // seen.
  bool more_to_collect_ = false;
  size_t resume_at_ = 0;
};

using SegmentLoader = SegmentLoaderOf<>;

}  // namespace locus::internal

#endif  // LOCUS_SRC_SEGMENT_SEGMENT_LOADER_H_
