// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_SEGMENT_WORD_H_
#define LOCUS_INTERNAL_SEGMENT_WORD_H_

#include <bit>
#include <cstdint>

#include "locus/segment_store.h"

namespace locus::internal {

// A segment in 64 bits, so that it is read and replaced atomically: first / 64 in the high 58 bits,
// log2(length / 64) in the low 6.
class SegmentWord {
 public:
  // No segment: a word of ones, whose end (mod 2^64) is its first.
  constexpr SegmentWord() = default;
  constexpr explicit SegmentWord(const Segment& segment)
      : bits_(segment.first | static_cast<uint64_t>(std::countr_zero(segment.length / 64))) {}
  static constexpr SegmentWord FromBits(uint64_t bits) {
    SegmentWord word;
    word.bits_ = bits;
    return word;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == ~uint64_t{0}; }
  constexpr uint64_t first() const { return bits_ & ~uint64_t{63}; }
  constexpr uint64_t length() const { return uint64_t{64} << (bits_ & 63); }
  constexpr uint64_t end() const { return first() + length(); }
  friend constexpr bool operator==(SegmentWord, SegmentWord) = default;

 private:
  uint64_t bits_ = ~uint64_t{0};
};
static_assert(SegmentWord().first() == SegmentWord().end(), "nothing lies in no segment");
static_assert(SegmentWord({.first = 640, .length = 256}).end() == 896);

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_SEGMENT_WORD_H_
