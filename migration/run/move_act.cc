// SPDX-License-Identifier: Apache-2.0
// The actions of a runner on its move.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "migration/apply/peer_bands.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/moved_tables.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/move_runner.h"
#include "migration/run/rebind.h"
#include "migration/run/tombstones.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::BandFence;
using internal::Decision;
using internal::FenceRow;
using internal::MoveSight;
using internal::Phase;
using internal::Quoted;
using internal::Side;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kBindPause{1};

}  // namespace

absl::Status MoveRunner::Act(const Decision& decision, const MoveSight& sight) {
  switch (decision.kind) {
    case Decision::Kind::kWait:
      return absl::OkStatus();
    case Decision::Kind::kEnter:
      return EnterPhase(decision.phase, sight);
    case Decision::Kind::kLetGo:
      return LetGo(decision.share);
    case Decision::Kind::kRefuse: {
      LOCUS_ASSIGN_OR_RETURN(const bool refused,
                             Change(internal::Other(sight.fences.donor),
                                    Refuse(source_row_, target_row_, internal::kCohorts)));
      return refused ? Note("taken back", decision.why) : absl::OkStatus();
    }
    case Decision::Kind::kRestore:
      // A promoted candidate that lacks the refusal would obey the token, and both shards would
      // accept the band.
      LOCUS_RETURN_IF_ERROR(CandidatesHave(internal::Other(sight.fences.donor)));
      return Change(sight.fences.donor, Restore(source_row_, target_row_, internal::kCohorts))
          .status();
    case Decision::Kind::kLevel:
      LOCUS_RETURN_IF_ERROR(CandidatesHave(sight.fences.donor));
      return Change(internal::Other(sight.fences.donor),
                    Level(source_row_, target_row_, internal::kCohorts))
          .status();
    case Decision::Kind::kPublish:
    case Decision::Kind::kPublishEnd:
    case Decision::Kind::kPublishDrop: {
      if (decision.kind == Decision::Kind::kPublishEnd) {
        LOCUS_RETURN_IF_ERROR(CandidatesKnowTheEnd());
      }
      auto published = internal::PublishChange(
          publisher_, record_.leg,
          internal::SafeNote(options_.name, absl::StrCat("move ", move_.name)),
          [&](const RoutingTable& newest) -> absl::StatusOr<RoutingTable> {
            if (decision.kind == Decision::Kind::kPublishEnd)
              return internal::WithEnd(newest, record_.leg);
            if (decision.kind == Decision::Kind::kPublishDrop) {
              return internal::WithoutMove(newest, record_.leg);
            }
            return internal::WithShare(newest, record_.leg, decision.share, sight.step);
          });
      table_read_at_ = {};
      LOCUS_RETURN_IF_ERROR(published.status());
      return Note("published", absl::StrCat("epoch ", published->epoch()));
    }
    case Decision::Kind::kHold:
      // Before the hold, whose text sends the operator to these notes.
      if (!sight.differs.empty()) LOCUS_RETURN_IF_ERROR(NoteDifferences());
      return Hold(decision.why, false);
    case Decision::Kind::kRepair:
      return Repair(decision, sight);
    case Decision::Kind::kRollBack:
      return Hold(decision.why, true);
  }
  return absl::OkStatus();
}

// A promoted source that does not know of the end would look for the move in a table that no longer
// has it.
absl::Status MoveRunner::CandidatesKnowTheEnd() {
  for (Candidate& candidate : source_candidates_) {
    if (absl::c_linear_search(dropped_, candidate.place)) continue;
    LOCUS_ASSIGN_OR_RETURN(MoveRecord record, MoveRecords(*candidate.link).Read(move_.name));
    if (record.phase >= Phase::kFinalized) continue;
    return absl::UnavailableError(absl::StrCat("candidate ", candidate.place,
                                               " does not know yet that the move is finalized"));
  }
  return absl::OkStatus();
}

// UNAVAILABLE at once where it was so a moment ago.
absl::Status MoveRunner::Sparingly(Intrusion& intrusion,
                                   const std::function<absl::Status()>& work) {
  if (SteadyClock::now() < intrusion.next_at) return intrusion.last;
  const absl::Status status = work();
  if (absl::IsUnavailable(status)) {
    const absl::Duration pause = intrusion.pauses.Next(internal::RandomWord().value_or(0));
    intrusion.next_at = SteadyClock::now() + absl::ToChronoNanoseconds(pause);
    intrusion.last = status;
  } else {
    intrusion.pauses.Reset();
  }
  return status;
}

absl::Status MoveRunner::Hold(const std::string& why, bool roll_back) {
  internal::Wish wish = record_.wish;
  wish.hold = roll_back ? "" : why;
  if (roll_back) wish.goal = 0;
  LOCUS_RETURN_IF_ERROR(records_->ChangeWish(move_.name, record_.serial, wish, run_));
  // A `resume` starts stopped work again, even if it comes before this runner's next look.
  for (Direction* direction : {&forth_, &back_}) direction->held = true;
  for (Task* task : {&copy_, &compare_, &clean_}) task->held = true;
  // The runner itself made this hold. Only a later change by an operator clears an alarm.
  if (alarm_serial_ == record_.serial) alarm_serial_ = record_.serial + 1;
  return Note(roll_back ? "roll back" : "hold", why);
}

absl::Status MoveRunner::Note(const std::string& kind, const std::string& text) {
  return records_->Note(move_.name, kind, source_row_.own_lo, text, run_);
}

absl::Status MoveRunner::EnterPhase(Phase phase, const MoveSight& sight) {
  switch (phase) {
    case Phase::kPrepared:
      LOCUS_RETURN_IF_ERROR(Sparingly(prepares_, [this] { return Prepare(); }));
      {
        LOCUS_ASSIGN_OR_RETURN(const bool done, RegroupFences());
        if (!done) return absl::OkStatus();  // the move is held
      }
      break;
    case Phase::kCopying:
      copied_.Begin(0, 0, SteadyClock::now());
      break;
    case Phase::kVerifying:
    case Phase::kFinalizing: {
      compared_.progress.Begin(0, 0, SteadyClock::now());
      internal::MutexLock lock(compared_.mutex);
      compared_.first_difference.clear();
      compared_.found.clear();
      break;
    }
    case Phase::kFinalized:
    case Phase::kAborting:
      LOCUS_RETURN_IF_ERROR(EndStreams());
      break;
    case Phase::kDone:
    case Phase::kAborted:
      LOCUS_RETURN_IF_ERROR(Sparingly(removes_, [this] { return CleanUp(); }));
      break;
    default:
      break;
  }
  LOCUS_RETURN_IF_ERROR(records_->SetPhase(record_, phase));
  record_.phase = phase;
  return records_->Note(move_.name, "phase", sight.fences.share, std::string(ToString(phase)),
                        run_);
}

// A shard was promoted or restored before the move began. No other command would bind its vnodes.
absl::Status MoveRunner::BindUnbegun() {
  const auto now = SteadyClock::now();
  if (now - bound_at_ < kBindPause) return absl::OkStatus();
  bound_at_ = now;
  LOCUS_ASSIGN_OR_RETURN(bool source, HasUnboundRows(*source_, move_.ranges));
  LOCUS_ASSIGN_OR_RETURN(bool target, HasUnboundRows(*target_, move_.ranges));
  if (!source && !target) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, publisher_.Current());
  const internal::TableSight seen = internal::SightOf(table, record_.leg);
  if (seen.kind != internal::TableSight::Kind::kUnderWay || seen.share != 0) {
    return absl::OkStatus();
  }
  LOCUS_RETURN_IF_ERROR(MayBindUnbegun(move_, *source_, *target_, false));
  for (const bool at_source : {true, false}) {
    if (!(at_source ? source : target)) continue;
    ShardLink& link = at_source ? *source_ : *target_;
    LOCUS_ASSIGN_OR_RETURN(
        RebindResult bound,
        RebindRows(link, (at_source ? move_.source : move_.target).id, table, move_.ranges, false));
    LOCUS_RETURN_IF_ERROR(Note("rebound", absl::StrCat(link.place(), ": ", bound.bound.size(),
                                                       " rows, ", bound.left.size(), " left")));
  }
  return absl::OkStatus();
}

// A shard of the move was promoted or restored. Where the fences of both shards agree, no cohort is
// accepted twice, and a step that was under way is finished or taken back. The rows of the new
// server are compared again.
absl::Status MoveRunner::Rebind() {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, publisher_.Current());
  // First: a runner that dies here must not leave a shard that is bound and was not compared.
  LOCUS_RETURN_IF_ERROR(
      records_->StartOver(record_, std::max(source_row_.own_lo, target_row_.own_hi)));
  // A stream may have read a token that the new server lacks. The fences can be trusted only once
  // it can no longer obey that token.
  EndWorkers();
  const std::optional<uint64_t> word = internal::RandomWord();
  if (!word) return absl::UnavailableError("the system has no randomness for a run's number");
  run_ = (*word & INT64_MAX) | 1;
  LOCUS_RETURN_IF_ERROR(BurnOtherRuns());
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen source, source_bands_->ReadUnbound());
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen target, target_bands_->ReadUnbound());
  LOCUS_RETURN_IF_ERROR(MayBindMove(source, target));
  for (const bool at_source : {true, false}) {
    if ((at_source ? source : target).bound_to == 0) continue;
    LOCUS_ASSIGN_OR_RETURN(
        RebindResult bound,
        RebindRows(at_source ? *source_ : *target_, (at_source ? move_.source : move_.target).id,
                   table, move_.ranges, false));
    LOCUS_RETURN_IF_ERROR(
        records_->Note(move_.name, "rebound", source_row_.own_lo,
                       absl::StrCat((at_source ? source_ : target_)->place(), ": ",
                                    bound.bound.size(), " rows, ", bound.left.size(), " left")));
  }
  // The move has no runner now, and this one takes it again.
  return absl::UnavailableError("a shard was bound to another server; beginning anew");
}

// No process can apply rows of this move any more.
absl::Status MoveRunner::EndStreams() {
  forth_ = {};
  back_ = {};
  compare_.worker = nullptr;
  copy_.worker = nullptr;
  if (record_.phase == Phase::kPlanned) return absl::OkStatus();
  return BurnOtherRuns();
}

absl::Status MoveRunner::CleanUp() {
  clean_.worker = nullptr;
  if (record_.wish.keep) return absl::OkStatus();
  for (ShardLink* link : {source_.get(), target_.get()}) {
    LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                           MovedTables::Create(link->Options(), move_.tables, move_.movers));
    LOCUS_RETURN_IF_ERROR(tables.Remove(move_.name));
    for (const char* marker : {kCheckpoints, kCopies}) {
      const absl::Status removed =
          link->Run(absl::StrCat("DELETE FROM ", marker, " WHERE move = ", SqlText(move_.name)))
              .status();
      if (!removed.ok() && link->error() != kNoSuchTable) return removed;
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
