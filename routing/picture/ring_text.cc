// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/text_grid.h"
#include "routing/table/ring_runs.h"

namespace locus {

using internal::Align;
using internal::MovingRun;
using internal::MovingRunsOf;
using internal::OwnedVnodesOf;
using internal::PortionPercent;
using internal::TextGrid;
using internal::WithThousands;

namespace {

void AppendShards(const RoutingTable& table, TextStyle style, std::string& out) {
  std::map<uint32_t, size_t> owned = OwnedVnodesOf(table);
  size_t most = 0;
  for (auto [shard, vnodes] : owned) most = std::max(most, vnodes);
  TextGrid grid({Align::kRight, Align::kLeft, Align::kRight, Align::kRight});
  grid.Add({"id", "name", "vnodes", "portion %"});
  for (const Shard& shard : table.shards()) {
    size_t vnodes = owned.at(shard.id);
    grid.AddWithBar(
        {absl::StrCat(shard.id), shard.name, WithThousands(vnodes), PortionPercent(vnodes)},
        static_cast<double>(vnodes) / static_cast<double>(most));
  }
  grid.Add({"", "total", WithThousands(ShardGene::kCount), PortionPercent(ShardGene::kCount)});
  grid.AppendTo(out, style);
}

void AppendMoves(const RoutingTable& table, TextStyle style, std::string& out) {
  size_t moving = 0;
  TextGrid grid({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kRight});
  grid.Add({"first", "last", "from", "to", "permyriad"});
  for (const MovingRun& run : MovingRunsOf(table)) {
    moving += run.last - run.first + 1;
    grid.Add({absl::StrCat(run.first), absl::StrCat(run.last), table.FindShard(run.from)->name,
              table.FindShard(run.to)->name, absl::StrCat(run.permyriad)});
  }
  absl::StrAppend(&out, "\n", WithThousands(moving), " vnodes move\n");
  if (moving > 0) grid.AppendTo(out, style);
}

}  // namespace

std::string RingAsText(const RoutingTable& table, TextStyle style) {
  std::string out = absl::StrCat("epoch ", table.epoch(), "\n\n");
  AppendShards(table, style, out);
  AppendMoves(table, style, out);
  return out;
}

}  // namespace locus
