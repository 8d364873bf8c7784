// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/picture_notes.h"
#include "routing/picture/plan_figures.h"
#include "routing/picture/ring_legend.h"
#include "routing/picture/ring_painter.h"
#include "routing/table/ring_runs.h"
#include "src/base/os/check.h"

namespace locus {

using internal::AsPercent;
using internal::Counted;
using internal::PortionPercent;
using internal::RingPlace;
using internal::ShardFills;
using internal::SvgPage;
using internal::WithThousands;

namespace {

constexpr double kBetweenRings = 40;
constexpr double kHeader = 52;

// The table planned from, with the planned moves beside those under way. No vnode is in both.
RoutingTable WithPlannedMoves(const RebalancePlan& plan) {
  std::vector<VnodeMove> moves = plan.table.moves();
  for (const PlannedMove& move : plan.moves) moves.push_back({move.first, move.last, move.to, 0});
  absl::StatusOr<RoutingTable> table = RoutingTable::Make(plan.table.epoch(), plan.table.shards(),
                                                          plan.table.ranges(), std::move(moves));
  LOCUS_CHECK(table.ok());
  return *std::move(table);
}

// Shards that get their first vnodes by the plan.
std::set<uint32_t> NewShards(const RebalancePlan& plan) {
  std::set<uint32_t> added;
  for (auto [id, vnodes] : plan.vnodes_before) {
    if (vnodes == 0 && plan.vnodes_after.at(id) > 0) added.insert(id);
  }
  return added;
}

std::string Arrow(const std::string& before, const std::string& after) {
  return before + " \xE2\x86\x92 " + after;
}

// The compared quantity: load where load was planned, else vnodes, as parts of all.
struct Parts {
  double before;
  double after;
};
Parts PartsOf(const RebalancePlan& plan, const internal::LoadPortions& portions, bool by_load,
              uint32_t id) {
  if (by_load) return {portions.before.at(id), portions.after.at(id)};
  return {static_cast<double>(plan.vnodes_before.at(id)) / ShardGene::kCount,
          static_cast<double>(plan.vnodes_after.at(id)) / ShardGene::kCount};
}

internal::LegendEntry EntryOf(const RebalancePlan& plan, const Shard& shard, const Parts& parts,
                              bool by_load) {
  size_t before = plan.vnodes_before.at(shard.id);
  size_t after = plan.vnodes_after.at(shard.id);
  internal::LegendEntry entry{.shard = &shard, .vnodes = before};
  if (before == 0 && after > 0) entry.badge = "new";
  if (before > 0 && after == 0) entry.badge = "gives all";
  std::string vnodes = Arrow(WithThousands(before), WithThousands(after));
  std::string percent =
      Arrow(internal::Percent(parts.before), internal::Percent(parts.after)) + " %";
  if (by_load) {
    entry.figures = percent;
    entry.more = vnodes + " vnodes";
    auto change = std::llround((parts.after - parts.before) * 10000);
    entry.change = absl::StrCat(change > 0   ? "+"
                                : change < 0 ? "-"
                                             : "",
                                AsPercent(static_cast<uint64_t>(std::llabs(change))));
  } else {
    entry.figures = vnodes;
    entry.more = percent;
    entry.change = internal::SignedDifference(before, after);
  }
  return entry;
}

// The shards that change most first.
internal::Legend LegendOf(const RebalancePlan& plan, std::span<const double> load) {
  bool by_load = !load.empty();
  internal::LoadPortions portions = internal::LoadPortionsOf(plan, load);
  std::vector<std::pair<double, const Shard*>> ranked;
  double weights = 0;
  for (const Shard& shard : plan.table.shards()) weights += shard.weight;
  double most = 0;
  for (const Shard& shard : plan.table.shards()) {
    Parts parts = PartsOf(plan, portions, by_load, shard.id);
    ranked.emplace_back(std::abs(parts.after - parts.before), &shard);
    most = std::max({most, parts.before, parts.after, shard.weight / weights});
  }
  std::ranges::stable_sort(ranked, std::greater<>(), [](const auto& entry) { return entry.first; });
  internal::Legend legend;
  legend.with_change = true;
  for (auto [change, shard] : ranked) {
    Parts parts = PartsOf(plan, portions, by_load, shard->id);
    internal::LegendEntry entry = EntryOf(plan, *shard, parts, by_load);
    entry.before = parts.before / most;
    entry.after = parts.after / most;
    entry.portion = shard->weight / weights / most;
    legend.entries.push_back(std::move(entry));
  }
  return legend;
}

std::string Biggest(const std::map<uint32_t, size_t>& vnodes_of) {
  size_t biggest = 0;
  for (auto [id, vnodes] : vnodes_of) biggest = std::max(biggest, vnodes);
  return absl::StrCat("biggest: ", PortionPercent(biggest), " %");
}

std::string Owning(const std::map<uint32_t, size_t>& vnodes_of) {
  auto owning = std::ranges::count_if(vnodes_of, [](auto entry) { return entry.second > 0; });
  return Counted(static_cast<size_t>(owning), " shard", " shards");
}

std::vector<std::string> CenterLines(const RebalancePlan& plan, bool after) {
  const auto& vnodes = after ? plan.vnodes_after : plan.vnodes_before;
  std::vector<std::string> lines = {after ? "after" : "before", Owning(vnodes), Biggest(vnodes)};
  const std::optional<double>& peak = after ? plan.peak_after : plan.peak_before;
  if (peak) {
    lines.back() = absl::StrCat("peak: ", internal::WithThousandths(*peak), " x its portion");
  }
  if (!after) return lines;
  std::set<uint32_t> added = NewShards(plan);
  constexpr size_t kNamed = 3;
  size_t named = 0;
  for (uint32_t id : added) {
    if (named++ == kNamed) break;
    lines.push_back(absl::StrCat("new: ", id, " ", plan.table.FindShard(id)->name));
  }
  if (added.size() > kNamed) lines.push_back(absl::StrCat("and ", added.size() - kNamed, " more"));
  return lines;
}

void PaintHeader(const RebalancePlan& plan, double top, SvgPage& page) {
  page.Text(0, top + 18, {.size = 20, .bold = true},
            absl::StrCat("Plan from epoch ", plan.table.epoch()));
  std::string moved = absl::StrCat(Counted(plan.moved_vnodes, " vnode moves", " vnodes move"), " (",
                                   PortionPercent(plan.moved_vnodes), " %) in ",
                                   Counted(plan.moves.size(), " move", " moves"));
  if (plan.peak_before)
    absl::StrAppend(&moved, ", ", internal::Percent(plan.moved_load), " % of the load");
  page.Text(0, top + 38, {13, internal::Anchor::kStart, false, "#444"}, moved);
}

}  // namespace

std::string RebalanceAsSvg(const RebalancePlan& plan, std::span<const double> load) {
  internal::Legend legend = LegendOf(plan, load);
  double width = WidthOf(legend);
  double radius = (width - kBetweenRings) / 4;
  RoutingTable before = WithPlannedMoves(plan);

  SvgPage page;
  ShardFills fills(plan.table, NewShards(plan));
  internal::PictureNotes notes{.moves = !before.moves().empty(), .bars = HasBars(legend)};
  PaintHeader(plan, 0, page);
  for (bool after : {false, true}) {
    RingPlace place{after ? width - radius : radius, kHeader + radius, radius, !load.empty()};
    PaintRing(after ? AfterRebalance(plan) : before, place, fills, page);
    if (!load.empty()) notes.load_most = PaintLoad(load, place, page);
    PaintCenter(CenterLines(plan, after), place, page);
  }
  double end = PaintLegend(legend, 0, kHeader + 2 * radius + 24, fills, page);
  notes.several = fills.several_shown();
  PaintNotes(notes, 0, end + 6, page);
  return page.Finish(absl::StrCat("Plan from routing table, epoch ", plan.table.epoch()),
                     fills.Definitions());
}

}  // namespace locus
