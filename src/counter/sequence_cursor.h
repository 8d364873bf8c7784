// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_SEQUENCE_CURSOR_H_
#define LOCUS_SRC_COUNTER_SEQUENCE_CURSOR_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "src/base/os/check.h"

namespace locus::internal {

// The parameters of a cursor; a test explores interleavings by atomics of its own.
struct SequenceCursorTraits {
  template <typename T>
  using Atomic = std::atomic<T>;
  static constexpr int kGenerationBits = 20;
  static constexpr uint64_t kSlots = 256;  // segments that a slow thread may lag behind
};

// One counter over segments that are installed one after the other. One word holds the generation
// of the segment in use (high bits) and how many of its numbers were used (low bits), so that a
// number is taken by one unconditional fetch_add. A caller that finds the segment used up raises
// only the low bits of that generation, and the word is replaced when the next segment is
// installed.
//
// A ring of slots holds the first number of each generation; a slot is written before the word that
// names its generation. Readers check the generation after reading: if the slot was overwritten
// meanwhile, the reader loses its number, but never gets another one's.
//
// Thread safety: Take from any thread; Install, Exhaust, Close and the accessors from one at a
// time.
template <typename Traits = SequenceCursorTraits>
class SequenceCursorOf {
 public:
  template <typename T>
  using Atomic = typename Traits::template Atomic<T>;
  static constexpr int kOffsetBits = 64 - Traits::kGenerationBits;
  static constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << Traits::kGenerationBits) - 1;
  // The most numbers of a segment. From kFull on the low bits are set back to kLongest: one Take by
  // each of many threads does not carry into the generation.
  static constexpr uint64_t kLongest = uint64_t{1} << (kOffsetBits - 4);
  static constexpr uint64_t kFull = uint64_t{1} << (kOffsetBits - 1);

  struct Taken {
    int64_t first = 0;
    uint64_t count = 0;  // 0: none
    // Without numbers: the generation that was used up; 0: no segment is in use.
    uint64_t generation = 0;
    // Without numbers: at most how many were skipped, because this thread was too slow to read
    // their first one.
    uint64_t skipped = 0;
  };

  // `word` is 0 and outlives the cursor; the numbers of a segment are `step` apart.
  SequenceCursorOf(Atomic<uint64_t>& word, int64_t step) : word_(word), step_(step) {}

  // The next numbers, at most `wanted`: fewer at the end of a segment.
  Taken Take(uint64_t wanted) {
    Taken taken;
    uint64_t generation, word;
    return TryTake(wanted, taken, generation, word) ? taken : Resolve(wanted, generation, word);
  }

  // The same in two steps. False: `taken` comes from Resolve.
  bool TryTake(uint64_t wanted, Taken& taken, uint64_t& generation, uint64_t& word) {
    // Reads as much as possible before the fetch_add, because instructions after a locked one wait
    // for it. Acquire pairs with the release in Install: the slot of that generation is written.
    generation = installed_.load(std::memory_order_acquire);
    const Slot& slot = slots_[generation % Traits::kSlots];
    // Acquire: the slot's generation, read afterwards, is no older than the values read here.
    int64_t first = slot.first.load(std::memory_order_acquire);
    uint64_t length = slot.length.load(std::memory_order_acquire);
    int64_t step = step_;
    word = word_.fetch_add(wanted, std::memory_order_acq_rel);
    // For a word with another generation this is above every length.
    uint64_t offset = word - (generation << kOffsetBits);
    // While the slot holds this generation, no later one has the same bits in the word.
    if (offset >= length || slot.generation.load(std::memory_order_relaxed) != generation)
        [[unlikely]] {
      return false;
    }
    taken.first = first + static_cast<int64_t>(offset) * step;
    taken.count = std::min(wanted, length - offset);
    return true;
  }

  // For a word whose generation was installed after `reached`, or is used up.
  Taken Resolve(uint64_t wanted, uint64_t reached, uint64_t word) {
    uint64_t offset = word & kOffsetMask;
    uint64_t bits = word >> kOffsetBits;
    if (offset >= kFull) SetBack();
    if (bits == 0) return {};
    uint64_t generation = reached + ((bits - reached) & kGenerationMask);
    const Slot& slot = slots_[generation % Traits::kSlots];
    int64_t first = slot.first.load(std::memory_order_acquire);
    uint64_t length = slot.length.load(std::memory_order_acquire);
    if (slot.generation.load(std::memory_order_relaxed) != generation) {
      return {.generation = generation, .skipped = wanted};
    }
    if (offset >= length) return {.generation = generation};
    return {.first = first + static_cast<int64_t>(offset) * step_,
            .count = std::min(wanted, length - offset)};
  }

  // Replaces the segment in use, which is used up, by `length` numbers from `first` on.
  void Install(int64_t first, uint64_t length) {
    LOCUS_CHECK(length > 0 && length <= kLongest);
    uint64_t generation = generation_ + 1;
    if ((generation & kGenerationMask) == 0) ++generation;  // 0 means that no segment is in use
    Slot& slot = slots_[generation % Traits::kSlots];
    // Release: a thread that sees part of the new content sees that the old one is gone.
    slot.generation.store(kNoGeneration, std::memory_order_relaxed);
    slot.first.store(first, std::memory_order_release);
    slot.length.store(length, std::memory_order_release);
    slot.generation.store(generation, std::memory_order_release);
    word_.exchange((generation & kGenerationMask) << kOffsetBits, std::memory_order_acq_rel);
    installed_.store(generation, std::memory_order_release);
    generation_ = generation;
    first_ = first;
    length_ = length;
  }

  // Ends the segment in use: no more of its numbers are handed out. Returns how many were.
  uint64_t Exhaust() {
    const uint64_t word = ((generation_ & kGenerationMask) << kOffsetBits) | kLongest;
    return std::min(word_.exchange(word, std::memory_order_acq_rel) & kOffsetMask, length_);
  }

  // Ends the cursor: no numbers are handed out any more. Returns how many of the last segment were.
  uint64_t Close() {
    return std::min(word_.exchange(0, std::memory_order_acq_rel) & kOffsetMask, length_);
  }

  // Of the segment installed last.
  uint64_t generation() const { return generation_; }
  int64_t first() const { return first_; }
  uint64_t length() const { return length_; }
  uint64_t used() const {
    return std::min(word_.load(std::memory_order_relaxed) & kOffsetMask, length_);
  }
  // The same as generation(), from any thread.
  uint64_t installed() const { return installed_.load(std::memory_order_acquire); }

 private:
  static constexpr uint64_t kNoGeneration = ~uint64_t{0};

  struct Slot {
    Atomic<uint64_t> generation{kNoGeneration};
    Atomic<int64_t> first{0};
    Atomic<uint64_t> length{0};
    uint64_t unused = 0;
  };

  // Ends when the low bits are low again, so each thread adds to full ones at most once.
  void SetBack() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kOffsetMask) >= kFull &&
           !word_.compare_exchange_weak(word, (word & ~kOffsetMask) | kLongest,
                                        std::memory_order_relaxed)) {
    }
  }

  Atomic<uint64_t>& word_;
  const int64_t step_;
  // The last generation whose word was written. Rarely written, so it is not on the cache line of
  // the word.
  alignas(64) Atomic<uint64_t> installed_{0};
  std::array<Slot, Traits::kSlots> slots_;

  uint64_t generation_ = 0;
  int64_t first_ = 0;
  uint64_t length_ = 0;
};

using SequenceCursor = SequenceCursorOf<>;

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_SEQUENCE_CURSOR_H_
