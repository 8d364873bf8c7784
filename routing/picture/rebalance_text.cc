// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/plan_figures.h"
#include "routing/picture/text_grid.h"
#include "routing/table/printable_text.h"
#include "routing/table/ring_runs.h"

namespace locus {

using internal::Align;
using internal::CutMiddle;
using internal::LoadPortions;
using internal::LoadPortionsOf;
using internal::Percent;
using internal::PortionPercent;
using internal::SignedDifference;
using internal::TextGrid;
using internal::ToAscii;
using internal::WithThousands;
using internal::WithThousandths;

namespace {

using Vnodes = std::map<uint32_t, size_t>;  // by shard id

void AppendShards(const RebalancePlan& plan, std::span<const double> load, TextStyle style,
                  std::string& out) {
  std::vector<Align> alignments(load.empty() ? 8 : 10, Align::kRight);
  alignments[1] = Align::kLeft;
  TextGrid grid(alignments);
  std::vector<std::string> row = {"id",        "name",  "weight",    "vnodes",
                                  "portion %", "after", "portion %", "change"};
  if (!load.empty()) row.insert(row.end(), {"load %", "after"});
  grid.Add(row);
  LoadPortions portions = LoadPortionsOf(plan, load);
  for (const Shard& shard : plan.table.shards()) {
    size_t before = plan.vnodes_before.at(shard.id);
    size_t after = plan.vnodes_after.at(shard.id);
    row = {absl::StrCat(shard.id),     shard.name,
           absl::StrCat(shard.weight), WithThousands(before),
           PortionPercent(before),     WithThousands(after),
           PortionPercent(after),      SignedDifference(before, after)};
    if (!load.empty()) {
      row.insert(row.end(),
                 {Percent(portions.before[shard.id]), Percent(portions.after[shard.id])});
    }
    grid.Add(row);
  }
  row = {"",       "total",
         "",       WithThousands(ShardGene::kCount),
         "100.00", WithThousands(ShardGene::kCount),
         "100.00", ""};
  if (!load.empty()) row.insert(row.end(), {"100.00", "100.00"});
  grid.Add(row);
  grid.AppendTo(out, style);
}

std::string BiggestOf(const RebalancePlan& plan, const Vnodes& vnodes, TextStyle style) {
  auto biggest =
      std::ranges::max_element(vnodes, {}, [](const auto& entry) { return entry.second; });
  std::string name = plan.table.FindShard(biggest->first)->name;
  if (!style.utf8) name = ToAscii(name);
  constexpr size_t kOtherColumns = 36;  // of the line
  if (style.columns > 0) {
    size_t left = std::max(style.columns, kOtherColumns + 8) - kOtherColumns;
    name = CutMiddle(name, left, style.utf8);
  }
  return absl::StrCat(name, " with ", PortionPercent(biggest->second), " %");
}

void AppendSums(const RebalancePlan& plan, TextStyle style, std::string& out) {
  absl::StrAppend(&out, "\n", WithThousands(plan.moved_vnodes),
                  plan.moved_vnodes == 1 ? " vnode moves" : " vnodes move", ", ",
                  PortionPercent(plan.moved_vnodes), " %, in ", WithThousands(plan.moves.size()),
                  plan.moves.size() == 1 ? " move\n" : " moves\n");
  absl::StrAppend(&out, "largest shard before: ", BiggestOf(plan, plan.vnodes_before, style),
                  "\nlargest shard after: ", BiggestOf(plan, plan.vnodes_after, style), "\n");
  if (!plan.peak_before || !plan.peak_after) return;
  absl::StrAppend(&out, Percent(plan.moved_load), " % of the load moves\n",
                  "most loaded shard over its portion: before ", WithThousandths(*plan.peak_before),
                  ", after ", WithThousandths(*plan.peak_after), "\n");
}

// How much goes from which shard to which.
void AppendFlows(const RebalancePlan& plan, TextStyle style, std::string& out) {
  struct Flow {
    size_t vnodes = 0;
    size_t moves = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Flow> flows;
  for (const PlannedMove& move : plan.moves) {
    Flow& flow = flows[{move.from, move.to}];
    flow.vnodes += size_t{move.last} - move.first + 1;
    ++flow.moves;
  }
  if (flows.empty()) return;
  TextGrid grid({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  grid.Add({"from", "to", "vnodes", "moves"});
  for (const auto& [ends, flow] : flows) {
    grid.Add({plan.table.FindShard(ends.first)->name, plan.table.FindShard(ends.second)->name,
              WithThousands(flow.vnodes), WithThousands(flow.moves)});
  }
  out += '\n';
  grid.AppendTo(out, style);
}

}  // namespace

std::string RebalanceAsText(const RebalancePlan& plan, std::span<const double> load,
                            TextStyle style) {
  std::string out = absl::StrCat("plan from epoch ", plan.table.epoch(), "\n\n");
  AppendShards(plan, load, style, out);
  AppendSums(plan, style, out);
  AppendFlows(plan, style, out);
  return out;
}

}  // namespace locus
