// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/ring_painter.h"
#include "routing/table/ring_runs.h"

namespace locus {
namespace {

std::string ShardsOf(const RoutingTable& table) {
  size_t shards = table.shards().size();
  return absl::StrCat(WithThousands(shards), shards == 1 ? " shard" : " shards");
}

void PaintTitle(const RoutingTable& table, RingPage& page) {
  size_t moving = 0;
  for (const MovingRun& run : MovingRunsOf(table)) moving += run.last - run.first + 1;
  PaintCenter(absl::StrCat("epoch ", table.epoch()), ShardsOf(table),
              moving == 0 ? "nothing moves" : WithThousands(moving) + " vnodes move", page);
}

LegendShape ShapeFor(size_t shards) {
  if (shards <= 6) return {1, shards, 480, 23, 15, 30, 5.5};
  if (shards <= 12) return {2, (shards + 1) / 2, 385, 23, 14, 20, 5.5};
  return {2, std::min<size_t>(8, (shards + 1) / 2), 385, 16.5, 12, 26, 5.5};
}

}  // namespace

std::string RingAsSvg(const RoutingTable& table) {
  RingPage page(table);
  PaintRing(table, MoveLabels::kShown, page);
  PaintTitle(table, page);

  std::map<uint32_t, size_t> owned = OwnedVnodesOf(table);
  std::vector<LegendEntry> entries;
  for (const Shard& shard : table.shards()) entries.push_back({&shard, owned.at(shard.id)});
  double end = PaintLegend(entries, ShapeFor(entries.size()), kRingCenterX, page);
  PaintNote(
      kRingCenterX, end + 16,
      table.moves().empty()
          ? "Clockwise from vnode 0 at the top."
          : "Clockwise from vnode 0 at the top. Hatched: moving to the shard of the outer band.",
      page);
  return page.Finish(800, 800, absl::StrCat("Routing table, epoch ", table.epoch()));
}

}  // namespace locus
