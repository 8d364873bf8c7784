// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_NUMBER_TEXT_H_
#define LOCUS_SRC_NUMBER_PATTERN_NUMBER_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Which characters patterns and numbers may have, as locus/number_format.h defines them.
namespace locus::internal {

// Each byte is looked at, which the compiler vectorises.
inline bool IsPrintableAscii(std::string_view text) {
  unsigned char other = 0;
  for (char c : text) other |= static_cast<unsigned char>(c - ' ') > '~' - ' ';
  return other == 0;
}

// A character that no number may have.
struct RefusedCharacter {
  size_t position;        // in characters, from 1
  std::string character;  // "U+200B", or the quoted byte that is not UTF-8
  std::string reason;     // "is invisible ..."
};

// The first such character of `text`; nullopt: there is none, and `text` is valid UTF-8.
// Allocates only where it finds one.
std::optional<RefusedCharacter> FirstRefused(std::string_view text);

// The lowest such character of first..last.
std::optional<RefusedCharacter> FirstRefused(uint32_t first, uint32_t last);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_NUMBER_TEXT_H_
