// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/shard_fills.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "routing/picture/ring_bands.h"

namespace locus::internal {

namespace {

constexpr size_t kHues = 6;
constexpr size_t kSteps = 3;
// By hue: light, middle, darker. Lightness (CIE L*) about 90, 78 and 65, black text stays legible.
constexpr const char* kColours[kHues][kSteps] = {
    {"#d3e3f1", "#a9c6e0", "#7fa6cc"}, {"#f0e6cc", "#ddc99b", "#bfa569"},
    {"#d5e8d8", "#a9cfb0", "#7db08a"}, {"#e8dceb", "#cdb4d4", "#a98bb4"},
    {"#e8e8e8", "#c8c8c8", "#a2a2a2"}, {"#f3dad3", "#e0b3a6", "#c48675"},
};
constexpr const char* kDarkColours[kHues] = {"#1f4e79", "#6b3f17", "#2f5d3a",
                                             "#5b2e5e", "#3a3a3a", "#7a2b2b"};
// Within 8 x 8, one for each hue. None is slanted: slanted lines mean a move.
constexpr const char* kTextures[kHues] = {
    "",
    "<path d=\"M0 3h8v1h-8z\"/>",
    "<circle cx=\"2\" cy=\"2\" r=\"1.1\"/><circle cx=\"6\" cy=\"6\" r=\"1.1\"/>",
    "<path d=\"M3 0h1v8h-1z\"/>",
    "<path d=\"M0 3h8v1h-8zM3 0h1v8h-1z\"/>",
    "<path d=\"M2 2h4v4h-4z\"/>",
};
constexpr char kMoving[] =
    "<pattern id=\"moving\" width=\"9\" height=\"9\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><path fill=\"#fff\" d=\"M0 0h4v9h-4z\"/>"
    "<path fill=\"#222\" d=\"M1 0h2v9h-2z\"/></pattern>\n";
constexpr char kSeveral[] =
    "<pattern id=\"several\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
    "<rect width=\"4\" height=\"4\" fill=\"#fff\"/>"
    "<path fill=\"#777\" d=\"M0 0h2v2h-2zM2 2h2v2h-2z\"/></pattern>\n";

std::string Name(bool dark, size_t number) { return absl::StrCat(dark ? "dark" : "fill", number); }

}  // namespace

ShardFills::ShardFills(const RoutingTable& table, const std::set<uint32_t>& dark) : dark_(dark) {
  size_t calm = 0;
  size_t strong = 0;
  for (const Shard& shard : table.shards()) {
    index_of_[shard.id] = dark.contains(shard.id) ? strong++ % kHues : calm++ % (kHues * kSteps);
  }
}

std::string ShardFills::Of(uint32_t shard) {
  if (shard == kSeveralShards) {
    several_shown_ = true;
    return "url(#several)";
  }
  std::pair fill(IsDark(shard), index_of_.at(shard));
  used_.insert(fill);
  return absl::StrCat("url(#", Name(fill.first, fill.second), ")");
}

std::string ShardFills::Definitions() const {
  std::string out = kMoving;
  if (several_shown_) out += kSeveral;
  for (auto [dark, number] : used_) {
    size_t hue = number % kHues;
    // Steps differ from one shard to the next, and each turn of the hues begins with another one.
    const char* colour =
        dark ? kDarkColours[hue] : kColours[hue][(number + number / kHues) % kSteps];
    absl::StrAppend(&out, "<pattern id=\"", Name(dark, number),
                    "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
                    "<rect width=\"8\" height=\"8\" fill=\"",
                    colour, "\"/>");
    if (kTextures[hue][0] != '\0') {
      absl::StrAppend(&out, "<g fill=\"", dark ? "#fff" : "#000", "\" opacity=\".3\">",
                      kTextures[hue], "</g>");
    }
    out += "</pattern>\n";
  }
  return out;
}

}  // namespace locus::internal
