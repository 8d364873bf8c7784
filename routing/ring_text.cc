// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/printable_text.h"
#include "routing/ring_runs.h"

namespace locus {
namespace {

enum class Align { kLeft, kRight };

// Rows of cells, printed with two spaces between columns.
class TextGrid {
 public:
  explicit TextGrid(std::vector<Align> alignments) : alignments_(std::move(alignments)) {}

  // As many cells as there are alignments.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void AppendTo(std::string& out) const {
    std::vector<size_t> widths(alignments_.size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], ColumnsOf(row[i]));
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        std::string padding(widths[i] - ColumnsOf(row[i]), ' ');
        bool left = alignments_[i] == Align::kLeft;
        absl::StrAppend(&line, i == 0 ? "" : "  ", left ? row[i] : padding,
                        left ? padding : row[i]);
      }
      out.append(line, 0, line.find_last_not_of(' ') + 1);
      out += '\n';
    }
  }

 private:
  std::vector<Align> alignments_;
  std::vector<std::vector<std::string>> rows_;
};

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
