// SPDX-License-Identifier: Apache-2.0
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/open_moves.h"
#include "locus/migration/shard_fence.h"
#include "migration/fence/guard_drop.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::ShardsOf;
using internal::GuardDropFacts;
using internal::Quoted;

namespace {

constexpr char kGuardsVerb[] = "move guards";
constexpr char kAfterwards[] =
    "  Afterwards a client with an old routing table is refused only if it reads the fence\n"
    "  before each write, as FencedTransactions with fence_first and the fenced SQL of\n"
    "  docs/fenced.sql do. All other clients, and FencedTransactions without fence_first,\n"
    "  write unseen into vnodes that have gone, and on a promoted or restored server before\n"
    "  `locus move rebind`. The rows of locus_fence and locus_vnode stay. The next\n"
    "  `locus move run` makes the guards again.\n";

std::string GuardsText(size_t count) {
  return absl::StrCat(count, count == 1 ? " guard" : " guards");
}

// What all shards remember, and when the table was published.
GuardDropFacts GuardFactsOf(const OpenedFile& opened, const std::vector<MoveShard>& shards,
                            uint32_t shard) {
  GuardDropFacts facts;
  facts.shard = shard;
  for (const Shard& one : opened.table.shards()) {
    const auto found =
        absl::c_find_if(shards, [&](const MoveShard& known) { return known.id == one.id; });
    const std::string name = absl::StrCat("shard ", Quoted(one.name));
    if (found == shards.end()) {
      facts.unheard.push_back(
          absl::StrCat(name, " has no endpoint of MariaDB, so it cannot be asked"));
      continue;
    }
    std::vector<std::string> unread;
    const auto records = mysql::MovesRemembered(found->server, unread);
    if (!records.ok()) {
      facts.unheard.push_back(absl::StrCat(name, " cannot be asked: ", records.status().message()));
      continue;
    }
    for (const std::string& why : unread) facts.unheard.push_back(absl::StrCat(name, ": ", why));
    for (const mysql::MoveRecord& record : *records) {
      facts.moves.push_back({record.name, record.phase, record.leg.source, record.leg.target});
    }
  }
  // One of them is the newest, unless others publish just now: then its time is not known.
  constexpr size_t kMost = 16;
  const auto history = opened.publisher->History(kMost);
  if (!history.ok()) return facts;
  for (const PublishedEpoch& kept : *history) {
    if (kept.epoch == opened.table.epoch()) facts.published = kept.published_at;
  }
  return facts;
}

struct DropWords {
  std::string file, shard;
  absl::Duration grace = absl::Hours(24);
  bool yes = false;
};

absl::StatusOr<MoveShard> ShardNamed(const std::vector<MoveShard>& shards,
                                     const std::string& name) {
  std::vector<std::string> names;
  for (const MoveShard& shard : shards) {
    if (shard.name == name) return shard;
    names.push_back(shard.name);
  }
  return absl::NotFoundError(absl::StrCat("the routing table has no shard ", Quoted(name),
                                          " of MariaDB; there are ", absl::StrJoin(names, ", ")));
}

int Drop(const DropWords& words, const OpenedFile& opened, const std::vector<MoveShard>& shards,
         const MoveShard& shard) {
  Move tables;
  tables.tables = opened.file.tables;
  tables.movers = opened.file.movers;
  auto fence = ShardFence::Create(shard.server, mysql::FenceOptionsOf(tables));
  if (!fence.ok()) return Fail(kGuardsVerb, fence.status());
  auto guards = fence->DropGuards(true);
  if (guards.ok() && guards->empty()) {
    return PrintAll(kGuardsVerb,
                    absl::StrCat(shard.name, ": there are no guards; nothing to drop\n"));
  }
  std::vector<std::string> reasons = internal::ReasonsToKeepGuards(
      opened.table, GuardFactsOf(opened, shards, shard.id), words.grace, absl::Now());
  if (!guards.ok()) reasons.emplace_back(guards.status().message());
  if (!reasons.empty()) {
    for (const std::string& reason : reasons) {
      Complain(kGuardsVerb, absl::StrCat(shard.name, ": ", reason));
    }
    return Fail(kGuardsVerb, absl::FailedPreconditionError(absl::StrCat(
                                 shard.name, ": its guards stay; nothing was dropped")));
  }
  if (!words.yes) {
    const int printed =
        PrintAll(kGuardsVerb, absl::StrCat(shard.name, ": would drop ", GuardsText(guards->size()),
                                           ": ", absl::StrJoin(*guards, ", "), "\n", kAfterwards));
    if (printed != kDone) return printed;
    return Fail(kGuardsVerb, absl::FailedPreconditionError(
                                 "nothing was dropped; where that is right, add --yes"));
  }
  guards = fence->DropGuards(false);
  if (!guards.ok()) return Fail(kGuardsVerb, guards.status());
  return PrintAll(kGuardsVerb, absl::StrCat(shard.name, ": dropped ", GuardsText(guards->size()),
                                            "\n", kAfterwards));
}

}  // namespace

int RunMoveGuards(std::span<const std::string> words) {
  std::string action;
  DropWords asked;
  VerbLine line(kGuardsVerb,
                "drop: drops the guards of a shard at rest, which make its writes slower. Refused "
                "while a move of the shard is under way or not cleaned up, while a shard cannot be "
                "asked for one, or while clients may have an older routing table. Afterwards only "
                "clients that read the fence before each write are refused with an old table.",
                "locus move guards drop peak.toml orders-1 --yes");
  line.Choice("ACTION", {"drop"}, &action, "What is done with the guards");
  line.File("MOVE-FILE", &asked.file, FileUse::kRead,
            "The move file, as `locus move new` writes it");
  line.Text("SHARD", &asked.shard, "The shard, as the routing table names it");
  line.Duration("--grace TIME", &asked.grace,
                {.least = absl::ZeroDuration(), .most = absl::Hours(24 * 366)},
                "How long ago the routing table in force must have been published");
  line.Flag("--yes", &asked.yes, "Do it; without it, say what would be done");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoveFile(asked.file);
  if (!opened.ok()) return Fail(kGuardsVerb, opened.status());
  auto shards = ShardsOf(opened->file, opened->table);
  if (!shards.ok()) return Fail(kGuardsVerb, shards.status());
  auto shard = ShardNamed(*shards, asked.shard);
  if (!shard.ok()) return Fail(kGuardsVerb, shard.status());
  return Drop(asked, *opened, *shards, *shard);
}

}  // namespace locus::cli
