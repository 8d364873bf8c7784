// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/text.h"

#include "src/base/text/utf8.h"

namespace locus::internal {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendHexEscape(std::string& out, std::string_view bytes) {
  for (char c : bytes) {
    out += "\\x";
    out += kHexDigits[static_cast<unsigned char>(c) >> 4];
    out += kHexDigits[c & 0xF];
  }
}

constexpr size_t kMaxQuoted = 64;

// `text` between double quotes, at most `most` bytes of it; `shown` returns the length of the
// rest's first character if that is shown unchanged, otherwise 0.
template <typename Shown>
std::string QuotedIf(std::string_view text, size_t most, Shown shown) {
  bool cut = text.size() > most;
  text = text.substr(0, most);
  std::string out = "\"";
  while (!text.empty()) {
    size_t size = shown(text);
    std::string_view character = text.substr(0, size == 0 ? 1 : size);
    if (text[0] == '"' || text[0] == '\\') {
      out += '\\';
      out += text[0];
    } else if (size != 0) {
      out += character;
    } else {
      AppendHexEscape(out, character);
    }
    text.remove_prefix(character.size());
  }
  out += cut ? "...\"" : "\"";
  return out;
}

}  // namespace

std::string Printable(std::string_view text, size_t most) {
  std::string out;
  bool cut = text.size() > most;
  text = text.substr(0, most);
  while (!text.empty()) {
    uint32_t code_point = 0;
    size_t size = FirstCharacter(text, code_point);
    // A character that the limit cut is dropped, not shown as a broken one.
    if (size == 0 && cut && text.size() < 4 && static_cast<unsigned char>(text[0]) >= 0xC0) break;
    std::string_view character = text.substr(0, size == 0 ? 1 : size);
    if (size != 0 && !IsInvisible(code_point)) {
      out += character;
    } else {
      AppendHexEscape(out, character);
    }
    text.remove_prefix(character.size());
  }
  if (cut) out += "...";
  return out;
}

std::string Quoted(std::string_view text) {
  return QuotedIf(text, kMaxQuoted, [](std::string_view rest) -> size_t {
    return rest[0] >= ' ' && rest[0] <= '~' ? 1 : 0;
  });
}

std::string QuotedUtf8(std::string_view text) {
  // A character that the limit would cut is left out.
  size_t most = kMaxQuoted;
  auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (text.size() > kMaxQuoted && most + 3 > kMaxQuoted && continues(most)) --most;
  return QuotedIf(text, most, [](std::string_view rest) -> size_t {
    uint32_t c = 0;
    size_t size = FirstCharacter(rest, c);
    return size == 0 || IsInvisible(c) || FirstOtherSpace(c, c) ? 0 : size;
  });
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

}  // namespace locus::internal
