// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/number_text.h"

#include <algorithm>

#include "src/base/text/text.h"
#include "src/base/text/utf8.h"

namespace locus::internal {
namespace {

std::string ReasonOf(uint32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return "is a control character";
  if ((c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF) || (c >= 0xD800 && c <= 0xDFFF)) {
    return "is not a character";
  }
  return IsInvisible(c) ? "is invisible or a format character" : "is a space other than U+0020";
}

}  // namespace

std::optional<RefusedCharacter> FirstRefused(std::string_view text) {
  if (IsPrintableAscii(text)) return std::nullopt;
  for (size_t position = 1; !text.empty(); ++position) {
    uint32_t c = 0;
    size_t size = FirstCharacter(text, c);
    if (size == 0) return RefusedCharacter{position, Quoted(text.substr(0, 1)), "is not UTF-8"};
    if (std::optional<RefusedCharacter> refused = FirstRefused(c, c)) {
      refused->position = position;
      return refused;
    }
    text.remove_prefix(size);
  }
  return std::nullopt;
}

std::optional<RefusedCharacter> FirstRefused(uint32_t first, uint32_t last) {
  std::optional<uint32_t> invisible = FirstInvisible(first, last);
  std::optional<uint32_t> space = FirstOtherSpace(first, last);
  if (!invisible && !space) return std::nullopt;
  uint32_t c = std::min(invisible.value_or(kMaxCodePoint), space.value_or(kMaxCodePoint));
  return RefusedCharacter{1, CodePointName(c), ReasonOf(c)};
}

}  // namespace locus::internal
