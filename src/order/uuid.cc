// SPDX-License-Identifier: Apache-2.0
#include "locus/uuid.h"

#include <time.h>

#include <array>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/order/uuid_v7.h"

namespace locus {

using internal::LoadBigEndian64;
using internal::Quoted;
using internal::RandomWord;
using internal::StoreBigEndian64;
using internal::ToAbsl;

namespace {

constinit uuid_v7::Order process_order;

constexpr bool IsHyphenPlace(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// The places of the two digits of each byte.
constexpr std::array<size_t, Uuid::kBytes> kDigitPlaces = {0,  2,  4,  6,  9,  11, 14, 16,
                                                           19, 21, 24, 26, 28, 30, 32, 34};

constexpr std::array<std::array<char, 2>, 256> kHexPairs = [] {
  constexpr char kHexDigits[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs = {};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kHexDigits[i >> 4], kHexDigits[i & 0xF]};
  return pairs;
}();

// -1 for a character that is not a hex digit.
constexpr std::array<int8_t, 256> kHexValues = [] {
  std::array<int8_t, 256> values = {};
  values.fill(-1);
  for (int8_t i = 0; i < 10; ++i) values[static_cast<size_t>('0' + i)] = i;
  for (int8_t i = 0; i < 6; ++i) {
    values[static_cast<size_t>('a' + i)] = values[static_cast<size_t>('A' + i)] =
        static_cast<int8_t>(10 + i);
  }
  return values;
}();

int HexValue(char c) { return kHexValues[static_cast<unsigned char>(c)]; }

absl::Status NoRandomness() { return absl::UnavailableError("OpenSSL has no randomness"); }

absl::Status NotAUuid(std::string_view text, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not a UUID: ", ToAbsl(reason)));
}

// The first wrong one of 36 characters.
absl::Status WhatIsWrong(std::string_view text) {
  size_t i = 0;
  while (IsHyphenPlace(i) ? text[i] == '-' : HexValue(text[i]) >= 0) ++i;
  return NotAUuid(text,
                  absl::StrCat("character ", i + 1, ", ", Quoted(text.substr(i, 1)),
                               IsHyphenPlace(i) ? ", is not a hyphen" : ", is not a hex digit"));
}

}  // namespace

absl::StatusOr<Uuid> Uuid::NewV7() {
  timespec now;
  LOCUS_CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
  std::optional<uint64_t> random = RandomWord();
  if (!random) [[unlikely]]
    return NoRandomness();
  return uuid_v7::Assemble(process_order.Take(uuid_v7::MomentOf(now)), *random);
}

absl::StatusOr<Uuid> Uuid::NewV4() {
  std::optional<uint64_t> high = RandomWord();
  std::optional<uint64_t> low = RandomWord();
  if (!high || !low) [[unlikely]]
    return NoRandomness();
  return Uuid((*high & ~uint64_t{0xF000}) | 0x4000, *low >> 2 | uint64_t{0b10} << 62);
}

absl::StatusOr<Uuid> Uuid::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value of ", bytes.size(), " bytes is not a UUID: 16 are needed"));
  }
  return Uuid(LoadBigEndian64(bytes.data()), LoadBigEndian64(bytes.data() + 8));
}

absl::StatusOr<Uuid> Uuid::Parse(std::string_view text) {
  if (text.size() != kTextLength) {
    return NotAUuid(text, absl::StrCat("it has ", text.size(), " characters, not 36"));
  }
  std::array<char, kBytes> bytes;
  int wrong = 0;  // negative once a digit is none
  for (size_t i = 0; i < kBytes; ++i) {
    int high = HexValue(text[kDigitPlaces[i]]);
    int low = HexValue(text[kDigitPlaces[i] + 1]);
    wrong |= high | low;
    bytes[i] = static_cast<char>((high & 0xF) << 4 | (low & 0xF));
  }
  if (wrong < 0 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') {
    return WhatIsWrong(text);
  }
  return Uuid(LoadBigEndian64(bytes.data()), LoadBigEndian64(bytes.data() + 8));
}

std::optional<absl::Time> Uuid::time() const {
  if (version() != 7) return std::nullopt;
  return absl::FromUnixMillis(static_cast<int64_t>(high_ >> 16));
}

void Uuid::FormatTo(std::span<char, kTextLength> out) const {
  for (size_t i = 0; i < kBytes; ++i) {
    uint64_t word = i < 8 ? high_ : low_;
    const std::array<char, 2>& pair = kHexPairs[word >> (56 - i % 8 * 8) & 0xFF];
    out[kDigitPlaces[i]] = pair[0];
    out[kDigitPlaces[i] + 1] = pair[1];
  }
  out[8] = out[13] = out[18] = out[23] = '-';
}

std::string Uuid::ToString() const {
  std::string text(kTextLength, '\0');
  FormatTo(std::span<char, kTextLength>(text.data(), kTextLength));
  return text;
}

std::string Uuid::ToBytes() const {
  std::string bytes(kBytes, '\0');
  StoreBigEndian64(high_, bytes.data());
  StoreBigEndian64(low_, bytes.data() + 8);
  return bytes;
}

std::ostream& operator<<(std::ostream& out, const Uuid& uuid) { return out << uuid.ToString(); }

}  // namespace locus
