// SPDX-License-Identifier: Apache-2.0
// The verbs for what happened to the shards of a move: failovers, and what a state means.
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/open_moves.h"
#include "apps/shared/moves/move_text.h"
#include "migration/run/candidate_watch.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::CandidatesOf;
using apps::ExplainText;
using apps::NotBegun;
using apps::ShardsOf;
using internal::Quoted;
using mysql::MoveControl;

namespace {

void AppendResult(const std::string& shard, const mysql::RebindResult& result, bool dry,
                  std::string& out) {
  for (const internal::FenceRow& row : result.bound) {
    absl::StrAppend(&out, "  ", shard, ": vnodes ", row.lo, "-", row.hi,
                    dry ? ": would be bound" : ": bound", ", were of server ", row.server_id, "\n");
  }
  for (const std::string& left : result.left) {
    absl::StrAppend(&out, "  ", shard, ": LEFT ", left, "\n");
  }
}

}  // namespace

int RunMoveRebind(std::span<const std::string> words) {
  constexpr char kVerb[] = "move rebind";
  MoveOperand operand;
  bool dry = false;
  VerbLine line(kVerb,
                "Binds the fences of all shards to the servers that answer, after a promotion or a "
                "restore: vnodes that move where both shards agree, the others where the fence "
                "says what the routing table says. First fence off the old server. The exit code "
                "is 1 if vnodes are left, or a shard does not answer.",
                "locus move rebind peak.toml");
  AddMoveOperand(line, operand);
  line.Flag("--dry-run", &dry, "Say what would be bound, and change nothing");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand, NotBegun::kAlso, NoMoves::kAreFine);
  if (!opened.ok()) return Fail(kVerb, opened.status());
  std::string out;
  bool left = false;
  std::map<uint32_t, std::vector<FencedRange>> fitting;
  for (const Move& move : opened->moves) {
    auto look = [&]() -> absl::StatusOr<MoveControl::Bindable> {
      LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveControl> control, MoveControl::Create(move));
      return control->MayBind(opened->table, dry);
    };
    const auto bindable = look();
    if (!bindable.ok()) {
      absl::StrAppend(&out, move.name, ": LEFT ", bindable.status().message(), "\n");
      left = true;
    } else {
      absl::StrAppend(&out, move.name, ": the fences of its shards ",
                      bindable->contradict ? "contradict each other: " : "fit together: ",
                      bindable->fences, "\n");
    }
    for (const MoveShard* shard : {&move.source, &move.target}) {
      std::vector<FencedRange>& ranges = fitting[shard->id];
      if (bindable.ok() && bindable->fits) {
        ranges.insert(ranges.end(), move.ranges.begin(), move.ranges.end());
      }
    }
  }
  // Fences stay when moves have ended: of shards, too, that no move of the file has.
  auto shards = ShardsOf(opened->file, opened->table);
  if (!shards.ok()) return Fail(kVerb, shards.status());
  for (const MoveShard& shard : *shards) {
    if (operand.only && !fitting.contains(shard.id)) continue;
    auto result = mysql::RebindShard(shard, opened->table, fitting[shard.id], dry);
    if (!result.ok()) result = mysql::RebindResult{{}, {std::string(result.status().message())}};
    AppendResult(shard.name, *result, dry, out);
    left = left || !result->left.empty();
  }
  if (out.empty()) out = "every fence is bound to the server that answers\n";
  const int printed = PrintAll(kVerb, out);
  return printed == kDone && left ? kFailed : printed;
}

int RunMoveCandidate(std::span<const std::string> words) {
  constexpr char kVerb[] = "move candidate";
  std::string action, candidate;
  MoveOperand operand;
  bool dry = false;
  VerbLine line(kVerb,
                "drop: nothing waits for a failover candidate any more, although the move file "
                "names it. First fence it off for good: once it is promoted nevertheless, orders "
                "are lost.",
                "locus move candidate drop peak.toml 10.0.0.12:3306");
  line.Choice("ACTION", {"drop"}, &action, "What is done with the candidate");
  AddMoveOperand(line, operand);
  line.Text("HOST:PORT", &candidate, "The candidate, as the move file names it");
  line.Flag("--dry-run", &dry, "Say which moves would drop it, and write nothing");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail(kVerb, opened.status());
  std::vector<std::string> known, dropped;
  for (const Move& move : opened->moves) {
    for (const MoveShard* shard : {&move.source, &move.target}) {
      for (const MysqlOptions& one : CandidatesOf(opened->file, *shard)) {
        known.push_back(mysql::PlaceOfCandidate(one));
        if (known.back() != candidate || absl::c_linear_search(dropped, move.name)) continue;
        auto control = MoveControl::Create(move);
        absl::Status status = control.status();
        if (status.ok()) {
          status = dry ? (*control)->View().status() : (*control)->DropCandidate(candidate);
        }
        if (!status.ok()) return Fail(kVerb, status);
        dropped.push_back(move.name);
      }
    }
  }
  if (dropped.empty()) {
    return Fail(kVerb,
                absl::NotFoundError(absl::StrCat(
                    "no shard of the moves has the candidate ", Quoted(candidate), "; ",
                    known.empty() ? "there are none" : "there are " + absl::StrJoin(known, ", "))));
  }
  return PrintAll(kVerb, absl::StrCat(absl::StrJoin(dropped, ", "),
                                      dry ? ": nothing would wait for " : ": nothing waits for ",
                                      candidate, " any more\n"));
}

int RunMoveExplain(std::span<const std::string> words) {
  constexpr char kVerb[] = "move explain";
  MoveOperand operand;
  VerbLine line(kVerb, "Explains the states of the moves of a file, and what may be asked of them.",
                "locus move explain peak.toml");
  AddMoveOperand(line, operand);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail(kVerb, opened.status());
  std::string out;
  for (const Move& move : opened->moves) {
    auto control = MoveControl::Create(move);
    if (!control.ok()) return Fail(kVerb, control.status());
    auto view = (*control)->View();
    if (!view.ok()) return Fail(kVerb, view.status());
    absl::StrAppend(&out, out.empty() ? "" : "\n", ExplainText(move, *view));
  }
  return PrintAll(kVerb, out);
}

}  // namespace locus::cli
