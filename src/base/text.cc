// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

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

// The length of the UTF-8 character that `text` begins with, and its code point; 0: it begins with
// none (a stray or overlong byte, a surrogate, a character that is cut off).
size_t FirstCharacter(std::string_view text, uint32_t& code_point) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  uint32_t first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  code_point = first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point < kSmallest[size] || code_point > 0x10FFFF || surrogate ? 0 : size;
}

// Whether a terminal shows the character as itself and goes on as before. C1 controls start escape
// sequences; the others hide text or reverse its direction.
bool IsHarmless(uint32_t c) {
  bool control = c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029;
  bool invisible = c == 0xAD || (c >= 0x200B && c <= 0x200F) || (c >= 0x2060 && c <= 0x2064) ||
                   c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
  bool direction = c == 0x61C || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return !control && !invisible && !direction;
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
    if (size != 0 && IsHarmless(code_point)) {
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
  constexpr size_t kMaxShown = 64;
  std::string out = "\"";
  for (char c : text.substr(0, kMaxShown)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      AppendHexEscape(out, {&c, 1});
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

}  // namespace locus::internal
