// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/suggest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

constexpr size_t kShortest = 3;  // any word is near a shorter one
constexpr size_t kLongest = 64;  // a longer word is a value in the wrong place, not a typing error

// The Damerau-Levenshtein distance in its restricted form: no text between two swapped letters.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      size_t replaced = edits[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() < kShortest || word.size() > kLongest) return "";
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& each : known) {
    // What was typed may be the beginning of a word: --most for --most-per-shard.
    bool begins = word.size() > 3 && each.starts_with(word);
    size_t distance = begins ? 1 : Distance(word, each);
    if (distance >= least) continue;
    least = distance;
    nearest = &each;
  }
  return nearest == nullptr ? "" : absl::StrCat("; did you mean ", Quoted(*nearest), "?");
}

}  // namespace locus::cli
