// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/path_check.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/move_report.h"
#include "apps/locus/move/open_moves.h"
#include "apps/shared/moves/move_text.h"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"

namespace locus::cli {

using apps::StatusJson;
using apps::StatusText;
using mysql::MoveControl;

namespace {

constexpr size_t kMostEvents = 100'000;

// The status of all moves that were opened.
absl::StatusOr<std::string> Look(OpenedMoves& opened,
                                 std::vector<std::unique_ptr<MoveControl>>& controls,
                                 const std::string& file, bool as_json) {
  auto table = opened.publisher->Current();
  if (table.ok()) opened.table = *std::move(table);
  std::string out;
  for (const std::unique_ptr<MoveControl>& control : controls) {
    const Move& move = control->move();
    LOCUS_ASSIGN_OR_RETURN(mysql::MoveView view, control->View());
    const internal::TableSight sight =
        internal::SightOf(opened.table, {move.source.id, move.target.id, move.ranges});
    if (as_json) {
      absl::StrAppend(&out, out.empty() ? "[" : ",\n", StatusJson(move, view, sight, file));
    } else {
      absl::StrAppend(&out, out.empty() ? "" : "\n",
                      StatusText(move, view, sight, file, internal::StdoutStyle()));
    }
  }
  return as_json ? out + "]\n" : out;
}

int Watch(OpenedMoves& opened, std::vector<std::unique_ptr<MoveControl>>& controls,
          const std::string& file) {
  const bool redraws = isatty(STDOUT_FILENO) != 0;
  SignalsDeferred until_interrupted;
  while (!Interrupted()) {
    absl::StatusOr<std::string> text = Look(opened, controls, file, false);
    // A shard that does not answer for a while is what a watcher wants to see.
    const std::string shown =
        text.ok() ? *text : absl::StrCat("cannot look: ", text.status().message(), "\n");
    const int exit = PrintAll("move status", redraws ? "\033[H\033[2J" + shown : shown + "\n");
    if (exit != kDone) return exit;
    for (int i = 0; i < 10 && !Interrupted(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return kInterrupted;
}

}  // namespace

int RunMoveStatus(std::span<const std::string> words) {
  MoveOperand operand;
  bool watch = false, as_json = false;
  VerbLine line("move status", "Shows where the moves of a file stand, and the next safe command.",
                "locus move status peak.toml --watch");
  AddMoveOperand(line, operand);
  line.Flag("--watch", &watch, "Show it again each second, until a signal comes");
  line.Flag("--json", &as_json, "Print a JSON array, for tools");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (watch && as_json) return WrongUsage("move status", "--watch and --json exclude each other");
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail("move status", opened.status());
  std::vector<std::unique_ptr<MoveControl>> controls;
  for (const Move& move : opened->moves) {
    auto control = MoveControl::Create(move);
    if (!control.ok()) return Fail("move status", control.status());
    controls.push_back(*std::move(control));
  }
  if (watch) return Watch(*opened, controls, operand.file);
  absl::StatusOr<std::string> text = Look(*opened, controls, operand.file, as_json);
  return text.ok() ? PrintAll("move status", *text) : Fail("move status", text.status());
}

int RunMoveReport(std::span<const std::string> words) {
  MoveOperand operand;
  std::optional<std::string> svg;
  VerbLine line("move report",
                "Prints the history of the moves of a file: phases, steps, holds, publications.",
                "locus move report peak.toml --svg report.svg");
  AddMoveOperand(line, operand);
  line.File("--svg OUT", &svg, FileUse::kWrite,
            "Draw share, lags and waits over time instead; - is stdout");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail("move report", opened.status());
  if (svg) {
    const absl::Status distinct = CheckPaths(
        {{"--svg", *svg, FileUse::kWrite},
         {"password_file of the move file", opened->file.password_file, FileUse::kRead}});
    if (!distinct.ok()) return WrongUsage("move report", std::string(distinct.message()));
  }
  std::vector<MoveHistory> histories;
  for (const Move& move : opened->moves) {
    auto control = MoveControl::Create(move);
    if (!control.ok()) return Fail("move report", control.status());
    auto events = (*control)->Events(kMostEvents);
    if (!events.ok()) return Fail("move report", events.status());
    histories.push_back({move, *std::move(events)});
  }
  if (!svg) return PrintAll("move report", ReportText(histories));
  const absl::Status status = WriteWhole(*svg, ReportSvg(histories));
  return status.ok() ? kDone : Fail("move report", status);
}

}  // namespace locus::cli
