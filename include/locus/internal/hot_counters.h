// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_HOT_COUNTERS_H_
#define LOCUS_INTERNAL_HOT_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "locus/internal/segment_word.h"
#include "locus/order_id.h"

namespace locus::internal {

// The words of a generator's counters that the usual call touches: a cursor a vnode, a segment a
// section. In a public header so that callers inline it: a call and a result in memory would cost a
// third of the compare-and-swap beside them. A view; src/segment/counters.h owns the words.
// Thread safety: all methods may be called from any thread.
class HotCounters {
 public:
  // `words`: 65,536 cursors, then the stored segment of each section.
  HotCounters(std::atomic<uint64_t>* words, int section_shift)
      : words_(words), section_shift_(section_shift) {}

  // Takes the vnode's next sequence. False: the call is not a usual one (the cursor lies outside
  // the section's segment, the order ID would be wide, another thread took the sequence, or this is
  // a forked child); the slow path knows what to do.
  [[gnu::always_inline]] bool TryTake(uint16_t gene, uint64_t& sequence) const {
    std::atomic<uint64_t>& cursor = words_[gene];
    sequence = cursor.load(std::memory_order_relaxed);
    // Acquire pairs with the release in CountersOf::Publish: a caller that sees a segment may use
    // it.
    uint64_t stored = words_[ShardGene::kCount + (uint32_t{gene} >> section_shift_)].load(
        std::memory_order_acquire);
    // One compare for both ends of the segment. The value that the compare-and-swap writes depends
    // on the cursor alone, so it need not wait for the segment.
    uint64_t offset = sequence + kBias - (stored & ~uint64_t{63});
    if (offset >= uint64_t{64} << (stored & 63) || sequence > OrderId::kMaxNarrowSequence)
        [[unlikely]] {
      return false;
    }
    uint64_t expected = sequence;
    // Relaxed: the cursor is the only word whose order matters here.
    return cursor.compare_exchange_strong(expected, sequence + 1, std::memory_order_relaxed);
  }

  // A segment as its word is stored: 64 sequences higher, so that the zero which a forked child
  // finds is a segment that no cursor lies in.
  static constexpr uint64_t Stored(SegmentWord segment) { return segment.bits() + kBias; }
  static constexpr SegmentWord Read(uint64_t stored) {
    return stored == 0 ? SegmentWord() : SegmentWord::FromBits(stored - kBias);
  }

 private:
  static constexpr uint64_t kBias = 64;
  static_assert(SegmentWord().bits() + kBias == 63, "no segment is one of length 64 << 63 = 0");

  std::atomic<uint64_t>* words_;
  int section_shift_;
};

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_HOT_COUNTERS_H_
