// SPDX-License-Identifier: Apache-2.0
// The work of a runner on other threads: copies, compares and deletes rows.
#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "migration/apply/peer_bands.h"
#include "migration/apply/row_copier.h"
#include "migration/run/move_runner.h"
#include "migration/run/row_cleaner.h"
#include "migration/run/tombstones.h"
#include "migration/verify/marker_pass.h"
#include "migration/verify/row_verifier.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::BandFence;
using internal::Phase;
using internal::Side;
using SteadyClock = std::chrono::steady_clock;

namespace {

// Behind this lag of the stream the copy waits for it.
constexpr double kMostLagMs = 5000;
// So many rows that differ are listed in the history.
constexpr size_t kMostNoted = 100;

// How long a unique value that another row has is waited for: behind it both have it at one moment.
constexpr std::chrono::seconds kUniqueValuePatience{60};
constexpr absl::Duration kUniqueValuePause = absl::Milliseconds(200);

}  // namespace

absl::Status MoveRunner::Copy(const std::atomic<bool>& stop) {
  // An attempt continues where the last one, or a former runner, ended.
  copied_.BeginAgain(SteadyClock::now());
  if (copies_forth_) LOCUS_RETURN_IF_ERROR(CopyTo(Side::kTarget, stop));
  return copies_back_ ? CopyTo(Side::kSource, stop) : absl::OkStatus();
}

// Only orders that the other shard accepts, which no step changes before the comparison. Of other
// orders that shard has copies itself; writes to them that passed the guards are not copied back.
absl::Status MoveRunner::CopyTo(Side recipient, const std::atomic<bool>& stop) {
  const bool forth = recipient == Side::kTarget;
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> from, (forth ? source_ : target_)->Another());
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> to, (forth ? target_ : source_)->Another());
  const absl::Cleanup end_lost = [&to, &stop] {
    if (!stop) to->EndLostSession();
  };
  LOCUS_ASSIGN_OR_RETURN(const BandFence own,
                         BandRows(move_, internal::Other(recipient), *from).Read());
  if (own.own_lo >= own.own_hi) return absl::OkStatus();
  // A row that a candidate lacks must not reach the other shard by the copy either.
  LOCUS_ASSIGN_OR_RETURN(auto candidates, CandidatesOf(recipient));
  CandidateWatch watch(std::move(candidates), move_.name, run_);
  const auto wait = [&] { return watch.WaitForAll(*from, stop); };
  LOCUS_RETURN_IF_ERROR(CopyTombstones(*from, *to, move_, own, run_, wait, stop));
  LOCUS_RETURN_IF_ERROR(DeleteDeadRows(*to, move_, own, run_, stop));
  LOCUS_ASSIGN_OR_RETURN(const uint64_t there, EstimateRows(*from, move_));
  copied_.Expect(there * (own.own_hi - own.own_lo) / internal::kCohorts);
  uint64_t before = copied_.At(SteadyClock::now()).rows;
  for (const MovedTable& table : move_.tables) {
    ApplierOptions applying;
    applying.server = to->Options();
    applying.recipient = recipient;
    applying.tables = {table};
    applying.move = move_.name;
    applying.ranges = move_.ranges;
    applying.run = run_;
    applying.stop = &stop;
    applying.peer.assign(move_.ranges.size(), own);
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ChangeApplier> applier,
                           ChangeApplier::Open(applying, stream::GtidPosition()));
    CopierOptions copying;
    copying.source = from->Options();
    if (own.own_lo > 0 || own.own_hi < internal::kCohorts)
      copying.cohorts = {own.own_lo, own.own_hi};
    copying.table = table;
    copying.ranges = move_.ranges;
    copying.chunk_time = options_.pace.chunk_time;
    if (!watch.empty()) copying.before_write = wait;
    // Rows that are written meanwhile come by the stream, so the copy must not outrun it by far.
    copying.pause = [this, &stop] {
      const bool behind = copy_lag_ms_ > kMostLagMs && !stop;
      return behind ? absl::Milliseconds(200) : absl::ZeroDuration();
    };
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<RowCopier> copier, RowCopier::Open(copying, *applier));
    std::optional<SteadyClock::time_point> conflict_since;
    for (bool more = true; more && !stop;) {
      absl::StatusOr<bool> copied = copier->CopyChunk();
      // Another row had the value before, and the stream has not yet brought that row's new value.
      // Once it has, the same rows are read again.
      if (IsUniqueConflict(copied.status())) {
        const auto now = SteadyClock::now();
        if (!conflict_since) conflict_since = now;
        if (now - *conflict_since < kUniqueValuePatience) {
          absl::SleepFor(kUniqueValuePause);
          continue;
        }
      }
      conflict_since.reset();
      if (absl::IsUnavailable(copied.status())) {
        to->EndSession(applier->session(), applier->place()).IgnoreError();
      }
      LOCUS_ASSIGN_OR_RETURN(more, std::move(copied));
      copied_.Reached(before + copier->rows(), SteadyClock::now());
    }
    before += copier->rows();
  }
  return absl::OkStatus();
}

absl::Status MoveRunner::Clean(const std::atomic<bool>& stop) {
  if (keep_) return absl::OkStatus();
  const bool aborts = clean_.phase == Phase::kAborting;
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, (aborts ? target_ : source_)->Another());
  const absl::Cleanup end_lost = [&link, &stop] {
    if (!stop) link->EndLostSession();
  };
  if (aborts) {
    // Given up before the target was prepared: nothing was copied.
    auto rows = BandRows(move_, Side::kTarget, *link).Touching();
    if (link->error() == kNoSuchTable || (rows.ok() && rows->empty())) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(rows.status());
  }
  return DeleteMovedRows(*link, move_, aborts ? Side::kTarget : Side::kSource, run_,
                         options_.pace.chunk_time, stop, cleaned_rows_);
}

absl::Status MoveRunner::Compare(const std::atomic<bool>& stop) {
  VerifierOptions comparing;
  comparing.source = source_->Options();
  comparing.target = target_->Options();
  comparing.tables = move_.tables;
  comparing.ranges = move_.ranges;
  comparing.slice_time = options_.pace.chunk_time;
  comparing.keep_time = std::min(options_.pace.fence_wait, absl::Seconds(1));
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MarkerPass> pass,
                         MarkerPass::Open(comparing.source, comparing.target, move_.name));
  comparing.pass = [&pass](TimePoint deadline) { return (*pass)(deadline); };
  comparing.before_slice = [&stop] {
    return stop ? absl::CancelledError("the comparison is to end") : absl::OkStatus();
  };
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<RowVerifier> verifier, RowVerifier::Open(comparing));
  {
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, source_->Another());
    LOCUS_ASSIGN_OR_RETURN(const uint64_t there, EstimateRows(*link, move_));
    compared_.progress.Begin(0, there, SteadyClock::now());
  }
  for (bool more = true; more && !stop;) {
    absl::StatusOr<bool> compared = verifier->VerifySlice();
    // A stream that makes no progress waits for a shard; so does this.
    if (absl::IsDeadlineExceeded(compared.status())) {
      return absl::UnavailableError(compared.status().message());
    }
    LOCUS_ASSIGN_OR_RETURN(more, std::move(compared));
    compared_.progress.Reached(verifier->counts().rows, SteadyClock::now());
    compared_.slices = verifier->counts().slices;
    compared_.differences = verifier->counts().differences;
  }
  const VerifierCounts& counts = verifier->counts();
  if (counts.differences == 0 && counts.still_changing > 0) {
    // This is no difference: clients write these rows faster than the streams follow. It may soon
    // change.
    return absl::UnavailableError(absl::StrCat(
        counts.still_changing, " rows were written whenever they were compared, beginning anew: ",
        TextOf(verifier->differences().front())));
  }
  internal::MutexLock lock(compared_.mutex);
  compared_.first_difference.clear();
  compared_.found.clear();
  for (const internal::RowDifference& difference : verifier->differences()) {
    if (compared_.found.size() == kMostNoted) break;
    compared_.found.push_back(TextOf(difference));
  }
  if (!verifier->counts().equal()) {
    compared_.first_difference =
        absl::StrCat(verifier->counts().differences, " rows differ, ",
                     verifier->counts().still_changing, " did not stand still",
                     verifier->differences().empty()
                         ? std::string()
                         : absl::StrCat("; the first: ", TextOf(verifier->differences().front())));
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
