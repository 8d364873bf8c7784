// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_PRINTABLE_TEXT_H_
#define LOCUS_ROUTING_TABLE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace locus::internal {

// Well-formed UTF-8 without control characters (U+0000..1F, U+7F..9F, line and paragraph
// separator) and without the code points that XML forbids (U+FFFE, U+FFFF): safe to print on one
// line, in JSON and in XML.
bool IsPrintableUtf8(std::string_view text);

// Why people could not read `text` as it is, or take it for another one; empty: they can. "it has
// control characters, or is not UTF-8", "it has U+202E, which is invisible or changes the
// direction".
std::string WhyUnreadable(std::string_view text);

// The following need text that IsPrintableUtf8 accepts.

// How many columns a terminal gives it: East Asian wide characters take two.
size_t ColumnsOf(std::string_view text);

// `text`, or as much of it as fits, with the character U+2026 (three dots) for the rest.
std::string CutToColumns(std::string_view text, size_t columns);

// `text`, or its beginning and its end with U+2026 between them, `columns` wide at the most: names
// that differ in a number at their end still differ. `utf8` false: two full stops instead.
std::string CutMiddle(std::string_view text, size_t columns, bool utf8);

// `text` with what is not ASCII escaped as in JSON: \u8ba2, above U+FFFF as two surrogates.
std::string ToAscii(std::string_view text);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_PRINTABLE_TEXT_H_
