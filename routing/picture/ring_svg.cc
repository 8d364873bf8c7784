// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/picture_notes.h"
#include "routing/picture/ring_legend.h"
#include "routing/picture/ring_painter.h"
#include "routing/table/ring_runs.h"

namespace locus {

using internal::MovingRun;
using internal::MovingRunsOf;
using internal::OwnedVnodesOf;
using internal::PortionPercent;
using internal::RingPlace;
using internal::ShardFills;
using internal::SvgPage;
using internal::WithThousands;

namespace {

constexpr double kMostDiameter = 1200;

// The shards with the most vnodes first.
internal::Legend LegendOf(const RoutingTable& table) {
  std::map<uint32_t, size_t> owned = OwnedVnodesOf(table);
  size_t most = 0;
  for (auto [shard, vnodes] : owned) most = std::max(most, vnodes);
  internal::Legend legend;
  for (const Shard& shard : table.shards()) {
    size_t vnodes = owned.at(shard.id);
    double part = static_cast<double>(vnodes) / static_cast<double>(most);
    legend.entries.push_back({.shard = &shard,
                              .figures = WithThousands(vnodes) + " vnodes",
                              .more = PortionPercent(vnodes) + " %",
                              .before = part,
                              .after = part,
                              .vnodes = vnodes});
  }
  std::ranges::stable_sort(legend.entries, std::greater<>(), &internal::LegendEntry::vnodes);
  return legend;
}

}  // namespace

std::string RingAsSvg(const RoutingTable& table) {
  size_t moving = 0;
  for (const MovingRun& run : MovingRunsOf(table)) moving += run.last - run.first + 1;
  std::string movement =
      moving == 0 ? "nothing moves" : internal::Counted(moving, " vnode moves", " vnodes move");
  internal::Legend legend = LegendOf(table);
  double width = WidthOf(legend);
  double diameter = std::min(width, kMostDiameter);

  SvgPage page;
  ShardFills fills(table, {});
  RingPlace place{width / 2, diameter / 2, diameter / 2};
  PaintRing(table, place, fills, page);
  PaintMoveProgress(table, place, page);
  PaintCenter({absl::StrCat("epoch ", table.epoch()),
               internal::Counted(table.shards().size(), " shard", " shards"), movement},
              place, page);
  double end = PaintLegend(legend, 0, diameter + 24, fills, page);
  PaintNotes({.moves = moving > 0, .several = fills.several_shown()}, 0, end + 6, page);
  return page.Finish(absl::StrCat("Routing table, epoch ", table.epoch()), fills.Definitions());
}

}  // namespace locus
