// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_JSON_TEXT_H_
#define LOCUS_SRC_BASE_TEXT_JSON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/text/text.h"

namespace locus::internal {

// `text` as a JSON string, where nothing else of JSON is at hand: Printable, with its quotes.
inline std::string JsonQuoted(std::string_view text, size_t most = SIZE_MAX) {
  std::string out = "\"";
  for (const char c : Printable(text, most)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_JSON_TEXT_H_
