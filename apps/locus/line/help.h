// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_HELP_H_
#define LOCUS_APPS_LOCUS_LINE_HELP_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace locus::cli {

// How wide the help is: COLUMNS, or the terminal's width, or 80; never below 40 nor above 100.
size_t HelpWidth();

// `text` in lines of at most `width` bytes, broken at spaces, each line after `indent` spaces. A
// longer word has a line of its own.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

// Terms to the left, their meanings to the right, wrapped. `widest`: of the terms of several tables
// that stand below each other.
std::string TermsTable(const std::vector<std::pair<std::string, std::string>>& terms, size_t width,
                       size_t widest = 0);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_HELP_H_
