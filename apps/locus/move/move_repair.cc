// SPDX-License-Identifier: Apache-2.0
// The verb that says what a running move has lost on its shards, and asks the runner to mend it.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/open_moves.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Repair;
using internal::Standing;
using internal::ToAbsl;
using mysql::MoveControl;
using mysql::MoveEvent;
using mysql::RepairFinding;

namespace {

// Of the history.
constexpr size_t kMostEventsSearched = 2000;

struct RepairWords {
  std::optional<std::string> reseed;  // a side, or "both"
  bool compare = false;
  bool dry = false;
};

std::string TextOf(const Move& move, const Repair& repair) {
  std::vector<std::string> parts = {"guards and version triggers are made again where they differ"};
  for (const auto& [asked, shard] :
       {std::pair(repair.forth, &move.source), std::pair(repair.back, &move.target)}) {
    if (!asked) continue;
    parts.push_back(absl::StrCat("the stream from ", shard->name,
                                 " begins anew, and the orders that ", shard->name,
                                 " accepts are copied again"));
  }
  parts.push_back("both shards are compared");
  return absl::StrJoin(parts, "; ");
}

// The rows that the last comparison found different, if the move is held for it.
std::string RowsThatDiffer(const std::vector<MoveEvent>& events) {
  std::string out;
  for (auto event = events.rbegin(); event != events.rend() && event->kind != "hold"; ++event) {
    if (event->kind == "differs") {
      out = absl::StrCat("  differs     ", internal::Printable(event->text), "\n", out);
    }
  }
  if (out.empty()) return out;
  return absl::StrCat(out,
                      "              decide which row is right: docs/move/repair.md, \"Rows that "
                      "differ\"\n");
}

// One of the moves; `left`: something of it only an operator can mend.
absl::Status RepairMove(const Move& move, const RepairWords& words, std::string& out, bool& left) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveControl> control, MoveControl::Create(move));
  LOCUS_ASSIGN_OR_RETURN(mysql::MoveView view, control->View());
  if (!view.other_tables.empty()) return absl::FailedPreconditionError(view.other_tables);
  LOCUS_ASSIGN_OR_RETURN(std::vector<RepairFinding> findings, control->Findings());
  const Standing now = view.standing();
  absl::StrAppend(&out, move.name, ": ", ToAbsl(ToString(now.phase)), " at share ", now.share,
                  now.wish.hold.empty() ? "" : ", held: ", internal::Printable(now.wish.hold),
                  "\n");
  Repair repair{words.compare, words.reseed == "source" || words.reseed == "both",
                words.reseed == "target" || words.reseed == "both"};
  bool blocked = false;
  for (const RepairFinding& finding : findings) {
    const std::string name(ToString(finding.kind));
    absl::StrAppend(&out, "  ", name, std::string(12 - name.size(), ' '), finding.shard, ": ",
                    internal::Printable(finding.what), "\n");
    if (!finding.by.any()) {
      absl::StrAppend(&out, "              LEFT to you: ", finding.remedy, "\n");
      blocked = true;
    }
    repair.guards = repair.guards || finding.by.guards;
    repair.forth = repair.forth || finding.by.forth;
    repair.back = repair.back || finding.by.back;
  }
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveEvent> events, control->Events(kMostEventsSearched));
  absl::StrAppend(&out, RowsThatDiffer(events));
  if (blocked) {
    left = true;
    absl::StrAppend(&out, "  nothing was asked for: first do what is LEFT to you\n");
    return absl::OkStatus();
  }
  if (!repair.any()) {
    absl::StrAppend(&out, "  nothing is lost, wrong, or in excess\n");
    return absl::OkStatus();
  }
  LOCUS_RETURN_IF_ERROR(
      control
          ->Change(
              "repair", [&](const Standing& seen) { return internal::AskRepair(seen, repair); },
              words.dry)
          .status());
  absl::StrAppend(&out, words.dry ? "  would ask   " : "  asked for   ", TextOf(move, repair),
                  "\n              no step is made afterwards until you ask for one\n");
  return absl::OkStatus();
}

}  // namespace

int RunMoveRepair(std::span<const std::string> words) {
  constexpr char kVerb[] = "move repair";
  MoveOperand operand;
  RepairWords asked;
  VerbLine line(kVerb,
                "Says what running moves have lost on their shards: guards, version triggers, rows "
                "of tables of their own, logs. Asks the runner to mend it, and to compare both "
                "shards before the next step. No row of an order is changed by that, but where "
                "the shard that accepts it has a newer one. The exit code is 1 if something is "
                "left to you.",
                "locus move repair peak.toml");
  AddMoveOperand(line, operand);
  line.Choice("--reseed SIDE", {"source", "target", "both"}, &asked.reseed,
              "Begin the stream from this shard anew, also if its log is there: past an event that "
              "cannot be applied");
  line.Flag("--compare", &asked.compare, "Compare both shards, also if nothing is lost");
  line.Flag("--dry-run", &asked.dry, "Say what would be asked for, and write nothing");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail(kVerb, opened.status());
  std::string out;
  bool left = false;
  for (const Move& move : opened->moves) {
    const absl::Status status = RepairMove(move, asked, out, left);
    if (status.ok()) continue;
    PrintAll(kVerb, out);
    return Fail(kVerb,
                absl::Status(status.code(), absl::StrCat(move.name, ": ", status.message())));
  }
  const int printed = PrintAll(kVerb, out);
  return printed == kDone && left ? kFailed : printed;
}

}  // namespace locus::cli
