// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_TEXT_H_
#define LOCUS_SRC_BASE_TEXT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"

// Text forms that several values share. No errors here: the caller knows the meaning of the text
// and makes the message.

namespace locus::internal {

// For calling Abseil, whose string_view is a type of its own in this build.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

// `text` between double quotes, for a message: at most 64 bytes of it, then "..."; bytes that are
// not printable ASCII become \xHH.
std::string Quoted(std::string_view text);

// The same for text that has letters of any script: visible characters of UTF-8 stay unchanged.
std::string QuotedUtf8(std::string_view text);

// Text of a server, a file or another program, made safe for a message and a terminal: control
// characters, invisible and direction-changing characters and invalid UTF-8 become \xHH; other
// UTF-8 stays unchanged. At most `most` bytes of `text`, then "...".
constexpr size_t kMostForeignBytes = 512;
std::string Printable(std::string_view text, size_t most = kMostForeignBytes);

// Canonical decimal: digits only, no leading zeros, zero is "0", at most `max`.
std::optional<uint64_t> ParseDecimal(std::string_view text, uint64_t max);

// `text` as hex digits of either case, as many as it has, at most 32.
std::optional<absl::uint128> ParseHex(std::string_view text);

// The number as 2 * bytes.size() lower-case hex digits.
std::string HexOf(std::string_view bytes);

inline void StoreBigEndian64(uint64_t value, char* out) {
  value = __builtin_bswap64(value);
  __builtin_memcpy(out, &value, sizeof value);
}

inline uint64_t LoadBigEndian64(const char* in) {
  uint64_t value;
  __builtin_memcpy(&value, in, sizeof value);
  return __builtin_bswap64(value);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "locus is built for little-endian only");

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_TEXT_H_
