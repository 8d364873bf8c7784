// SPDX-License-Identifier: Apache-2.0
// How a runner looks at its move.
#include <sys/wait.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "migration/apply/peer_bands.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/move_runner.h"
#include "migration/run/rebind.h"
#include "migration/run/shell_command.h"
#include "src/base/os/check.h"

namespace locus::mysql {

using internal::Decision;
using internal::Gate;
using internal::MoveSight;
using internal::Phase;
using internal::Side;
using internal::Situation;
using internal::SqlText;
using internal::TableSight;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kPingPause{100};
constexpr std::chrono::milliseconds kGatesPause{500};
constexpr std::chrono::milliseconds kTablePause{500};
constexpr char kCommandGate[] = "command";
constexpr absl::Duration kCommandTime = absl::Seconds(5);
// How long slow looks are left out while a band is on its way.
constexpr std::chrono::milliseconds kQuiet{500};

bool HasForth(Phase phase) { return phase >= Phase::kStreaming && phase <= Phase::kFinalizing; }
bool HasBack(Phase phase) { return phase >= Phase::kVerifying && phase <= Phase::kFinalizing; }
bool Compares(Phase phase) { return phase == Phase::kVerifying || phase == Phase::kFinalizing; }
bool Cleans(Phase phase) { return phase == Phase::kCleanup || phase == Phase::kAborting; }
bool HasFences(Phase phase) { return phase >= Phase::kPrepared; }

}  // namespace

absl::Status MoveRunner::MaintainWorkers() {
  const Phase phase = record_.phase;
  // A broken stream stays as it is, for a repair to look at.
  const bool held = !record_.wish.hold.empty() || record_.wish.repair.any();
  keep_ = record_.wish.keep;
  const internal::Seeding& seeding = record_.seeding;
  copies_forth_ = seeding.forth;
  copies_back_ = seeding.back;
  auto stream = [&](Direction& direction, Side recipient, bool wanted) -> absl::Status {
    if (!wanted) {
      direction = {};
      return absl::OkStatus();
    }
    if (direction.worker) {
      // A broken stream is tried again once the move was held for it and an operator resumed it.
      const StreamWorker::Sight seen = direction.worker->sight();
      const bool broken = !seen.broken.ok() || seen.counts.rogue > 0 || seen.counts.unguarded > 0;
      direction.held = broken && (held || direction.held);
      if (!direction.held || held) return absl::OkStatus();
    }
    direction = {};
    const bool forth = recipient == Side::kTarget;
    const bool begins = phase == Phase::kStreaming && (forth ? seeding.forth : seeding.back);
    LOCUS_ASSIGN_OR_RETURN(auto from, (forth ? source_ : target_)->Another());
    LOCUS_ASSIGN_OR_RETURN(auto to, (forth ? target_ : source_)->Another());
    LOCUS_ASSIGN_OR_RETURN(auto candidates, CandidatesOf(recipient));
    direction.worker = std::make_unique<StreamWorker>(move_, recipient, run_, options_.link_timeout,
                                                      options_.spool, begins, std::move(from),
                                                      std::move(to), std::move(candidates));
    return absl::OkStatus();
  };
  if (record_.dropped != dropped_) {
    copy_.worker = nullptr;  // it also waits for candidates
    dropped_ = record_.dropped;
    forth_ = {};
    back_ = {};
  }
  LOCUS_RETURN_IF_ERROR(stream(forth_, Side::kTarget, HasForth(phase)));
  const bool again = HasForth(phase) && seeding.again;
  LOCUS_RETURN_IF_ERROR(stream(back_, Side::kSource, HasBack(phase) || again));

  auto task = [&](Task& one, bool wanted,
                  absl::Status (MoveRunner::*work)(const std::atomic<bool>&)) {
    if (!wanted || one.phase != phase) one.worker = nullptr;
    if (!wanted) return;
    if (one.worker) {
      const TaskWorker::Sight seen = one.worker->sight();
      const bool differs = seen.done && Compares(phase) && !FirstDifference().empty();
      one.held = ((!seen.failed.ok() && !seen.done) || differs) && (held || one.held);
      if (one.held && !held) one.worker = nullptr;
    }
    if (one.worker || held) return;
    one.phase = phase;
    one.held = false;
    one.worker = std::make_unique<TaskWorker>(
        [this, work](const std::atomic<bool>& stop) { return (this->*work)(stop); });
  };
  task(copy_, phase == Phase::kCopying && !held, &MoveRunner::Copy);
  // The comparison relies on both streams.
  const bool streams = forth_.pings.passed() && back_.pings.passed();
  task(compare_, Compares(phase) && streams, &MoveRunner::Compare);
  task(clean_, Cleans(phase), &MoveRunner::Clean);

  LOCUS_RETURN_IF_ERROR(SendPing(forth_, *source_));
  return SendPing(back_, *target_);
}

// Those of the shard that is read, without the dropped ones.
absl::StatusOr<std::vector<std::unique_ptr<ShardLink>>> MoveRunner::CandidatesOf(Side recipient) {
  std::vector<std::unique_ptr<ShardLink>> links;
  for (const Candidate& candidate :
       recipient == Side::kTarget ? source_candidates_ : target_candidates_) {
    if (absl::c_linear_search(dropped_, candidate.place)) continue;
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, candidate.link->Another());
    links.push_back(std::move(link));
  }
  return links;
}

absl::Status MoveRunner::SendPing(Direction& direction, ShardLink& shard) {
  if (!direction.worker) return absl::OkStatus();
  const auto now = SteadyClock::now();
  // Where there are candidates, the token itself waits for a ping.
  const auto& candidates = &direction == &forth_ ? source_candidates_ : target_candidates_;
  if (candidates.empty() && BandIsOnItsWay()) return absl::OkStatus();
  if (now - direction.sent_at < kPingPause) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(direction.sent, RaisePing(shard, move_.name, run_));
  direction.sent_at = now;
  direction.pings.Sent(direction.sent, now);
  return absl::OkStatus();
}

// Writers wait for the shards, so for a moment this runner asks them nothing else.
bool MoveRunner::BandIsOnItsWay() const {
  return step_open_ && SteadyClock::now() - let_go_at_ < kQuiet;
}

absl::StatusOr<MoveSight> MoveRunner::Look() {
  MoveSight sight;
  sight.phase = record_.phase;
  sight.wish = record_.wish;
  sight.seeding = record_.seeding;
  sight.gate_patience = options_.gates.patience;
  sight.accept_within = options_.pace.accept_within;
  sight.alarm = alarm_;
  if (HasFences(record_.phase)) {
    const absl::Status looked = LookAtFences(sight);
    // After the last step nothing depends on them, and a move may be aborted before they exist.
    if (!looked.ok() && record_.phase < Phase::kFinalized) {
      if (absl::IsUnavailable(looked) || absl::IsAborted(looked)) return looked;
      sight.fences = {};
      sight.alarm = std::string(looked.message());
    }
  }
  if (record_.phase == Phase::kPlanned) LOCUS_RETURN_IF_ERROR(BindUnbegun());
  LOCUS_RETURN_IF_ERROR(LookAtGuards(sight));
  LOCUS_RETURN_IF_ERROR(LookAtStreams(sight));
  LOCUS_RETURN_IF_ERROR(LookAtTasks(sight));
  LookAtTable(sight);
  LOCUS_RETURN_IF_ERROR(LookAtGates(sight));
  return sight;
}

absl::Status MoveRunner::LookAtFences(MoveSight& sight) {
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen source, source_bands_->ReadUnbound());
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen target, target_bands_->ReadUnbound());
  source_row_ = source.row;
  target_row_ = target.row;
  sight.fences = SituationOf(source_row_, target_row_, internal::kCohorts);
  if (source.bound_to != 0 || target.bound_to != 0) {
    LOCUS_RETURN_IF_ERROR(MayBindMove(source, target));
    return Rebind();
  }
  if (sight.fences.kind == Situation::Kind::kImpossible) {
    // Read one after the other they may be of two moments; at once they cannot differ for long.
    LOCUS_ASSIGN_OR_RETURN(source_row_, source_bands_->Read());
    sight.fences = SituationOf(source_row_, target_row_, internal::kCohorts);
  }
  sight.step = std::max(source_row_.step, target_row_.step);
  const auto now = SteadyClock::now();
  if (sight.step != seen_step_) {
    seen_step_ = sight.step;
    step_since_ = now;
  }
  if (sight.fences.kind == Situation::Kind::kAgreed) {
    if (step_open_) {
      step_open_ = false;
      // The recipient's stream knows when its shard got the band. This runner only knows when it
      // looked.
      const Direction& took = step_forth_ ? forth_ : back_;
      auto accepted = took.worker ? took.worker->sight().accepted_at : now;
      if (accepted <= let_go_at_) accepted = now;
      waits_ms_.push_back(absl::ToDoubleMilliseconds(absl::FromChrono(accepted - let_go_at_)));
      LOCUS_RETURN_IF_ERROR(Note("waited", absl::StrCat(waits_ms_.back())));
      if (sight.fences.share == seen_share_) {
        ++taken_back_;
      } else {
        taken_back_ = 0;
      }
    }
    if (sight.fences.share != seen_share_) {
      seen_share_ = sight.fences.share;
      share_since_ = now;
      gates_read_at_ = {};  // a command's answer was about the step before
      gates_.clear();
      if (kept_ && kept_->share == seen_share_ && kept_->step == sight.step) TakeOver(*kept_);
    }
    kept_.reset();
  }
  sight.in_step = absl::FromChrono(now - step_since_);
  sight.at_share = absl::FromChrono(now - share_since_);
  sight.taken_back = taken_back_;
  return absl::OkStatus();
}

// If the wish was changed meanwhile, failed work is tried again.
void MoveRunner::TakeOver(const Kept& kept) {
  const auto now = SteadyClock::now();
  share_since_ = now - absl::ToChronoNanoseconds(kept.at_share);
  if (kept.serial != record_.serial) return;
  taken_back_ = kept.taken_back;
  kept_gates_fail_ = kept.gates_fail;
  if (kept.busy <= absl::ZeroDuration()) return;
  busy_at_ = now;
  busy_since_ = now - absl::ToChronoNanoseconds(kept.busy);
}

absl::Status MoveRunner::LookAtStreams(MoveSight& sight) {
  using Mend = internal::StreamSight::Mend;
  const auto now = SteadyClock::now();
  absl::Status taken_over;
  auto look = [&](Direction& direction, const char* name, internal::StreamSight& seen) {
    if (!direction.worker) return;
    const StreamWorker::Sight worker = direction.worker->sight();
    if (worker.ping > 0) direction.pings.Passed(worker.ping, worker.passed_at);
    seen.passed = direction.pings.passed();
    seen.lag = direction.pings.Lag(now);
    seen.waiting = worker.waiting;
    if (IsTakenOver(worker.broken)) taken_over = worker.broken;
    if (!worker.broken.ok()) {
      seen.broken = absl::StrCat("the stream ", name, " stopped: ", worker.broken.message());
      if (stream::IsCannotPass(worker.broken)) seen.mend = Mend::kReseed;
    } else if (worker.counts.rogue > 0) {
      seen.mend = Mend::kCompare;
      seen.broken = absl::StrCat("the stream ", name, " met ", worker.counts.rogue,
                                 " writes past the guards: ", worker.rogue);
    } else if (worker.counts.unguarded > 0) {
      seen.mend = Mend::kCompare;
      seen.broken = absl::StrCat("the stream ", name,
                                 " met a change of triggers, behind which "
                                 "writes may have passed the guards: ",
                                 worker.unguarded);
    }
  };
  look(forth_, "from the source", sight.forth);
  look(back_, "from the target", sight.back);
  const bool both = back_.worker && record_.phase < Phase::kVerifying;
  copy_lag_ms_ = absl::ToDoubleMilliseconds(both ? std::max(sight.forth.lag, sight.back.lag)
                                                 : sight.forth.lag);
  return taken_over;
}

absl::Status MoveRunner::LookAtTasks(MoveSight& sight) {
  absl::Status taken_over;
  auto done = [&](const Task& task, const char* name) {
    if (!task.worker || task.phase != record_.phase) return false;
    const TaskWorker::Sight seen = task.worker->sight();
    if (IsTakenOver(seen.failed)) taken_over = seen.failed;
    if (!seen.failed.ok() && !seen.done) {
      sight.failed = absl::StrCat(name, " stopped: ", seen.failed.message());
    }
    return seen.done;
  };
  sight.copied = done(copy_, "the copy");
  sight.compared = done(compare_, "the comparison");
  sight.cleaned = done(clean_, "the deletion of rows");
  if (sight.compared) sight.differs = FirstDifference();
  return taken_over;
}

std::string MoveRunner::FirstDifference() {
  internal::MutexLock lock(compared_.mutex);
  return compared_.first_difference;
}

void MoveRunner::LookAtTable(MoveSight& sight) {
  const auto now = SteadyClock::now();
  // A table place that hangs must not delay a band that is to be taken back.
  const bool between = HasFences(record_.phase) && sight.fences.kind != Situation::Kind::kAgreed &&
                       sight.fences.kind != Situation::Kind::kImpossible;
  if (now - table_read_at_ >= kTablePause && !between) {
    auto table = publisher_.Current();
    table_read_at_ = SteadyClock::now();
    published_.reset();
    if (table.ok()) {
      const TableSight seen = internal::SightOf(*table, record_.leg);
      MoveSight::Published published;
      published.under_way = seen.kind == TableSight::Kind::kUnderWay;
      published.ended = seen.kind == TableSight::Kind::kEnded;
      published.begun = seen.kind != TableSight::Kind::kAbsent;
      published.share = seen.share;
      published.step = seen.step;
      published_ = published;
    }
  }
  sight.published = published_;
}

absl::Status MoveRunner::LookAtGates(MoveSight& sight) {
  const bool steps = record_.phase == Phase::kReady && record_.wish.hold.empty() &&
                     sight.fences.kind == Situation::Kind::kAgreed &&
                     record_.wish.goal != sight.fences.share;
  const auto now = SteadyClock::now();
  const auto all_open = [&] {
    return std::all_of(gates_.begin(), gates_.end(), [](const Gate& gate) { return gate.ok; });
  };
  // A command may be expensive, so it runs only before a step, after the other gates.
  const bool due = steps && !options_.gates.command.empty() &&
                   record_.wish.goal > sight.fences.share &&
                   (sight.fences.share == 0 || sight.at_share >= record_.wish.dwell);
  // No step is made by gates that were read before the command was due.
  const bool unasked = due && all_open() && absl::c_none_of(gates_, [](const Gate& gate) {
                         return gate.name == kCommandGate;
                       });
  if ((unasked || now - gates_read_at_ >= kGatesPause) && !BandIsOnItsWay()) {
    LOCUS_ASSIGN_OR_RETURN(gates_, ReadGates(sight));
    if (due && all_open()) gates_.push_back(AskCommand(sight));
    gates_read_at_ = SteadyClock::now();
  }
  sight.gates = gates_;
  const bool back = record_.wish.goal < sight.fences.share;
  const bool open = std::all_of(gates_.begin(), gates_.end(), [&](const Gate& gate) {
    return gate.ok || (back && !gate.also_back);
  });
  if (open || !steps) gates_ok_at_ = now;
  sight.gates_fail = absl::FromChrono(now - gates_ok_at_);
  // The streams of a runner that has just started lag; that must not use up its patience.
  const bool streams = sight.forth.passed && (sight.back.passed || !HasBack(record_.phase));
  if (streams && (open || !steps)) kept_gates_fail_ = absl::ZeroDuration();
  if (streams) sight.gates_fail += kept_gates_fail_;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Gate>> MoveRunner::ReadGates(const MoveSight& sight) {
  std::vector<Gate> gates;
  if (record_.phase < Phase::kStreaming || record_.phase > Phase::kFinalizing) return gates;
  auto duration = [&](const std::string& name, absl::Duration value, absl::Duration most,
                      bool also_back, const std::string& why = "") {
    std::string text = value == absl::InfiniteDuration()
                           ? "stands still"
                           : absl::FormatDuration(absl::Floor(value, absl::Milliseconds(1)));
    if (!why.empty()) absl::StrAppend(&text, " (", why, ")");
    gates.push_back({name, absl::FormatDuration(most), text, value <= most, also_back, false});
  };
  duration("lag from the source", sight.forth.lag, options_.gates.lag, false, sight.forth.waiting);
  if (HasBack(record_.phase)) {
    duration("lag from the target", sight.back.lag, options_.gates.lag, true, sight.back.waiting);
  }
  for (const auto& [shard, link] :
       {std::pair(&move_.source, source_.get()), std::pair(&move_.target, target_.get())}) {
    // trx_started has whole seconds, so an age is only known to be up to one less.
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link->Run("SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6))), 0) FROM"
                  " information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID();"
                  "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE"
                  " VARIABLE_NAME = 'INNODB_HISTORY_LIST_LENGTH'",
                  {OneRow(1), OneRow(1)}));
    LOCUS_ASSIGN_OR_RETURN(int64_t micros, NumberIn(results[0].rows[0], 0, link->place()));
    LOCUS_ASSIGN_OR_RETURN(int64_t history, NumberIn(results[1].rows[0], 0, link->place()));
    const absl::Duration age =
        std::max(absl::ZeroDuration(), absl::Microseconds(micros) - absl::Seconds(1));
    duration(absl::StrCat("oldest transaction of ", shard->name), age,
             options_.gates.oldest_transaction, true);
    gates.push_back(
        {absl::StrCat("history list of ", shard->name), absl::StrCat(options_.gates.history_list),
         absl::StrCat(history),
         static_cast<uint64_t>(std::max<int64_t>(history, 0)) <= options_.gates.history_list, false,
         false});
  }
  return gates;
}

Gate MoveRunner::AskCommand(const MoveSight& sight) {
  Gate gate{kCommandGate, "exit 0", "", true, false, options_.gates.command_rolls_back};
  const uint32_t next = std::min(record_.wish.goal, sight.fences.share + record_.wish.by);
  auto exit = internal::RunShellCommand(options_.gates.command,
                                        {{"LOCUS_MOVE", move_.name},
                                         {"LOCUS_SHARE", absl::StrCat(sight.fences.share)},
                                         {"LOCUS_NEXT_SHARE", absl::StrCat(next)}},
                                        std::min(kCommandTime, options_.take_over_after / 2));
  gate.value = exit.ok() ? absl::StrCat("exit ", *exit) : std::string(exit.status().message());
  gate.ok = exit.ok() && *exit == 0;
  return gate;
}

}  // namespace locus::mysql
