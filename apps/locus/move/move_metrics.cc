// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/move_metrics.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace locus::cli {

using mysql::MoveProgress;
using mysql::RowProgress;

namespace {

using Moves = std::map<std::string, MoveProgress>;

// Names of moves and states have no character that would need to be escaped.
void AddFamily(std::string& text, const Moves& moves, const std::string& name,
               const std::string& help,
               const std::function<std::string(const MoveProgress&)>& value) {
  absl::StrAppend(&text, "# HELP locus_move_", name, " ", help, "\n# TYPE locus_move_", name,
                  " gauge\n");
  for (const auto& [move, progress] : moves) {
    absl::StrAppend(&text, "locus_move_", name, "{move=\"", move, "\"} ", value(progress), "\n");
  }
}

std::string SecondsText(absl::Duration lag) {
  return lag == absl::InfiniteDuration() ? "+Inf"
                                         : absl::StrFormat("%.6f", absl::ToDoubleSeconds(lag));
}

}  // namespace

std::string MoveMetrics(const Moves& all, absl::Time now) {
  std::string text = absl::StrFormat(
      "# HELP locus_move_told_timestamp_seconds When `locus move run` wrote this.\n"
      "# TYPE locus_move_told_timestamp_seconds gauge\n"
      "locus_move_told_timestamp_seconds %.3f\n",
      absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  AddFamily(text, all, "acts", "Whether this runner acts for the move; 0: it stands by.",
            [](const MoveProgress& of) { return of.acts ? "1" : "0"; });
  AddFamily(text, all, "unbegun",
            "Whether the move has no record yet: `locus move start` begins it.",
            [](const MoveProgress& of) { return of.unbegun ? "1" : "0"; });
  Moves moves;  // of which something is known
  for (const auto& [name, progress] : all) {
    if (progress.looked) moves.emplace(name, progress);
  }
  if (moves.empty()) return text;
  auto flag = [&](const std::string& name, const std::string& help, bool MoveProgress::*member) {
    AddFamily(text, moves, name, help,
              [member](const MoveProgress& of) { return of.*member ? "1" : "0"; });
  };
  flag("held", "Whether the move is on hold: no step is made.", &MoveProgress::held);
  flag("troubled", "Whether the last round failed, as where a shard does not answer.",
       &MoveProgress::troubled);
  flag("over", "Whether the move has ended.", &MoveProgress::over);
  AddFamily(text, moves, "share_ratio", "Share of the cohorts that the target owns.",
            [](const MoveProgress& of) { return absl::StrCat(of.share / 1e4); });
  AddFamily(text, moves, "goal_ratio", "The share that was asked for.",
            [](const MoveProgress& of) { return absl::StrCat(of.goal / 1e4); });
  AddFamily(text, moves, "forth_lag_seconds",
            "Lag of the stream to the target; infinite: it stands still, or there is none.",
            [](const MoveProgress& of) { return SecondsText(of.lag_forth); });
  AddFamily(text, moves, "back_lag_seconds", "The same of the stream back.",
            [](const MoveProgress& of) { return SecondsText(of.lag_back); });
  auto count = [&](const std::string& name, const std::string& help,
                   uint64_t MoveProgress::*member) {
    AddFamily(text, moves, name, help,
              [member](const MoveProgress& of) { return absl::StrCat(of.*member); });
  };
  auto progress_of = [&](const std::string& done, const std::string& what,
                         RowProgress::Sight MoveProgress::*member) {
    AddFamily(text, moves, done + "_rows", absl::StrCat("Rows ", done, " so far."),
              [member](const MoveProgress& of) { return absl::StrCat((of.*member).rows); });
    AddFamily(text, moves, done + "_estimated_rows",
              absl::StrCat("About how many rows the ", what, " has; 0: not known."),
              [member](const MoveProgress& of) { return absl::StrCat((of.*member).estimated); });
    AddFamily(text, moves, done + "_left_seconds",
              absl::StrCat("How long the ", what,
                           " still takes; infinite: not known, as while it waits or does not run."),
              [member](const MoveProgress& of) { return SecondsText((of.*member).left); });
  };
  progress_of("copied", "copy", &MoveProgress::copied);
  progress_of("compared", "comparison", &MoveProgress::compared);
  count("differences", "Rows that differed.", &MoveProgress::differences);
  absl::StrAppend(&text,
                  "# HELP locus_move_state The state that `locus move status` shows.\n"
                  "# TYPE locus_move_state gauge\n");
  for (const auto& [name, progress] : moves) {
    absl::StrAppend(&text, "locus_move_state{move=\"", name, "\",state=\"", progress.state,
                    "\"} 1\n");
  }
  return text;
}

}  // namespace locus::cli
