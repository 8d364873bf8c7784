// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PRINTABLE_TEXT_H_
#define LOCUS_ROUTING_PRINTABLE_TEXT_H_

#include <string_view>

namespace locus {

// Well-formed UTF-8 without control characters (U+0000..1F, U+7F..9F, line and paragraph
// separator) and without the code points that XML forbids (U+FFFE, U+FFFF): safe to print on one
// line, in JSON and in XML.
bool IsPrintableUtf8(std::string_view text);

}  // namespace locus

#endif  // LOCUS_ROUTING_PRINTABLE_TEXT_H_
