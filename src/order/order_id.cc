// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "locus/internal/order_id_assembler.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::HexOf;
using internal::LoadBigEndian64;
using internal::OrderIdAssembler;
using internal::ParseDecimal;
using internal::ParseHex;
using internal::Quoted;
using internal::StoreBigEndian64;
using internal::ToAbsl;

namespace {

absl::Status NotAnOrderId(std::string_view shown, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(shown), " is not an order ID: ", ToAbsl(reason)));
}

// `shown` is the value as a message names it.
absl::StatusOr<OrderId> FromWideWords(uint64_t first, uint64_t rest, std::string_view shown) {
  if (first >> 63 != 0) return NotAnOrderId(shown, "bit 127 is not 0");
  if ((~first & OrderId::kMaxNarrowSequence) != 0) {
    return NotAnOrderId(shown, "bits 110 to 64 are not all 1");
  }
  if (rest > OrderId::kMaxSequence) return NotAnOrderId(shown, "bits 63 to 56 are not all 0");
  if (rest <= OrderId::kMaxNarrowSequence) {
    return NotAnOrderId(shown, "its sequence is below 2^47, which only narrow IDs have");
  }
  auto gene = ShardGene::FromUint16(static_cast<uint16_t>(first >> OrderId::kNarrowSequenceBits));
  return OrderIdAssembler::Wide(gene, rest);
}

}  // namespace

absl::StatusOr<OrderId> OrderId::FromParts(ShardGene gene, uint64_t sequence) {
  if (sequence > kMaxSequence) {
    return absl::OutOfRangeError(
        absl::StrCat("sequence ", sequence, " is above 2^56 - 1, the last one of an order ID"));
  }
  return OrderIdAssembler::Of(gene, sequence);
}

absl::StatusOr<OrderId> OrderId::FromInt64(int64_t value) {
  if (value < 0) return NotAnOrderId(absl::StrCat(value), "it is negative");
  return OrderId(static_cast<uint64_t>(value), 0);
}

absl::StatusOr<OrderId> OrderId::FromBytes(std::string_view bytes) {
  if (bytes.size() != 8 && bytes.size() != 16) {
    return NotAnOrderId(absl::StrCat("a value of ", bytes.size(), " bytes"), "8 or 16 are needed");
  }
  uint64_t first = LoadBigEndian64(bytes.data());
  if (bytes.size() == 16) {
    return FromWideWords(first, LoadBigEndian64(bytes.data() + 8), HexOf(bytes));
  }
  if (first >> 63 != 0) return NotAnOrderId(HexOf(bytes), "bit 63 is not 0");
  return OrderId(first, 0);
}

absl::StatusOr<OrderId> OrderId::Parse(std::string_view text) {
  if (text.size() == 32) {
    std::optional<absl::uint128> value = ParseHex(text);
    if (!value) return NotAnOrderId(Quoted(text), "not all of its 32 characters are hex digits");
    return FromWideWords(absl::Uint128High64(*value), absl::Uint128Low64(*value), Quoted(text));
  }
  std::optional<uint64_t> value = ParseDecimal(text, INT64_MAX);
  if (!value) {
    return NotAnOrderId(Quoted(text),
                        "neither a decimal of at most 2^63 - 1 without sign or leading zeros nor "
                        "32 hex digits");
  }
  return OrderId(*value, 0);
}

absl::StatusOr<int64_t> OrderId::ToInt64() const {
  if (is_wide()) {
    return absl::FailedPreconditionError(
        absl::StrCat("order ID ", ToString(), " is wide and does not fit 64 bits"));
  }
  return static_cast<int64_t>(first_);
}

std::string OrderId::ToBytes() const {
  std::string bytes(is_wide() ? 16 : 8, '\0');
  StoreBigEndian64(first_, bytes.data());
  if (is_wide()) StoreBigEndian64(rest_, bytes.data() + 8);
  return bytes;
}

std::string OrderId::ToString() const {
  return is_wide() ? HexOf(ToBytes()) : absl::StrCat(first_);
}

std::ostream& operator<<(std::ostream& out, const OrderId& id) { return out << id.ToString(); }

}  // namespace locus
