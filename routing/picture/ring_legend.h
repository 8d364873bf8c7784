// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_RING_LEGEND_H_
#define LOCUS_ROUTING_PICTURE_RING_LEGEND_H_

#include <cstddef>
#include <string>
#include <vector>

#include "locus/routing/routing_table.h"
#include "routing/picture/shard_fills.h"
#include "routing/picture/svg_page.h"

namespace locus::internal {

// A shard in the legend of a picture.
struct LegendEntry {
  const Shard* shard;
  std::string badge = {};    // "new", beside the name
  std::string figures = {};  // on the first line, such as "16,384 → 13,108 vnodes"
  std::string change = {};   // right of them: "-3,276"
  std::string more = {};     // on the second line: "25.00 → 20.00 %"
  // Bars, as parts 0..1 of the longest one: before and after, or one that is both.
  double before = 0;
  double after = 0;
  double portion = 0;  // by weight, where a line crosses the bars; 0: none
  size_t vnodes = 0;   // before the plan, for the sum of the shards that are left out
};

struct Legend {
  std::vector<LegendEntry> entries;  // in the order in which they are listed
  bool with_change = false;
};

// More entries are not listed; a line says how many and what they own.
inline constexpr size_t kMostListed = 256;

// How wide the legend will be, and whether it has bars: bars of many shards have no room.
double WidthOf(const Legend& legend);
bool HasBars(const Legend& legend);

// With its upper left corner at (left, top). Returns where it ends.
double PaintLegend(const Legend& legend, double left, double top, ShardFills& fills, SvgPage& page);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_RING_LEGEND_H_
