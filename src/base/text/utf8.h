// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_UTF8_H_
#define LOCUS_SRC_BASE_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// UTF-8 as RFC 3629 defines it: a character is a Unicode code point, which is neither a surrogate
// nor written longer than needed. Nothing is normalised.
namespace locus::internal {

constexpr uint32_t kMaxCodePoint = 0x10FFFF;

// The length in bytes of the character that `text` begins with, and its code point. 0: it begins
// with none (a stray or overlong byte, a surrogate, a character that is cut off). `text` is not
// empty.
size_t FirstCharacter(std::string_view text, uint32_t& code_point);

// How many bytes the character takes: 1 to 4.
constexpr size_t BytesOf(uint32_t code_point) {
  return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

// The bytes that begin a character. Of valid UTF-8: how many characters `text` has.
size_t CharactersIn(std::string_view text);
// The bytes of the first `characters` of `text`, which is valid UTF-8; npos: it has less.
size_t PrefixBytes(std::string_view text, size_t characters);
// The same for the last ones.
size_t SuffixBytes(std::string_view text, size_t characters);

// The lowest code point of first..last that no reader would see or that is not a character. By the
// general categories and properties of Unicode 14: controls (Cc), format characters (Cf), which
// hide or reverse text, line and paragraph separators (Zl, Zp), Default_Ignorable_Code_Point,
// surrogates and noncharacters.
std::optional<uint32_t> FirstInvisible(uint32_t first, uint32_t last);
inline bool IsInvisible(uint32_t code_point) {
  return FirstInvisible(code_point, code_point).has_value();
}
// The same for spaces other than U+0020: the category Zs, and U+2800, a blank of Braille.
std::optional<uint32_t> FirstOtherSpace(uint32_t first, uint32_t last);

// The first character of `text`, which is valid UTF-8, that normal form C (NFC) of Unicode 14
// writes differently: U+0301 after "e", whose composed form is U+00E9. Such a text looks the same
// as another one with other bytes.
std::optional<uint32_t> FirstNotComposed(std::string_view text);
// INVALID_ARGUMENT, "WHAT "text" has ...", if there is such a character. In a text that is not
// valid UTF-8, only the part before the first wrong byte is checked.
absl::Status CheckComposed(std::string_view what, std::string_view text);
// The same for the name of a counter, whose numbers must not begin again under the other text.
absl::Status CheckCounterName(std::string_view what, std::string_view text);

// "U+00E9".
std::string CodePointName(uint32_t code_point);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_UTF8_H_
