// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ORDER_NO_H_
#define LOCUS_ORDER_NO_H_

#include <compare>
#include <concepts>
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
class OrderNoAssembler;
}

// Version of a master key, 0..127. A version is never given to a second key.
class KeyVersion {
 public:
  static constexpr int kMax = 127;

  constexpr KeyVersion() = default;
  // INVALID_ARGUMENT: `value` is outside 0..127.
  static absl::StatusOr<KeyVersion> FromInt(int64_t value);
  // The low 7 bits of `bits`; the top bit is ignored.
  static constexpr KeyVersion FromLowBits(uint8_t bits) {
    KeyVersion version;
    version.value_ = bits & kMax;
    return version;
  }

  constexpr uint8_t value() const { return value_; }
  friend constexpr auto operator<=>(KeyVersion, KeyVersion) = default;
  template <typename Sink>
  friend void AbslStringify(Sink& sink, KeyVersion version) {
    sink.Append(std::to_string(version.value()));
  }

 private:
  uint8_t value_ = 0;
};

// The number a customer sees, 128 bits, made and read by OrderNoCodec (scheme siv):
//
//   0 | gene 16 | format 4 | key version 7 | tag | ciphertext
//   format 2, of a narrow order ID: tag 53, ciphertext 47
//   format 3, of a wide order ID:   tag 44, ciphertext 56
//
// Bits are listed from the highest down; bytes are big-endian. The gene can be read without a key,
// the sequence cannot. A value of this type has the right length and fixed bits, but it is
// authentic only if OrderNoCodec::Decode() accepts it. At a public edge, decode before you query
// any shard.
//
// Several texts name one order_no (case, I L O, hex): index, compare, cache and rate-limit on the
// bytes. Every factory refuses any other value with INVALID_ARGUMENT. An immutable value of 16
// bytes.
class OrderNo {
 public:
  static constexpr size_t kBytes = 16;
  static constexpr size_t kTextLength = 26;

  // Gene 0, key version 0, tag and ciphertext 0: a value to assign to. Decoding refuses it, except
  // with probability 2^-53.
  constexpr OrderNo() = default;

  static absl::StatusOr<OrderNo> FromBytes(std::string_view bytes);
  // 26 base-32 digits (Crockford's alphabet: either case, I and L read as 1, O as 0) or exactly
  // 32 hex digits.
  static absl::StatusOr<OrderNo> Parse(std::string_view text);

  constexpr ShardGene gene() const {
    return ShardGene::FromUint16(static_cast<uint16_t>(high_ >> 47));
  }
  constexpr KeyVersion key_version() const {
    return KeyVersion::FromLowBits(static_cast<uint8_t>(high_ >> 36));
  }
  // Whether it was made of a wide order ID.
  constexpr bool is_wide() const { return (high_ >> 43 & 0xF) == 3; }

  // 16 bytes for a VARBINARY(16) column (a BINARY column would lose trailing zeros in row events).
  std::string ToBytes() const;
  // 26 base-32 digits, the first of them 0..3.
  std::string ToString() const;
  // Writes what ToString() returns to out[0..25], without a terminator.
  void Format(char* out) const;
  // 32 lower-case hex digits.
  std::string ToHex() const;

  // The first and the second 8 bytes as big-endian numbers.
  constexpr uint64_t high() const { return high_; }
  constexpr uint64_t low() const { return low_; }

  friend constexpr auto operator<=>(const OrderNo&, const OrderNo&) = default;
  friend std::ostream& operator<<(std::ostream& out, const OrderNo& number);
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const OrderNo& number) {
    sink.Append(number.ToString());
  }

 private:
  friend class internal::OrderNoAssembler;  // src/order/order_no_assembler.h: parts that were
                                            // checked already
  constexpr OrderNo(uint64_t high, uint64_t low) : high_(high), low_(low) {}

  uint64_t high_ = uint64_t{2} << 43;  // format 2
  uint64_t low_ = 0;
};

// The number a customer sees, for a BIGINT column (schemes ff1 and ctr64):
//
//   0 | gene 16 | 47 bits of ciphertext
//
// Not authenticated, and for narrow order IDs only. It has no key version: store that beside it
// (order_no_kv) and make (order_no, order_no_kv) the unique key. Accept a row found by its number
// only if decoding with the row's version gives the row's order_id. The value looks like a narrow
// order ID; its column or endpoint decides which one it is. An immutable value of 8 bytes.
class OrderNo64 {
 public:
  // 0: a value to assign to.
  constexpr OrderNo64() = default;

  // INVALID_ARGUMENT: the value is negative.
  static absl::StatusOr<OrderNo64> FromInt64(int64_t value);
  // Decimal, at most 2^63 - 1, no sign, no leading zeros.
  static absl::StatusOr<OrderNo64> Parse(std::string_view text);

  constexpr ShardGene gene() const {
    return ShardGene::FromUint16(static_cast<uint16_t>(value_ >> 47));
  }
  constexpr int64_t ToInt64() const { return value_; }
  std::string ToString() const;

  friend constexpr auto operator<=>(OrderNo64, OrderNo64) = default;
  friend std::ostream& operator<<(std::ostream& out, OrderNo64 number);
  template <typename Sink>
  friend void AbslStringify(Sink& sink, OrderNo64 number) {
    sink.Append(number.ToString());
  }

 private:
  friend class internal::OrderNoAssembler;
  explicit constexpr OrderNo64(std::same_as<int64_t> auto value) : value_(value) {}

  int64_t value_ = 0;
};

}  // namespace locus

template <>
struct std::hash<locus::OrderNo> {
  size_t operator()(const locus::OrderNo& number) const noexcept {
    return number.low() ^ (number.high() * 0x9E3779B97F4A7C15u);
  }
};

template <>
struct std::hash<locus::OrderNo64> {
  size_t operator()(locus::OrderNo64 number) const noexcept {
    return static_cast<uint64_t>(number.ToInt64()) * 0x9E3779B97F4A7C15u;
  }
};

#endif  // LOCUS_ORDER_NO_H_
