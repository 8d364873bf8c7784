// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/picture/ring_runs.h"
#include "routing/picture/text_grid.h"

namespace locus {
namespace {

// Of `kBarColumns` for `most`, in steps of an eighth of a column.
std::string Bar(size_t vnodes, size_t most) {
  constexpr size_t kBarColumns = 40;
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  size_t eighths = (vnodes * kBarColumns * 8 + most / 2) / most;
  if (vnodes > 0) eighths = std::max<size_t>(eighths, 1);
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

void AppendShards(const RoutingTable& table, std::string& out) {
  std::map<uint32_t, size_t> owned = OwnedVnodesOf(table);
  size_t most = 0;
  for (auto [shard, vnodes] : owned) most = std::max(most, vnodes);
  TextGrid grid({Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  grid.Add({"id", "name", "vnodes", "share %", ""});
  for (const Shard& shard : table.shards()) {
    size_t vnodes = owned.at(shard.id);
    grid.Add({absl::StrCat(shard.id), shard.name, WithThousands(vnodes), SharePercent(vnodes),
              Bar(vnodes, most)});
  }
  grid.Add({"", "total", WithThousands(ShardGene::kCount), SharePercent(ShardGene::kCount), ""});
  grid.AppendTo(out);
}

void AppendMoves(const RoutingTable& table, std::string& out) {
  size_t moving = 0;
  TextGrid grid({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kRight});
  grid.Add({"first", "last", "from", "to", "permyriad"});
  for (const MovingRun& run : MovingRunsOf(table)) {
    moving += run.last - run.first + 1;
    grid.Add({absl::StrCat(run.first), absl::StrCat(run.last), table.FindShard(run.from)->name,
              table.FindShard(run.to)->name, absl::StrCat(run.permyriad)});
  }
  absl::StrAppend(&out, "\n", WithThousands(moving), " vnodes move\n");
  if (moving > 0) grid.AppendTo(out);
}

}  // namespace

std::string RingAsText(const RoutingTable& table) {
  std::string out = absl::StrCat("epoch ", table.epoch(), "\n\n");
  AppendShards(table, out);
  AppendMoves(table, out);
  return out;
}

}  // namespace locus
