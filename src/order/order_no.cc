// SPDX-License-Identifier: Apache-2.0
#include "locus/order_no.h"

#include <array>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/order/order_no_assembler.h"

namespace locus {

using internal::HexOf;
using internal::LoadBigEndian64;
using internal::OrderNoAssembler;
using internal::ParseDecimal;
using internal::ParseHex;
using internal::Quoted;
using internal::StoreBigEndian64;
using internal::ToAbsl;

namespace {

// Crockford's base 32.
constexpr char kDigits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr std::array<int8_t, 256> MakeDigitValues() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (int8_t digit = 0; digit < 32; ++digit) {
    auto upper = static_cast<unsigned char>(kDigits[digit]);
    values[upper] = digit;
    if (upper >= 'A') values[upper - 'A' + 'a'] = digit;
  }
  for (unsigned char one : {'I', 'i', 'L', 'l'}) values[one] = 1;
  for (unsigned char zero : {'O', 'o'}) values[zero] = 0;
  return values;
}
constexpr std::array<int8_t, 256> kDigitValues = MakeDigitValues();

absl::Status NotAnOrderNo(std::string_view shown, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(shown), " is not an order_no: ", ToAbsl(reason)));
}

absl::StatusOr<OrderNo> FromWords(uint64_t high, uint64_t low, std::string_view shown) {
  if (high >> 63 != 0) return NotAnOrderNo(shown, "bit 127 is not 0");
  uint64_t format = high >> 43 & 0xF;
  if (format == 0xF) return NotAnOrderNo(shown, "its format is that of a wide order ID");
  if (format != 2 && format != 3) {
    return NotAnOrderNo(shown, absl::StrCat("its format is ", format, ", not 2 or 3"));
  }
  return OrderNoAssembler::Of(high, low);
}

}  // namespace

absl::StatusOr<KeyVersion> KeyVersion::FromInt(int64_t value) {
  if (value < 0 || value > kMax) {
    return absl::InvalidArgumentError(absl::StrCat("key version ", value, " is not in 0..", kMax));
  }
  return FromLowBits(static_cast<uint8_t>(value));
}

absl::StatusOr<OrderNo> OrderNo::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return NotAnOrderNo(absl::StrCat("a value of ", bytes.size(), " bytes"), "16 are needed");
  }
  return FromWords(LoadBigEndian64(bytes.data()), LoadBigEndian64(bytes.data() + 8), HexOf(bytes));
}

absl::StatusOr<OrderNo> OrderNo::Parse(std::string_view text) {
  absl::uint128 value = 0;
  if (text.size() == 2 * kBytes) {
    std::optional<absl::uint128> hex = ParseHex(text);
    if (!hex) return NotAnOrderNo(Quoted(text), "not all of its 32 characters are hex digits");
    value = *hex;
  } else if (text.size() == kTextLength) {
    if (kDigitValues[static_cast<unsigned char>(text[0])] > 3) {
      return NotAnOrderNo(Quoted(text), "its first character is above 3");
    }
    for (size_t i = 0; i < text.size(); ++i) {
      int digit = kDigitValues[static_cast<unsigned char>(text[i])];
      if (digit < 0) {
        return NotAnOrderNo(Quoted(text),
                            absl::StrCat("character ", i + 1, " is not a base-32 digit"));
      }
      value = value << 5 | absl::uint128(static_cast<uint64_t>(digit));
    }
  } else {
    return NotAnOrderNo(Quoted(text), absl::StrCat("it has ", text.size(),
                                                   " characters; 26 base-32 or 32 hex digits are "
                                                   "needed"));
  }
  return FromWords(absl::Uint128High64(value), absl::Uint128Low64(value), Quoted(text));
}

std::string OrderNo::ToBytes() const {
  std::string bytes(kBytes, '\0');
  StoreBigEndian64(high_, bytes.data());
  StoreBigEndian64(low_, bytes.data() + 8);
  return bytes;
}

void OrderNo::Format(char* out) const {
  // 128 = 3 + 25 * 5 bits: 12 digits lie in the low word, one straddles, 13 lie in the high word.
  uint64_t low = low_;
  for (int i = 25; i >= 14; --i, low >>= 5) out[i] = kDigits[low & 31];
  uint64_t high = high_;
  out[13] = kDigits[(low | high << 4) & 31];
  high >>= 1;
  for (int i = 12; i >= 0; --i, high >>= 5) out[i] = kDigits[high & 31];
}

std::string OrderNo::ToString() const {
  std::string text(kTextLength, '\0');
  Format(text.data());
  return text;
}

std::string OrderNo::ToHex() const { return HexOf(ToBytes()); }

std::ostream& operator<<(std::ostream& out, const OrderNo& number) {
  return out << number.ToString();
}

absl::StatusOr<OrderNo64> OrderNo64::FromInt64(int64_t value) {
  if (value < 0) return NotAnOrderNo(absl::StrCat(value), "it is negative");
  return OrderNo64(value);
}

absl::StatusOr<OrderNo64> OrderNo64::Parse(std::string_view text) {
  std::optional<uint64_t> value = ParseDecimal(text, INT64_MAX);
  if (!value) {
    return NotAnOrderNo(Quoted(text),
                        "a 64-bit one is a decimal of at most 2^63 - 1 without sign or leading "
                        "zeros");
  }
  return OrderNo64(static_cast<int64_t>(*value));
}

std::string OrderNo64::ToString() const { return absl::StrCat(value_); }

std::ostream& operator<<(std::ostream& out, OrderNo64 number) { return out << number.ToInt64(); }

}  // namespace locus
