// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_TAKEN_RANGES_H_
#define LOCUS_TESTS_SUPPORT_TAKEN_RANGES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace locus {

// Numbers that one call took, both included, and when it was under way, by one clock of any unit.
struct TakenRange {
  int64_t began = 0;
  int64_t ended = 0;
  uint64_t first = 0;
  uint64_t last = 0;
};

// The fault in the ranges of one counter; empty: none. Each call has numbers of its own, and a call
// that began after another one had ended has higher ones.
inline std::string FlawOf(std::vector<TakenRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TakenRange& a, const TakenRange& b) { return a.first < b.first; });
  int64_t latest_begin = INT64_MIN;  // of calls that took lower numbers
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0 && ranges[i].first <= ranges[i - 1].last) {
      return absl::StrCat(ranges[i].first, " came twice");
    }
    if (latest_begin > ranges[i].ended) {
      return absl::StrCat("a call that began after ", ranges[i].first, " was taken got less");
    }
    latest_begin = std::max(latest_begin, ranges[i].began);
  }
  return "";
}

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_TAKEN_RANGES_H_
