// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_COMPLETE_H_
#define LOCUS_APPS_LOCUS_LINE_COMPLETE_H_

#include <string>
#include <string_view>
#include <vector>

#include "apps/locus/line/option.h"

// What a shell offers while a command line is being typed. The scripts in completion/ call
// `locus complete WORD...` with the words after "locus", the last of which is being typed, and read
// one offer a line: the word, then maybe a tab and what it means. ":files PREFIX" asks the shell to
// offer the names of files for what follows PREFIX in the word.
namespace locus::cli {

// The first word after a verb for which VerbLine::Parse prints offers instead of reading the line.
inline constexpr std::string_view kCompletionMarker =
    "\x01"
    "complete";

// Appends the offers for a value of `option` that begins with `typed`. `before`: what stands before
// the value in its word, as "--store=". `table`: the routing table that the line names, for the
// names of its shards; "": none.
void OfferValues(const Option& option, std::string_view before, std::string_view typed,
                 const std::string& table, std::string& out);

// Appends one offer if it begins with `typed`.
void OfferWord(std::string_view typed, std::string_view word, std::string_view meaning,
               std::string& out);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_COMPLETE_H_
