// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ORDER_ID_H_
#define LOCUS_ORDER_ID_H_

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/shard_gene.h"
#include "locus/str.h"

namespace locus {
namespace internal {
class OrderIdAssembler;
}

// An order ID, which contains the vnode of its order. One type for two formats:
//
//   narrow,  64 bits   0 | gene 16 | sequence 47                           a positive BIGINT
//   wide,   128 bits   0 | gene 16 | 1111 | 1 x43 | 0 x8 | sequence 56     from sequence 2^47 on
//
// Bits are listed from the highest down; bytes are big-endian. Width is byte length, 8 or 16, so
// a column VARBINARY(16) holds both. In either, gene = first 3 bytes >> 7 & 0xFFFF. operator< is
// (gene, sequence) order across both widths, and the order of the bytes in such a column.
//
// Every factory refuses any other value: INVALID_ARGUMENT, and the message names the value.
// An immutable value of 16 bytes; copies are cheap.
class OrderId {
 public:
  static constexpr int kNarrowSequenceBits = 47;
  static constexpr int kWideSequenceBits = 56;
  static constexpr uint64_t kMaxNarrowSequence = (uint64_t{1} << kNarrowSequenceBits) - 1;
  static constexpr uint64_t kMaxSequence = (uint64_t{1} << kWideSequenceBits) - 1;
  static_assert(1 + ShardGene::kBits + kNarrowSequenceBits == 64,
                "a narrow order ID stays positive in a BIGINT");
  static_assert(1 + ShardGene::kBits + 4 + 43 + 8 + kWideSequenceBits == 128,
                "a wide order ID fills 16 bytes");

  // Gene 0, sequence 0, narrow.
  constexpr OrderId() = default;

  // Narrow up to sequence 2^47 - 1, wide from there. OUT_OF_RANGE above 2^56 - 1.
  static absl::StatusOr<OrderId> FromParts(ShardGene gene, uint64_t sequence);
  // From a BIGINT column. INVALID_ARGUMENT: the value is negative.
  static absl::StatusOr<OrderId> FromInt64(int64_t value);
  // From a VARBINARY(16) column: 8 or 16 bytes.
  static absl::StatusOr<OrderId> FromBytes(std::string_view bytes);
  // From text: decimal (narrow) or exactly 32 hex digits of either case (wide).
  static absl::StatusOr<OrderId> Parse(std::string_view text);

  constexpr bool is_wide() const { return rest_ != 0; }
  constexpr int width() const { return is_wide() ? 128 : 64; }
  constexpr ShardGene gene() const {
    return ShardGene::FromUint16(static_cast<uint16_t>(first_ >> kNarrowSequenceBits));
  }
  constexpr uint64_t sequence() const { return is_wide() ? rest_ : first_ & kMaxNarrowSequence; }

  // 0..9999, the unit in which traffic moves between shards. Neighbouring sequences land in
  // distant cohorts: ((sequence mod 10000) * 6181 + gene * 2531) mod 10000.
  static constexpr uint32_t kCohorts = 10000;
  constexpr uint32_t cohort() const {
    return static_cast<uint32_t>((sequence() % kCohorts) * 6181 + gene().value() * uint64_t{2531}) %
           kCohorts;
  }

  // For a BIGINT column. FAILED_PRECONDITION: the ID is wide and does not fit 64 bits.
  absl::StatusOr<int64_t> ToInt64() const;
  // For a VARBINARY(16) column: 8 or 16 bytes, big-endian.
  std::string ToBytes() const;
  // Decimal (narrow) or 32 lower-case hex digits (wide). Parse() reads it back.
  std::string ToString() const;

  // The first 8 bytes as a big-endian number; a narrow ID has no more.
  constexpr uint64_t first_word() const { return first_; }
  // Bytes 9 to 16 as a big-endian number: the sequence of a wide ID, 0 for a narrow one.
  constexpr uint64_t rest_word() const { return rest_; }

  friend constexpr auto operator<=>(const OrderId&, const OrderId&) = default;
  friend std::ostream& operator<<(std::ostream& out, const OrderId& id);
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const OrderId& id) {
    sink.Append(id.ToString());
  }

 private:
  friend class internal::OrderIdAssembler;  // makes IDs of parts that were checked already
  constexpr OrderId(uint64_t first, uint64_t rest) : first_(first), rest_(rest) {}

  // A wide ID's first word is that of the vnode's last narrow one, and its second word is never 0
  // (at least 2^47), so comparing the words in turn is the order of the bytes.
  uint64_t first_ = 0;
  uint64_t rest_ = 0;
};

}  // namespace locus

template <>
struct std::hash<locus::OrderId> {
  size_t operator()(const locus::OrderId& id) const noexcept {
    // Fibonacci hashing: the low bits of neighbouring IDs differ, the high ones do not.
    return (id.first_word() ^ id.rest_word()) * 0x9E3779B97F4A7C15u;
  }
};

#endif  // LOCUS_ORDER_ID_H_
