// SPDX-License-Identifier: Apache-2.0
// The verbs that say what an operator wants of a move. They write it to the source of the move; the
// runner does it.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/open_moves.h"
#include "migration/preflight/judge.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::NotBegun;
using internal::Standing;
using internal::ToAbsl;
using internal::Wish;
using mysql::MoveControl;

namespace {

constexpr absl::Duration kSilent = absl::Seconds(10);

// What the wish says now, for people.
std::string TextOf(const mysql::MoveView& view, const Wish& wish) {
  std::string text =
      absl::StrCat(ToAbsl(ToString(view.standing().phase)), " at ",
                   view.has_share() || view.standing().phase < internal::Phase::kPrepared
                       ? absl::StrCat("share ", view.fences.share)
                       : "a share that is not known now",
                   ", goal ", wish.goal);
  if (!wish.hold.empty()) absl::StrAppend(&text, ", held: ", internal::Printable(wish.hold));
  if (wish.ending != internal::Ending::kNone) {
    absl::StrAppend(&text, ", then ", ToAbsl(ToString(wish.ending)));
  }
  return text;
}

// FAILED_PRECONDITION: the shards are not ready for the move. Complains of each thing that is to be
// done, on a line of its own.
absl::Status CheckPreflight(const std::string& verb, const OpenedMoves& opened, const Move& move,
                            const std::string& file) {
  size_t failed = 0;
  for (const preflight::Finding& finding :
       preflight::Judge(mysql::CollectFacts(PreflightOptionsOf(opened.file, move)))) {
    if (finding.ok) continue;
    ++failed;
    Complain(verb, absl::StrCat(move.name, ": ", finding.check, finding.place.empty() ? "" : " ",
                                finding.place, ": ", finding.found, "; needed: ", finding.needed,
                                "; ", finding.remedy));
  }
  if (failed == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("nothing was begun; ", failed, failed == 1 ? " check" : " checks",
                   " failed; `locus move preflight ", file, "` shows all"));
}

// What a command makes of the wish, with the pace of the move file.
using PacedAsk = std::function<absl::StatusOr<Wish>(const Standing& now, const MovePace& pace)>;

// The same of one that has nothing to do with the pace.
PacedAsk Unpaced(MoveControl::Ask ask) {
  return [ask = std::move(ask)](const Standing& now, const MovePace&) { return ask(now); };
}

enum class AskedOf {
  kAllOrNone,  // nothing is asked where one move refuses
  kWhoever,    // what one move refuses the others do: holds and rollbacks must not wait
};

enum class Also {
  kNothing,
  kBegins,       // makes the record of a move that has none
  kCleansAgain,  // looks for what a move that is DONE has left
};

// One move of a verb.
class AskedMove {
 public:
  AskedMove(const std::string& verb, const OpenedMoves& opened, const Move& move)
      : verb_(verb), opened_(opened), move_(move) {}

  // Begins the move where it has no record; `dry`: checks whether it could.
  absl::Status Begin(const std::string& file, bool dry) {
    LOCUS_RETURN_IF_ERROR(Open());
    LOCUS_ASSIGN_OR_RETURN(mysql::MoveView view, control_->View());
    const bool planned = !view.record || view.record->phase == internal::Phase::kPlanned;
    // While it is PLANNED, the tables of an edited file replace those that were noted.
    if (view.record && view.record->wish.started && (!planned || view.other_tables.empty())) {
      // Makes tables of the move again that somebody dropped.
      return dry ? CheckTables(view) : control_->Begin(opened_.file.pace);
    }
    LOCUS_RETURN_IF_ERROR(CheckRecord(view));
    if (dry) return CheckPreflight(verb_, opened_, move_, file);
    return control_->Begin(opened_.file.pace);
  }
  // Appends what the wish is, or would be.
  absl::Status Ask(const MoveControl::Ask& ask, AskedOf whom, Also also, bool dry,
                   std::string& out) {
    LOCUS_RETURN_IF_ERROR(Open());
    LOCUS_ASSIGN_OR_RETURN(mysql::MoveView view, control_->View());
    const bool begins = also == Also::kBegins;
    if (also == Also::kCleansAgain && view.record && view.record->phase == internal::Phase::kDone &&
        !view.record->wish.keep) {
      return CleanAgain(dry, out);
    }
    if (begins && dry && !view.record) {
      absl::StrAppend(&out, move_.name, ": would begin\n");
      return absl::OkStatus();
    }
    const std::string what = verb_.substr(verb_.find(' ') + 1);
    // Nothing is in the way of those that make a move safer.
    if (whom == AskedOf::kAllOrNone && !begins) LOCUS_RETURN_IF_ERROR(CheckTables(view));
    LOCUS_ASSIGN_OR_RETURN(
        Wish wish, control_->Change(
                       what, ask, dry,
                       what == "hold" ? MoveControl::Needs::kRecord : MoveControl::Needs::kFences));
    absl::StrAppend(&out, move_.name, dry ? ": would be " : ": ", TextOf(view, wish), "\n");
    const internal::Phase phase = view.standing().phase;
    silent_ = view.record && view.record->silent > kSilent && phase != internal::Phase::kDone &&
              phase != internal::Phase::kAborted;
    return absl::OkStatus();
  }
  // Nobody ran it when it was asked.
  bool silent() const { return silent_; }
  const std::string& name() const { return move_.name; }
  std::string Complaint(const absl::Status& status) const {
    return absl::StrCat(move_.name, ": ", status.message());
  }

 private:
  absl::Status CheckTables(const mysql::MoveView& view) const {
    if (view.other_tables.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(view.other_tables);
  }
  // A move that the shards have stepped is not begun again.
  absl::Status CheckRecord(const mysql::MoveView& view) const {
    if (!view.lost_record()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "the fences say that this move stands at share ", view.fences.share, ", and locus_move on ",
        move_.source.name,
        " has no record of it: that table, or its row, was lost. Restore locus_move from a backup "
        "of that shard; nothing was begun anew"));
  }
  absl::Status CleanAgain(bool dry, std::string& out) {
    LOCUS_ASSIGN_OR_RETURN(const MoveControl::Remains remains,
                           control_->LookForRemains(opened_.table));
    if (!remains.rows.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(remains.rows,
                       " again, written past its guards or restored since the cleanup; nothing "
                       "was deleted: compare them with ",
                       move_.target.name,
                       " (`locus verify`). Carry over what is not there; only then delete them by "
                       "hand"));
    }
    if (remains.marks.empty()) {
      absl::StrAppend(&out, move_.name, ": already cleaned up; ",
                      remains.used.empty()
                          ? "nothing is left"
                          : absl::StrCat("a later move has used vnodes ", remains.used,
                                         ", or some of them: ", move_.source.name,
                                         " was not looked at for rows of them"),
                      "\n");
      return absl::OkStatus();
    }
    if (!dry) LOCUS_RETURN_IF_ERROR(control_->CleanAgain());
    absl::StrAppend(&out, move_.name, dry ? ": would be" : ": is",
                    " cleaned up again: ", absl::StrJoin(remains.marks, ", "), "\n");
    silent_ = !dry;
    return absl::OkStatus();
  }
  absl::Status Open() {
    if (control_ != nullptr) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(control_, MoveControl::Create(move_));
    return absl::OkStatus();
  }

  const std::string& verb_;
  const OpenedMoves& opened_;
  const Move& move_;
  std::unique_ptr<MoveControl> control_;
  bool silent_ = false;
};

// Looks first whether each of the moves can do it, and then asks them.
int AskMoves(const std::string& verb, const MoveOperand& operand, bool dry, Also also, AskedOf whom,
             const PacedAsk& paced) {
  const bool begins = also == Also::kBegins;
  auto opened = OpenMoves(operand, begins ? NotBegun::kAlso : NotBegun::kIfNoneHasBegun);
  if (!opened.ok()) return Fail(verb, opened.status());
  const MoveControl::Ask ask = [&](const Standing& now) { return paced(now, opened->file.pace); };
  std::vector<AskedMove> willing;
  std::vector<std::string> refusals;
  std::string would;
  for (const Move& move : opened->moves) {
    AskedMove one(verb, *opened, move);
    absl::Status status = begins ? one.Begin(operand.file, true) : absl::OkStatus();
    if (status.ok()) status = one.Ask(ask, whom, also, true, would);
    if (status.ok()) {
      willing.push_back(std::move(one));
    } else {
      refusals.push_back(one.Complaint(status));
    }
  }
  // As many as there are, the last one as the failure of the verb.
  auto refuse = [&](const std::string& more) {
    for (size_t i = 0; i + 1 < refusals.size(); ++i) Complain(verb, refusals[i]);
    return Fail(verb, absl::FailedPreconditionError(absl::StrCat(refusals.back(), more)));
  };
  if (!refusals.empty() && (whom == AskedOf::kAllOrNone || willing.empty())) {
    return refuse(
        willing.empty() ? "" : "; nothing was asked of the other moves: `--only NAME` asks one");
  }
  std::string out = dry ? would : "";
  for (AskedMove& one : willing) {
    if (dry) break;
    absl::Status status = begins ? one.Begin(operand.file, false) : absl::OkStatus();
    if (status.ok()) status = one.Ask(ask, whom, also, false, out);
    if (!status.ok()) {
      PrintAll(verb, out);
      return Fail(verb, absl::Status(status.code(), one.Complaint(status)));
    }
    if (one.silent()) {
      Note(verb, absl::StrCat(one.name(), ": nobody runs it now: `locus move run ", operand.file,
                              "` does what was asked"));
    }
  }
  const int printed = PrintAll(verb, out);
  if (!refusals.empty()) return refuse("");
  return printed;
}

// A verb without options of its own, or with those that `add` declares.
template <typename Add>
int RunAsk(const std::string& name, const std::string& purpose, std::span<const std::string> words,
           Add add, const PacedAsk& ask, AskedOf whom = AskedOf::kAllOrNone,
           Also also = Also::kNothing) {
  MoveOperand operand;
  bool dry = false;
  const std::string verb = "move " + name;
  VerbLine line(verb, purpose, absl::StrCat("locus move ", name, " peak.toml"));
  AddMoveOperand(line, operand);
  add(line);
  line.Flag("--dry-run", &dry, "Say what would be asked for, and write nothing");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return AskMoves(verb, operand, dry, also, whom, ask);
}

constexpr auto kNoOptions = [](VerbLine&) {};

}  // namespace

int RunMoveStart(std::span<const std::string> words) {
  return RunAsk(
      "start",
      "Begins the moves of a file: the runner prepares the shards, copies and compares the rows, "
      "and keeps both shards equal. No order changes its shard before a step.",
      words, kNoOptions, Unpaced(internal::AskStart), AskedOf::kAllOrNone, Also::kBegins);
}

int RunMoveStep(std::span<const std::string> words) {
  std::optional<uint32_t> to;
  return RunAsk(
      "step", "Moves one band of orders to the target.", words,
      [&](VerbLine& line) {
        line.Number("--to PERMYRIAD", &to, {.most = 10000},
                    "The share of cohorts that the target has afterwards [one step of the file]");
      },
      [&](const Standing& now, const MovePace& pace) {
        return internal::AskStep(now, to, pace.by);
      });
}

int RunMoveAuto(std::span<const std::string> words) {
  std::optional<uint32_t> by;
  std::optional<absl::Duration> dwell;
  return RunAsk(
      "auto", "Steps to the whole, one band after the other, while every gate is open.", words,
      [&](VerbLine& line) {
        line.Number("--by PERMYRIAD", &by, {.least = 1, .most = 10000},
                    "The size of a step [by of the file]");
        line.Duration("--dwell TIME", &dwell,
                      {.least = absl::ZeroDuration(), .most = absl::Hours(24)},
                      "How long the move is watched after each step [dwell of the file]");
      },
      [&](const Standing& now, const MovePace& pace) {
        return internal::AskAuto(now, by.value_or(pace.by), dwell.value_or(pace.dwell));
      });
}

int RunMoveHold(std::span<const std::string> words) {
  std::string why = "by an operator";
  return RunAsk(
      "hold", "Makes no more steps. A step on its way is ended; both streams go on.", words,
      [&](VerbLine& line) {
        line.Text("--why TEXT", &why, "The reason, for those who look at the status");
      },
      // A hold is not refused for its reason.
      Unpaced([&](const Standing& now) {
        return internal::AskHold(now, internal::WithoutPasswords(why));
      }),
      AskedOf::kWhoever);
}

int RunMoveResume(std::span<const std::string> words) {
  return RunAsk("resume", "Goes on after a hold; what had failed is tried again.", words,
                kNoOptions, Unpaced(internal::AskResume));
}

int RunMoveRollback(std::span<const std::string> words) {
  uint32_t to = 0;
  return RunAsk(
      "rollback", "Takes bands back to the source, in one step, also out of a hold.", words,
      [&](VerbLine& line) {
        line.Number("--to PERMYRIAD", &to, {.most = 10000},
                    "The share of cohorts that the target keeps");
      },
      Unpaced([&](const Standing& now) { return internal::AskRollback(now, to); }),
      AskedOf::kWhoever);
}

int RunMoveFinalize(std::span<const std::string> words) {
  return RunAsk(
      "finalize",
      "Ends a move at share 10000: compares both shards once more, ends the streams, and gives the "
      "vnodes to the target in the routing table. There is no way back from it.",
      words, kNoOptions, Unpaced(internal::AskFinalize));
}

int RunMoveCleanup(std::span<const std::string> words) {
  bool keep = false;
  return RunAsk(
      "cleanup",
      "Deletes the moved rows from the source of a finalized move. Of one that is DONE, it removes "
      "what is left.",
      words,
      [&](VerbLine& line) {
        line.Flag("--keep", &keep,
                  "Leave the rows, tombstones and version triggers where they are; a later "
                  "cleanup without it deletes them");
      },
      Unpaced([&](const Standing& now) { return internal::AskCleanup(now, keep); }),
      AskedOf::kAllOrNone, Also::kCleansAgain);
}

int RunMoveAbort(std::span<const std::string> words) {
  return RunAsk(
      "abort",
      "Gives a move up at share 0: drops it from the routing table, and deletes the rows that were "
      "copied to the target.",
      words, kNoOptions, Unpaced(internal::AskAbort));
}

}  // namespace locus::cli
