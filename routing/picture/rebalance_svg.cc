// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/ring_painter.h"
#include "routing/table/ring_runs.h"
#include "src/base/check.h"

namespace locus {
namespace {

constexpr int kWidth = 1200;
constexpr int kHeight = 800;
constexpr double kBeforeCenterX = 300;
constexpr double kAfterCenterX = 900;

// The table planned from, with what is planned beside what moves already. No vnode is in both.
RoutingTable WithPlannedMoves(const RebalancePlan& plan) {
  std::vector<VnodeMove> moves = plan.table.moves();
  for (const PlannedMove& move : plan.moves) moves.push_back({move.first, move.last, move.to, 0});
  absl::StatusOr<RoutingTable> table =
      RoutingTable::Make(plan.table.epoch(), plan.table.shards(), plan.table.ranges(),
                         std::move(moves), plan.table.table_id());
  LOCUS_CHECK(table.ok());
  return *std::move(table);
}

std::string Counted(size_t count, std::string_view one, std::string_view many) {
  return WithThousands(count) + std::string(count == 1 ? one : many);
}

void PaintTable(const RoutingTable& table, const std::map<uint32_t, size_t>& vnodes_of,
                const std::string& title, double center_x, RingPage& page) {
  size_t shards = 0;
  size_t biggest = 0;
  for (auto [id, vnodes] : vnodes_of) {
    shards += vnodes > 0;
    biggest = std::max(biggest, vnodes);
  }
  page.Append(absl::StrCat("<g transform=\"translate(", center_x - kRingCenterX, " 0)\">\n"));
  PaintRing(table, MoveLabels::kLeftOut, page);
  PaintCenter(title, Counted(shards, " shard", " shards"),
              absl::StrCat("biggest: ", SharePercent(biggest), " %"), page);
  page.Append("</g>\n");
}

LegendShape ShapeFor(size_t shards) {
  if (shards <= 6) return {1, shards, 680, 23, 15, 30, 12};
  if (shards <= 12) return {2, (shards + 1) / 2, 580, 23, 14, 24, 12};
  return {2, std::min<size_t>(8, (shards + 1) / 2), 580, 16.5, 12, 30, 12};
}

}  // namespace

std::string RebalanceAsSvg(const RebalancePlan& plan) {
  RingPage page(plan.table);
  RoutingTable before = WithPlannedMoves(plan);
  PaintTable(before, plan.vnodes_before, "before", kBeforeCenterX, page);
  PaintTable(AfterRebalance(plan), plan.vnodes_after, "after", kAfterCenterX, page);

  std::vector<LegendEntry> entries;
  for (const Shard& shard : plan.table.shards()) {
    entries.push_back({&shard, plan.vnodes_before.at(shard.id), plan.vnodes_after.at(shard.id)});
  }
  double end = PaintLegend(entries, ShapeFor(entries.size()), kWidth / 2.0, page);
  std::string note = "Clockwise from vnode 0 at the top. Planned: ";
  absl::StrAppend(&note, Counted(plan.moved_vnodes, " vnode in ", " vnodes in "),
                  Counted(plan.moves.size(), " move.", " moves."));
  if (!before.moves().empty()) note += " Hatched: moving to the shard of the outer band.";
  PaintNote(kWidth / 2.0, end + 16, std::move(note), page);
  return page.Finish(kWidth, kHeight,
                     absl::StrCat("Plan from routing table, epoch ", plan.table.epoch()));
}

}  // namespace locus
