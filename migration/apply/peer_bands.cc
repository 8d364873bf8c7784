// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/peer_bands.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/text/text.h"

namespace locus::internal {

absl::Status CheckRanges(std::string_view option, const std::vector<FencedRange>& ranges) {
  if (ranges.empty() || ranges.size() > kMostRanges) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(option), " has ", ranges.size(),
                                                   " ranges; it must have 1 to ", kMostRanges));
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const FencedRange& range = ranges[i];
    const bool ascends = i == 0 || range.lo > ranges[i - 1].hi;
    if (ascends && range.lo <= range.hi && range.hi <= 65535) continue;
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(option), " has ", range.lo, "-", range.hi,
                                                   "; ranges must ascend, not overlap, and end by"
                                                   " 65535"));
  }
  return absl::OkStatus();
}

std::optional<size_t> RangeOf(const std::vector<FencedRange>& ranges, uint32_t gene) {
  auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), gene,
                       [](uint32_t vnode, const FencedRange& range) { return vnode < range.lo; });
  if (behind == ranges.begin() || (behind - 1)->hi < gene) return std::nullopt;
  return static_cast<size_t>(behind - 1 - ranges.begin());
}

std::optional<size_t> RangeAt(const std::vector<FencedRange>& ranges, uint64_t lo, uint64_t hi) {
  if (lo > 65535) return std::nullopt;
  auto range = RangeOf(ranges, static_cast<uint32_t>(lo));
  const bool exact = range && ranges[*range].lo == lo && ranges[*range].hi == hi;
  return exact ? range : std::nullopt;
}

std::string BandsText(const std::vector<FencedRange>& ranges, const Bands& bands) {
  std::vector<std::string> parts;
  for (size_t i = 0, end = 0; i < bands.size(); i = end) {
    while (end < bands.size() && bands[end] == bands[i]) ++end;
    parts.push_back(absl::StrCat("[", ranges[i].lo, ",", ranges[end - 1].hi, ",", bands[i].own_lo,
                                 ",", bands[i].own_hi, "]"));
  }
  return absl::StrCat("[", absl::StrJoin(parts, ","), "]");
}

absl::StatusOr<Bands> BandsIn(std::string_view text, const std::vector<FencedRange>& ranges) {
  Bands bands;
  absl::string_view rest = ToAbsl(text);
  bool well_formed = absl::ConsumePrefix(&rest, "[[") && absl::ConsumeSuffix(&rest, "]]");
  for (absl::string_view part : absl::StrSplit(rest, "],[")) {
    std::array<uint64_t, 4> numbers = {};
    const std::vector<std::string> words = absl::StrSplit(part, ',');
    for (size_t i = 0; i < 4 && words.size() == 4; ++i) {
      const auto number = ParseDecimal(words[i], i < 2 ? 65535 : kCohorts);
      well_formed = well_formed && number;
      numbers[i] = number.value_or(0);
    }
    well_formed = well_formed && words.size() == 4 && bands.size() < ranges.size() &&
                  numbers[0] == ranges[bands.size()].lo && numbers[2] <= numbers[3];
    if (!well_formed) break;
    while (bands.size() < ranges.size() && ranges[bands.size()].hi <= numbers[1]) {
      bands.push_back({static_cast<uint32_t>(numbers[2]), static_cast<uint32_t>(numbers[3])});
    }
    well_formed = !bands.empty() && ranges[bands.size() - 1].hi == numbers[1];
  }
  if (well_formed && bands.size() == ranges.size()) return bands;
  return absl::DataLossError(absl::StrCat("the bands ", Quoted(text), " are not those of the ",
                                          ranges.size(), " ranges of vnodes that move"));
}

}  // namespace locus::internal
