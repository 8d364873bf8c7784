// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

namespace locus {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxShown = 64;
  std::string out = "\"";
  for (char c : text.substr(0, kMaxShown)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += "\\x";
      out += kHexDigits[static_cast<unsigned char>(c) >> 4];
      out += kHexDigits[c & 0xF];
    }
  }
  out += text.size() > kMaxShown ? "...\"" : "\"";
  return out;
}

std::optional<uint64_t> ParseDecimal(std::string_view text, uint64_t max) {
  if (text.empty() || text.size() > 20 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    uint64_t digit = static_cast<uint64_t>(c - '0');
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value) ||
        value > max) {
      return std::nullopt;
    }
  }
  return value;
}

std::optional<absl::uint128> ParseHex(std::string_view text) {
  if (text.empty() || text.size() > 32) return std::nullopt;
  absl::uint128 value = 0;
  for (char c : text) {
    int digit = HexValue(c);
    if (digit < 0) return std::nullopt;
    value = value << 4 | absl::uint128(static_cast<uint64_t>(digit));
  }
  return value;
}

std::string HexOf(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (char c : bytes) {
    out += kHexDigits[static_cast<unsigned char>(c) >> 4];
    out += kHexDigits[c & 0xF];
  }
  return out;
}

}  // namespace locus
