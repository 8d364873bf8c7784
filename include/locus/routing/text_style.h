// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TEXT_STYLE_H_
#define LOCUS_ROUTING_TEXT_STYLE_H_

#include <cstddef>

#include "locus/internal/cxx20.h"

namespace locus {

// The abilities of the output device of a text table.
struct TextStyle {
  // The width of a line. Tables shorten long names in the middle to fit, but not so far that two
  // look the same. Numbers are never shortened. So a table may still be wider. 0: no limit, for
  // files and
  // pipes.
  size_t columns = 0;
  // Whether the device shows UTF-8. If not, only ASCII is printed: bars are drawn with '#', and
  // other characters of names are escaped as in JSON (\u8ba2).
  bool utf8 = true;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_TEXT_STYLE_H_
