// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TEXT_STYLE_H_
#define LOCUS_ROUTING_TEXT_STYLE_H_

#include <cstddef>

namespace locus {

// What the place can show that a text table is printed to.
struct TextStyle {
  // The width of a line. Tables cut long names in their middle to fit; numbers are never cut, so a
  // table of very many columns may still be wider. 0: no limit, for files and pipes.
  size_t columns = 0;
  // Whether UTF-8 is shown. If not, only ASCII is printed: bars are drawn with '#', and other
  // characters of names are escaped as in JSON (\u8ba2).
  bool utf8 = true;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_TEXT_STYLE_H_
