// SPDX-License-Identifier: Apache-2.0
#include "migration/run/move_runner.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/copy_marker.h"
#include "migration/run/rebind.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Phase;
using internal::Quoted;
using internal::Situation;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kRound{50};
// While a band is between the shards, its writers wait for this loop.
constexpr std::chrono::milliseconds kUrgentRound{2};
constexpr std::chrono::seconds kStandbyRound{1};
// Between rounds that fail, at most; while a band is between the shards.
constexpr absl::Duration kLongestPause = absl::Seconds(1),
                         kLongestUrgentPause = absl::Milliseconds(200);

bool IsOver(Phase phase) { return phase == Phase::kDone || phase == Phase::kAborted; }

void SleepUnless(const std::atomic<bool>& stop, std::chrono::milliseconds time) {
  const auto until = SteadyClock::now() + time;
  while (!stop && SteadyClock::now() < until) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
        kRound, until - SteadyClock::now() + std::chrono::microseconds(1)));
  }
}

}  // namespace

absl::Status RunnerOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(pace.Check());
  LOCUS_RETURN_IF_ERROR(gates.Check());
  if (take_over_after < absl::Seconds(1) || take_over_after > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("runner option take_over_after is ",
                                                   absl::FormatDuration(take_over_after),
                                                   "; it must be 1s to 1h"));
  }
  if (link_timeout < absl::Seconds(3) || link_timeout > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("runner option link_timeout is ",
                                                   absl::FormatDuration(link_timeout),
                                                   "; it must be 3s to 1h"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MoveRunner>> MoveRunner::Create(const Move& move,
                                                               const RunnerOptions& options,
                                                               TablePublisher& publisher) {
  LOCUS_RETURN_IF_ERROR(move.Check());
  LOCUS_RETURN_IF_ERROR(options.Check());
  RunnerOptions kept = options;
  for (auto* candidates : {&kept.source_candidates, &kept.target_candidates}) {
    for (MysqlOptions& one : *candidates) one = WithoutPassword(std::move(one));
    candidates->clear();
  }
  std::unique_ptr<MoveRunner> runner(
      new MoveRunner(WithoutPasswords(move), std::move(kept), publisher));
  LOCUS_ASSIGN_OR_RETURN(runner->source_candidates_, CandidatesAt(options.source_candidates));
  LOCUS_ASSIGN_OR_RETURN(runner->target_candidates_, CandidatesAt(options.target_candidates));
  LOCUS_ASSIGN_OR_RETURN(runner->source_, ShardLink::Create(move.source.server));
  LOCUS_ASSIGN_OR_RETURN(runner->target_, ShardLink::Create(move.target.server));
  runner->source_->set_before_statement(options.before_statement);
  runner->target_->set_before_statement(options.before_statement);
  runner->records_ = std::make_unique<MoveRecords>(*runner->source_);
  runner->source_bands_ =
      std::make_unique<BandRows>(runner->move_, internal::Side::kSource, *runner->source_);
  runner->target_bands_ =
      std::make_unique<BandRows>(runner->move_, internal::Side::kTarget, *runner->target_);
  return runner;
}

MoveRunner::~MoveRunner() { EndWorkers(); }

void MoveRunner::EndWorkers() {
  copy_.worker = nullptr;
  compare_.worker = nullptr;
  clean_.worker = nullptr;
  forth_ = {};
  back_ = {};
}

absl::Status MoveRunner::Run(const std::atomic<bool>& stop) {
  while (!stop) {
    LOCUS_RETURN_IF_ERROR(Standby(stop));
    if (stop) break;
    const absl::Status status = Serve(stop);
    Tell(false);
    EndWorkers();
    if (status.ok()) {
      if (IsOver(record_.phase)) return status;
      records_->Release(move_.name, run_).IgnoreError();
    } else if (!absl::IsFailedPrecondition(status)) {
      return status;
    }
    // Another runner has taken over: this one stands by.
  }
  return absl::CancelledError(
      absl::StrCat("the runner of move ", Quoted(move_.name), " was stopped"));
}

// Until this is the runner.
absl::Status MoveRunner::Standby(const std::atomic<bool>& stop) {
  while (!stop) {
    Tell(false);
    const std::optional<uint64_t> word = internal::RandomWord();
    if (!word) return absl::UnavailableError("the system has no randomness for a run's number");
    run_ = (*word & INT64_MAX) | 1;
    // Before it becomes the runner, so that a runner with the right file is not disturbed.
    const absl::Status tables = records_->CheckTables(move_.name, move_.tables);
    if (absl::IsInvalidArgument(tables)) return tables;
    auto claimed = records_->Claim(move_.name, run_, options_.name, options_.take_over_after);
    begun_ = begun_ || (claimed.ok() && *claimed);
    unbegun_ = unbegun_ && !begun_;
    if (claimed.ok() && *claimed) return absl::OkStatus();
    if (claimed.ok()) {
      auto record = records_->Read(move_.name);
      begun_ = begun_ || record.ok();
      if (absl::IsNotFound(record.status())) {
        const absl::Status never = CheckNeverBegun();
        if (absl::IsDataLoss(never)) return never;
        unbegun_ = never.ok();
      }
      if (record.ok() && IsOver(record->phase)) return absl::OkStatus();
    } else if (!absl::IsUnavailable(claimed.status())) {
      return claimed.status();
    }
    SleepUnless(stop, kStandbyRound);
  }
  return absl::OkStatus();
}

// DATA_LOSS: this move was begun, and its record is gone. The shards name the move if any runner
// had it. A fence alone may be that of an earlier move.
absl::Status MoveRunner::CheckNeverBegun() {
  bool begun = begun_;
  for (ShardLink* link : {source_.get(), target_.get()}) {
    LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> traces, TracesOf(*link, move_.name));
    begun = begun || !traces.empty();
  }
  if (!begun) {
    const auto source = source_bands_->ReadUnbound(), target = target_bands_->ReadUnbound();
    begun = source.ok() && target.ok() &&
            SituationOf(source->row, target->row, internal::kCohorts).share > 0;
  }
  if (!begun) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("mariadb ", source_->place(), " has no record of move ",
                                          Quoted(move_.name),
                                          ", which was begun: locus_move, or its row, was lost; "
                                          "restore it from a backup of that shard"));
}

// Transactions of former runners end before this one begins, and they write nothing afterwards.
absl::Status MoveRunner::BurnOtherRuns() {
  if (options_.before_statement) options_.before_statement("burn the runs of others");
  return BurnRuns({source_.get(), target_.get()}, move_.name, run_);
}

absl::Status MoveRunner::Serve(const std::atomic<bool>& stop) {
  bool burnt = false, took = false;
  internal::Backoff pauses({absl::FromChrono(kRound), kLongestPause, 0.5});
  step_since_ = share_since_ = gates_ok_at_ = SteadyClock::now();
  seen_step_ = 0;
  seen_share_ = UINT32_MAX;
  taken_back_ = 0;
  alarm_.clear();
  step_open_ = false;
  last_sight_ = {};
  unguarded_.clear();
  unguarded_looks_ = 0;
  table_read_at_ = gates_read_at_ = guards_read_at_ = beat_at_ = sample_at_ = {};
  busy_since_ = {};
  while (!stop) {
    auto record = records_->Read(move_.name);
    absl::Status status = record.status();
    if (status.ok()) {
      record_ = *std::move(record);
      if (IsOver(record_.phase)) return absl::OkStatus();
      if (!took) TakeWaits();
      took = true;
      if (record_.run != run_) return TakenOver(source_->place(), move_.name);
      const MoveLeg leg{move_.source.id, move_.target.id, move_.ranges};
      if (!(record_.leg == leg)) {
        return absl::InvalidArgumentError(
            absl::StrCat("move ", Quoted(move_.name), " was begun for other vnodes or shards than ",
                         "this runner was started with: start it again"));
      }
      // Before anything is written: an old primary may have been fenced off by read_only alone.
      status = source_->CheckPrimary();
      const bool both = record_.phase >= Phase::kPrepared && record_.phase < Phase::kFinalized;
      if (status.ok() && both) status = target_->CheckPrimary();
      if (status.ok() && burnt) {
        status = Round();
      } else if (status.ok()) {
        status = BurnOtherRuns();
        burnt = status.ok();
        // Another runner may have taken over meanwhile: look again.
        if (burnt) continue;
      }
    }
    // If the record still names this runner, the shards name one that was stopped before it burned
    // the runs of others, and woke up: burn its run.
    if (IsTakenOver(status)) {
      EndWorkers();
      burnt = false;
      SleepUnless(stop, kRound);
      continue;
    }
    trouble_ = std::string(status.message());
    Tell(true);
    // The record shows whether another runner has taken this move over.
    if (!status.ok() && !absl::IsUnavailable(status) && !absl::IsAborted(status) &&
        alarm_.empty()) {
      alarm_ = trouble_;
      alarm_serial_ = record_.serial;
    }
    const Situation::Kind kind = last_sight_.fences.kind;
    const bool between =
        step_open_ || (kind != Situation::Kind::kAgreed && kind != Situation::Kind::kImpossible);
    // A failure during the look must lead here as well: it never reaches the decision.
    if (!status.ok() && !alarm_.empty() && !between && record_.run == run_ &&
        record_.wish.hold.empty()) {
      Hold(alarm_, false).IgnoreError();
    }
    // A runner that waits for a shard is alive, so no other should take over.
    if (!status.ok() && record_.run == run_) Beat(last_sight_, {}).IgnoreError();
    if (status.ok()) {
      pauses.Reset();
      SleepUnless(stop, step_open_ ? kUrgentRound : kRound);
      continue;
    }
    // A shard that does not answer, or refuses, is asked less and less often.
    const absl::Duration longest =
        std::min(between ? kLongestUrgentPause : kLongestPause, options_.take_over_after / 4);
    SleepUnless(stop, absl::ToChronoMilliseconds(
                          std::min(pauses.Next(internal::RandomWord().value_or(0)), longest)));
  }
  return absl::OkStatus();
}

absl::Status MoveRunner::Round() {
  if (record_.serial != seen_serial_ && record_.wish.hold.empty()) {
    taken_back_ = 0;
    busy_since_ = {};
    guards_read_at_ = {};  // they may have been mended
  }
  if (record_.serial != seen_serial_) {
    asked_at_ = SteadyClock::now();
    gates_read_at_ = {};
  }
  seen_serial_ = record_.serial;
  // An operator has looked and changed the wish: try again.
  if (!alarm_.empty() && record_.serial != alarm_serial_ && record_.wish.hold.empty()) {
    alarm_.clear();
    taken_back_ = 0;
  }
  LOCUS_RETURN_IF_ERROR(MaintainWorkers());
  LOCUS_ASSIGN_OR_RETURN(internal::MoveSight sight, Look());
  internal::Decision decision = Decide(sight);
  last_sight_ = sight;
  LOCUS_RETURN_IF_ERROR(Act(decision, sight));
  if (IsOver(record_.phase)) {
    // Stays in the record, for commands that read it later.
    sight.phase = record_.phase;
    decision = {};
  }
  return Beat(sight, decision);
}

}  // namespace locus::mysql
