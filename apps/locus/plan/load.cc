// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/plan/shard_sample.h"
#include "apps/locus/plan/vnode_load.h"
#include "apps/locus/table/table_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

struct LoadLine {
  std::string table;
  ShardAccess access;
  std::string by = "rows";
  absl::Duration window = absl::Seconds(10);
};

absl::StatusOr<std::string> ParseTableName(std::string_view name) {
  bool fits = !name.empty() && name.size() <= 64;
  for (char c : name) {
    fits &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
  }
  if (fits) return std::string(name);
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(name), " is not 1 to 64 letters, digits, '_' and '$'"));
}

// A sample of each shard, several at once; the first error where there is one.
absl::StatusOr<std::vector<ShardSample>> CountEach(const std::vector<SampledShard>& shards,
                                                   Counted counted) {
  constexpr size_t kAtOnce = 16;
  std::vector<absl::StatusOr<ShardSample>> answers(shards.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < shards.size(); i = next++) answers[i] = shards[i].Count(counted);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kAtOnce, shards.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  std::vector<ShardSample> samples;
  for (absl::StatusOr<ShardSample>& answer : answers) {
    LOCUS_ASSIGN_OR_RETURN(ShardSample sample, std::move(answer));
    samples.push_back(std::move(sample));
  }
  return samples;
}

// The load of each vnode, and what to know about it.
struct VnodeLoads {
  std::vector<double> load = std::vector<double>(ShardGene::kCount);
  double elsewhere = 0;  // of vnodes on shards that the table does not give them to
  size_t shrunk = 0;     // vnodes whose versions sum to less than before: rows were deleted
  size_t moving = 0;     // vnodes that two shards count
};

bool MayHold(const RoutingTable& table, size_t vnode, uint32_t shard) {
  ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
  const VnodeMove* move = table.MoveOf(gene);
  return table.OwnerOf(gene).id == shard || (move != nullptr && move->to == shard);
}

// While a vnode moves, its orders are copied and both shards count them: the greater count is
// nearer to the truth than the sum.
void Add(const RoutingTable& table, uint32_t shard, size_t vnode, double load, VnodeLoads& loads) {
  if (!MayHold(table, vnode, shard)) {
    loads.elsewhere += load;
  } else if (table.MoveOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))) != nullptr) {
    loads.load[vnode] = std::max(loads.load[vnode], load);
  } else {
    loads.load[vnode] += load;
  }
}

absl::StatusOr<VnodeLoads> SampleRows(const RoutingTable& table,
                                      const std::vector<SampledShard>& shards) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<ShardSample> samples, CountEach(shards, Counted::kRows));
  VnodeLoads loads;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (size_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      uint64_t rows = samples[i].counts[vnode];
      if (rows > 0) Add(table, shards[i].id(), vnode, static_cast<double>(rows), loads);
    }
  }
  return loads;
}

absl::StatusOr<VnodeLoads> SampleWrites(const RoutingTable& table,
                                        const std::vector<SampledShard>& shards,
                                        absl::Duration window) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<ShardSample> first, CountEach(shards, Counted::kVersions));
  absl::SleepFor(window);
  LOCUS_ASSIGN_OR_RETURN(std::vector<ShardSample> second, CountEach(shards, Counted::kVersions));
  VnodeLoads loads;
  for (size_t i = 0; i < shards.size(); ++i) {
    double elapsed = std::chrono::duration<double>(second[i].taken_at - first[i].taken_at).count();
    for (size_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      uint64_t before = first[i].counts[vnode];
      uint64_t after = second[i].counts[vnode];
      loads.shrunk += after < before;
      if (after <= before) continue;
      Add(table, shards[i].id(), vnode, static_cast<double>(after - before) / elapsed, loads);
    }
  }
  return loads;
}

void PrintCaveats(const VnodeLoads& loads) {
  auto note = [](const std::string& message) { Note("load", message); };
  if (loads.moving > 0) {
    note(absl::StrCat(loads.moving,
                      " vnodes are moving; the greater count of the two shards is used for each"));
  }
  if (loads.shrunk > 0) {
    note(absl::StrCat(loads.shrunk,
                      " vnodes lost rows while they were watched; their load counts as 0"));
  }
  if (loads.elsewhere > 0) {
    note(absl::StrCat("left out a load of ", loads.elsewhere,
                      " in vnodes that the table gives to other shards"));
  }
  if (std::ranges::all_of(loads.load, [](double load) { return load == 0; })) {
    note("no vnode has any load, so there is nothing to plan with");
  }
}

absl::Status SampleLoad(const LoadLine& line, const RoutingTable& table,
                        const std::vector<SampledShard>& shards) {
  LOCUS_ASSIGN_OR_RETURN(VnodeLoads loads, line.by == "rows"
                                               ? SampleRows(table, shards)
                                               : SampleWrites(table, shards, line.window));
  for (const VnodeMove& move : table.moves()) loads.moving += size_t{move.last} - move.first + 1;
  std::string csv = absl::StrCat(kVnodeLoadHeader, "\n");
  for (size_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    double load = loads.load[vnode];
    if (load == 0) continue;
    if (line.by == "rows") {
      absl::StrAppend(&csv, vnode, ",", static_cast<uint64_t>(load), "\n");
    } else {
      absl::StrAppend(&csv, vnode, ",", load, "\n");
    }
  }
  PrintCaveats(loads);
  return WriteWhole("-", csv);
}

// Those that vnodes belong or move to. A shard that has given all away may have been shut down.
absl::StatusOr<std::vector<SampledShard>> OpenEach(const RoutingTable& table,
                                                   const ShardAccess& access) {
  std::set<uint32_t> in_use;
  for (const VnodeRange& range : table.ranges()) in_use.insert(range.shard);
  for (const VnodeMove& move : table.moves()) in_use.insert(move.to);
  std::vector<SampledShard> shards;
  for (const Shard& shard : table.shards()) {
    if (!in_use.contains(shard.id)) continue;
    LOCUS_ASSIGN_OR_RETURN(SampledShard sampled, SampledShard::Open(shard, access));
    shards.push_back(std::move(sampled));
  }
  return shards;
}

}  // namespace

int RunLoad(std::span<const std::string> words) {
  LoadLine given;
  given.access.table_name = "orders";
  given.access.timeout = absl::Seconds(600);
  VerbLine line(
      "load",
      "Samples the load of each vnode from the shards (MariaDB) and prints it as CSV for "
      "`locus plan`. The password is LOCUS_SHARD_PASSWORD, or in LOCUS_SHARD_PASSWORD_FILE.",
      "locus load --table table.json --user reader > load.csv");
  constexpr DurationRange kWindow = {.least = absl::Seconds(1), .most = absl::Hours(1)};
  TableOption(line, "--table FILE", &given.table, "The routing table; - is stdin")
      .Required()
      .Else("LOCUS_TABLE");
  line.Text("--user NAME", &given.access.user, "A database user who may read the shards")
      .Required();
  line.Choice("--by", {"rows", "writes"}, &given.by,
              "Count the orders of each vnode, or those inserted and updated per second");
  line.Duration("--seconds N", &given.window, kWindow,
                "With --by writes: how long to watch the shards");
  line.Value("--table-name T", &given.access.table_name, ParseTableName,
             "The database table of orders in each shard");
  line.Duration("--timeout SECONDS", &given.access.timeout, kWindow,
                "The time limit for counting one shard");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  absl::StatusOr<RoutingTable> table = LoadTable(given.table);
  if (!table.ok()) return Fail("load", table.status());
  absl::StatusOr<std::vector<SampledShard>> shards = OpenEach(*table, given.access);
  if (!shards.ok()) return Fail("load", shards.status());
  absl::Status status = SampleLoad(given, *table, *shards);
  return status.ok() ? kDone : Fail("load", status);
}

}  // namespace locus::cli
