// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_SUGGEST_H_
#define LOCUS_APPS_LOCUS_LINE_SUGGEST_H_

#include <string>
#include <string_view>
#include <vector>

namespace locus::cli {

// "; did you mean "--store"?" with the word of `known` that is nearest to a mistyped one, or ""
// where none is near: at most one edit in three letters, an edit being a letter added, left out,
// replaced, or swapped with its neighbour.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_SUGGEST_H_
