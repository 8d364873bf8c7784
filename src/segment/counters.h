// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_COUNTERS_H_
#define LOCUS_SRC_SEGMENT_COUNTERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/time/time.h"
#include "locus/internal/hot_counters.h"
#include "locus/internal/segment_word.h"
#include "locus/shard_gene.h"
#include "src/base/os/wipe_on_fork.h"

namespace locus::internal {

// The parameters of counters; a simulation has fewer vnodes, and breaks one rule at a time to show
// that it notices.
struct CounterTraits {
  static constexpr uint32_t kVnodes = 65536;
  static constexpr bool kTakeNextByPlainStore = false;
  static constexpr bool kRateAcrossSwap = false;
};

// The sequences of all vnodes: a cursor a vnode, and a section its segment in use and up to kDepth
// next ones. A sequence is handed out only if it lies in the segment in use at that moment, which
// this process allocated; cursors only rise; so no sequence is handed out twice.
// Thread safety: all methods may be called from any thread.
template <typename Traits = CounterTraits>
class CountersOf {
 public:
  static constexpr int kDepth = 4;
  static constexpr uint64_t kNone = ~uint64_t{0};

  // Sequences from `limit` on are not handed out.
  // Above 2^47 they are not usual ones (HotCounters).
  CountersOf(uint32_t section_size, uint64_t limit)
      : shift_(std::countr_zero(section_size)),
        limit_(limit),
        sections_count_(Traits::kVnodes / section_size),
        words_(Traits::kVnodes + sections_count_),
        sections_(new Section[Traits::kVnodes / section_size]) {
    for (uint32_t section = 0; section < sections_count_; ++section) {
      InUse(section).store(HotCounters::Stored(SegmentWord()), std::memory_order_relaxed);
    }
  }

  // For callers that inline the usual case. It knows no limit but 2^47.
  HotCounters hot() { return {&words_[0], shift_}; }

  // The next sequence of the vnode; kNone: the section's segment has none left for it.
  uint64_t Take(uint16_t gene) {
    // Acquire pairs with the release in Publish: a thread that sees a segment may use it.
    SegmentWord segment = Current(gene >> shift_);
    uint64_t end = std::min(segment.end(), limit_);
    uint64_t cursor = words_[gene].load(std::memory_order_relaxed);
    while (true) {
      uint64_t sequence = std::max(cursor, segment.first());
      if (sequence >= end) [[unlikely]] {
        return kNone;
      }
      // Relaxed: the cursor is the only word whose order matters here.
      if (words_[gene].compare_exchange_weak(cursor, sequence + 1, std::memory_order_relaxed)) {
        return sequence;
      }
    }
  }

  // Calls emit(i, Take(genes[i])) from the front; returns how many before the first kNone. Faster
  // than single calls: cursors come while others are being locked.
  template <typename Emit>
  size_t TakeEach(std::span<const ShardGene> genes, Emit emit) {
    constexpr size_t kAhead = 8;
    const HotCounters usual = hot();
    for (size_t i = 0; i < genes.size(); ++i) {
      if (i + kAhead < genes.size()) Prefetch(genes[i + kAhead].value());
      uint64_t sequence;
      if (!usual.TryTake(genes[i].value(), sequence)) [[unlikely]] {
        sequence = Take(genes[i].value());
        if (sequence == kNone) return i;
      }
      emit(i, sequence);
    }
    return genes.size();
  }
  void Prefetch(uint16_t gene) const { __builtin_prefetch(&words_[gene], 1); }

  uint32_t SectionOf(uint16_t gene) const { return gene >> shift_; }
  uint32_t sections() const { return sections_count_; }
  bool forked() const { return words_.wiped(); }
  // Whether the vnode's next sequence is past the limit.
  bool PastLimit(uint16_t gene) const {
    SegmentWord segment = Current(SectionOf(gene));
    uint64_t cursor = words_[gene].load(std::memory_order_relaxed);
    return std::max(cursor, segment.empty() ? 0 : segment.first()) >= limit_;
  }
  // The highest cursor of the section within its segment; 0: it has none.
  uint64_t Fastest(uint32_t section) const { return FastestIn(section, Current(section)); }
  uint64_t FastestIn(uint32_t section, SegmentWord segment) const {
    if (segment.empty()) return 0;
    uint64_t fastest = segment.first();
    for (uint32_t vnode = section << shift_; vnode < (section + 1) << shift_; ++vnode) {
      fastest = std::max(fastest, words_[vnode].load(std::memory_order_relaxed));
    }
    return std::min(fastest, segment.end());
  }

  // How many sequences were handed out, computed from the cursors. It misses takers that read a
  // segment just before it was replaced, at most one per thread and segment. While a segment is
  // being replaced its sequences may be missing briefly.
  uint64_t Given() const {
    uint64_t given = 0;
    for (uint32_t section = 0; section < sections(); ++section) given += GivenIn(section);
    return given;
  }
  uint64_t GivenIn(uint32_t section) const {
    return sections_[section].given.load(std::memory_order_relaxed) +
           GivenOf(section, Current(section));
  }

  // Of all cursors of the section: changes with every sequence handed out in it.
  uint64_t SumOfCursors(uint32_t section) const {
    uint64_t sum = 0;
    for (uint32_t vnode = section << shift_; vnode < (section + 1) << shift_; ++vnode) {
      sum += words_[vnode].load(std::memory_order_relaxed);
    }
    return sum;
  }

  SegmentWord Current(uint32_t section) const {
    return HotCounters::Read(InUse(section).load(std::memory_order_acquire));
  }

  // Moving on to a next segment, in steps, so that a simulation can run other threads in between.
  struct Next {
    int slot;
    SegmentWord segment;
  };
  // The earliest next segment.
  std::optional<Next> PeekNext(uint32_t section) const {
    std::optional<Next> earliest;
    for (int slot = 0; slot < kDepth; ++slot) {
      auto segment =
          SegmentWord::FromBits(sections_[section].next[slot].load(std::memory_order_acquire));
      if (!segment.empty() && (!earliest || segment.first() < earliest->segment.first())) {
        earliest = Next{slot, segment};
      }
    }
    return earliest;
  }
  // False: another thread was first. True: `next` is the caller's, to publish or put back.
  bool TakeNext(uint32_t section, const Next& next) {
    if constexpr (Traits::kTakeNextByPlainStore) {
      sections_[section].next[next.slot].store(SegmentWord().bits(), std::memory_order_release);
      return true;
    }
    uint64_t expected = next.segment.bits();
    return sections_[section].next[next.slot].compare_exchange_strong(
        expected, SegmentWord().bits(), std::memory_order_acq_rel);
  }
  // Replaces `used_up` by `segment`. False: `used_up` is no longer the segment in use, or it is
  // later than `segment`.
  bool Publish(uint32_t section, SegmentWord used_up, SegmentWord segment, absl::Duration now) {
    if (Late(section, used_up, segment)) return false;
    uint64_t expected = HotCounters::Stored(used_up);
    if (!InUse(section).compare_exchange_strong(expected, HotCounters::Stored(segment),
                                                std::memory_order_acq_rel)) {
      return false;
    }
    Section& cold = sections_[section];
    double seconds = SecondsInUse(section, now);
    cold.installed_at.store(absl::ToInt64Nanoseconds(now), std::memory_order_relaxed);
    cold.given.fetch_add(GivenOf(section, used_up), std::memory_order_relaxed);
    uint64_t used = used_up.empty() ? 0 : FastestIn(section, used_up) - used_up.first();
    if (Traits::kRateAcrossSwap && !used_up.empty()) used = segment.first() - used_up.first();
    cold.rate.store(static_cast<double>(used) / seconds, std::memory_order_relaxed);
    return true;
  }
  // Stores a next segment; false: all slots are taken.
  bool Store(uint32_t section, SegmentWord segment) {
    for (std::atomic<uint64_t>& place : sections_[section].next) {
      uint64_t expected = SegmentWord().bits();
      if (place.compare_exchange_strong(expected, segment.bits(), std::memory_order_acq_rel)) {
        return true;
      }
    }
    return false;
  }
  // Removes a segment from use or from the next ones; false: it is in neither.
  bool Drop(uint32_t section, SegmentWord segment) {
    uint64_t expected = HotCounters::Stored(segment);
    sections_[section].dropped_at.store(segment.first(), std::memory_order_release);
    if (InUse(section).compare_exchange_strong(expected, HotCounters::Stored(SegmentWord()),
                                               std::memory_order_acq_rel)) {
      sections_[section].given.fetch_add(GivenOf(section, segment), std::memory_order_relaxed);
      return true;
    }
    for (std::atomic<uint64_t>& place : sections_[section].next) {
      expected = segment.bits();
      if (place.compare_exchange_strong(expected, SegmentWord().bits(),
                                        std::memory_order_acq_rel)) {
        return true;
      }
    }
    return false;
  }

  // All the steps: replaces `used_up` by the earliest next segment. False: there is no next
  // segment.
  bool MoveOn(uint32_t section, SegmentWord used_up, absl::Duration now) {
    if (Current(section) != used_up) return true;
    std::optional<Next> next = PeekNext(section);
    if (!next) return Current(section) != used_up;
    if (!TakeNext(section, *next)) return true;
    if (!Publish(section, used_up, next->segment, now)) PutBack(section, next->segment);
    return true;
  }
  // Gives up a segment that was taken but not published, because another one overtook it.
  void PutBack(uint32_t section, SegmentWord segment) {
    if (Late(section, Current(section), segment) || !Store(section, segment))
      overtaken_.fetch_add(1, std::memory_order_relaxed);
  }

  // How many segments were given up because a later one was in use already.
  uint64_t overtaken() const { return overtaken_.load(std::memory_order_relaxed); }
  int NextCount(uint32_t section) const {
    int count = 0;
    for (const auto& place : sections_[section].next) {
      count += place.load(std::memory_order_relaxed) != SegmentWord().bits();
    }
    return count;
  }
  uint64_t NextLength(uint32_t section) const {
    uint64_t length = 0;
    for (const auto& place : sections_[section].next) {
      auto segment = SegmentWord::FromBits(place.load(std::memory_order_relaxed));
      if (!segment.empty()) length += segment.length();
    }
    return length;
  }

  // Sequences a second of the fastest vnode while the previous segment was in use (at least a
  // second); 0: there was none.
  double RateBefore(uint32_t section) const {
    return sections_[section].rate.load(std::memory_order_relaxed);
  }
  // The same of the segment in use, so far.
  double RateNow(uint32_t section, absl::Duration now) const {
    SegmentWord segment = Current(section);
    if (segment.empty()) return 0;
    return static_cast<double>(Fastest(section) - segment.first()) / SecondsInUse(section, now);
  }
  // Since the segment in use was installed; at least 1.
  double SecondsInUse(uint32_t section, absl::Duration now) const {
    absl::Duration installed =
        absl::Nanoseconds(sections_[section].installed_at.load(std::memory_order_relaxed));
    return std::max(1.0, absl::ToDoubleSeconds(now - installed));
  }

  // Whether the vnode finds nothing in this segment.
  bool UsedUp(uint16_t gene, SegmentWord segment) const {
    return std::max(words_[gene].load(std::memory_order_relaxed), segment.first()) >=
           std::min(segment.end(), limit_);
  }

  // Requests of callers to the loader. kMore: the section moved on to its next segment. kStarved: a
  // caller found no sequence. kWarm: a segment before the first caller arrives.
  enum Request : uint8_t { kNothing = 0, kMore = 1, kStarved = 2, kWarm = 4 };
  // Returns whether the loader does not know the request yet.
  bool AskFor(uint32_t section, Request request) {
    return (sections_[section].asked.fetch_or(request, std::memory_order_release) & request) == 0;
  }
  uint8_t TakeRequests(uint32_t section) {
    std::atomic<uint8_t>& asked = sections_[section].asked;
    if (asked.load(std::memory_order_relaxed) == kNothing) return kNothing;
    return asked.exchange(kNothing, std::memory_order_acquire);
  }

 private:
  // Whether a later segment than this one is, or was, in use.
  bool Late(uint32_t section, SegmentWord current, SegmentWord segment) const {
    uint64_t reached = current.empty()
                           ? sections_[section].dropped_at.load(std::memory_order_acquire)
                           : current.first();
    return segment.first() < reached;
  }

  uint64_t GivenOf(uint32_t section, SegmentWord segment) const {
    if (segment.empty()) return 0;
    uint64_t given = 0;
    for (uint32_t vnode = section << shift_; vnode < (section + 1) << shift_; ++vnode) {
      uint64_t cursor = words_[vnode].load(std::memory_order_relaxed);
      given += std::clamp(cursor, segment.first(), segment.end()) - segment.first();
    }
    return given;
  }

  std::atomic<uint64_t>& InUse(uint32_t section) { return words_[Traits::kVnodes + section]; }
  const std::atomic<uint64_t>& InUse(uint32_t section) const {
    return words_[Traits::kVnodes + section];
  }

  struct alignas(64) Section {
    std::array<std::atomic<uint64_t>, kDepth> next = {SegmentWord().bits(), SegmentWord().bits(),
                                                      SegmentWord().bits(), SegmentWord().bits()};
    std::atomic<uint64_t> dropped_at{0};   // first of the segment dropped last
    std::atomic<int64_t> installed_at{0};  // ns since boot
    std::atomic<double> rate{0};
    std::atomic<uint64_t> given{0};        // from segments that went out of use
    std::atomic<uint8_t> asked{kNothing};  // Request bits
  };

  int shift_;
  uint64_t limit_;
  uint32_t sections_count_;
  // By vnode the cursor, the sequence after the last one; then by section the segment in use, as
  // HotCounters stores it.
  WipeOnForkWords words_;
  std::unique_ptr<Section[]> sections_;
  std::atomic<uint64_t> overtaken_{0};
};

using Counters = CountersOf<>;

}  // namespace locus::internal

#endif  // LOCUS_SRC_SEGMENT_COUNTERS_H_
