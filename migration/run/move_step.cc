// SPDX-License-Identifier: Apache-2.0
// How a runner hands a band over: the one row of a fence that each part of a step changes.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "migration/apply/peer_bands.h"
#include "migration/run/move_runner.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"

namespace locus::mysql {

using internal::BandFence;
using internal::FenceRow;
using internal::Side;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr int kMostUnguardedRounds = 40;
// A step that writers held up longer ago does not count for the same row.
constexpr std::chrono::seconds kBusyForgotten{20};

}  // namespace

// A step back relies on a row of one shard when it changes the other's: the shard must still have
// that row if one of its candidates is promoted.
absl::Status MoveRunner::CandidatesHave(Side side) {
  const bool source = side == Side::kSource;
  const BandFence& row = source ? source_row_ : target_row_;
  for (Candidate& candidate : source ? source_candidates_ : target_candidates_) {
    if (absl::c_linear_search(dropped_, candidate.place)) continue;
    LOCUS_ASSIGN_OR_RETURN(BandRows::Seen seen,
                           BandRows(move_, side, *candidate.link).ReadUnbound());
    if (seen.row == row) continue;
    return absl::UnavailableError(absl::StrCat(
        "candidate ", candidate.place, " does not have step ", row.step, " of the fence yet"));
  }
  return absl::OkStatus();
}

// Replaces the one row that a decision changes, at the step that was read.
absl::StatusOr<BandRows::Written> MoveRunner::Write(Side side, const BandFence& row) {
  const bool source = side == Side::kSource;
  return (source ? source_bands_ : target_bands_)
      ->Replace(row, (source ? source_row_ : target_row_).step, run_, options_.pace.fence_wait);
}

// The rows of both fences, at one step that no fence of these vnodes ever had.
absl::Status MoveRunner::PrepareFences() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<FenceRow> source, source_bands_->Touching());
  LOCUS_ASSIGN_OR_RETURN(std::vector<FenceRow> target, target_bands_->Touching());
  uint64_t step = 0;
  for (const FenceRow& row : source) step = std::max(step, row.step);
  for (const FenceRow& row : target) step = std::max(step, row.step);
  ++step;
  auto source_row = source_bands_->Read(), target_row = target_bands_->Read();
  if (source_row.ok() && target_row.ok()) {
    const internal::Situation now = SituationOf(*source_row, *target_row, internal::kCohorts);
    const bool named =
        source.front().other == move_.target.name && target.front().other == move_.source.name;
    // Made before this, but perhaps not all vnodes were given to them.
    if (now.kind == internal::Situation::Kind::kAgreed && now.share == 0 && named) {
      step = source_row->step;
    }
  }
  LOCUS_RETURN_IF_ERROR(target_bands_->Make(step, run_, options_.pace.fence_wait));
  return source_bands_->Make(step, run_, options_.pace.fence_wait);
}

// Whether they are made; no: the move was held, as for a step.
absl::StatusOr<bool> MoveRunner::RegroupFences() {
  const unsigned before = source_bands_->kept() + target_bands_->kept();
  const absl::Status made = Sparingly(steps_, [this] { return PrepareFences(); });
  if (source_bands_->kept() + target_bands_->kept() > before) {
    LOCUS_RETURN_IF_ERROR(HoldBusyStep(made));
    return false;
  }
  LOCUS_RETURN_IF_ERROR(made);
  busy_since_ = {};
  return true;
}

absl::Status MoveRunner::KeptFrom(Side side) const {
  const bool source = side == Side::kSource;
  return KeptFence((source ? source_ : target_)->place(), options_.pace.fence_wait,
                   (source ? source_bands_ : target_bands_)->holders());
}

// Whether it was replaced. Where another session was faster, the next look sees it. Those who wrote
// longest go first.
absl::StatusOr<bool> MoveRunner::Change(Side side, const std::optional<BandFence>& row) {
  if (!row) return false;
  auto written = BandRows::Written::kOutdated;
  LOCUS_RETURN_IF_ERROR(Sparingly(changes_, [&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(written, Write(side, *row));
    if (written != BandRows::Written::kBusy) return absl::OkStatus();
    return KeptFrom(side);
  }));
  return written == BandRows::Written::kDone;
}

// A long transaction may keep the fence for hours, and each attempt to step holds up all other
// writers. So after the patience of the gates the move is held.
absl::Status MoveRunner::HoldBusyStep(const absl::Status& busy) {
  const auto now = SteadyClock::now();
  if (busy_since_ == TimePoint() || now - busy_at_ > kBusyForgotten) busy_since_ = now;
  busy_at_ = now;
  if (absl::FromChrono(now - busy_since_) <= options_.gates.patience) return busy;
  busy_since_ = {};
  return Hold(absl::StrCat("again and again: ", busy.message()), false);
}

// A step relies on the guards. They seem to be missing while another move makes triggers on the
// same table, so only guards that are missing for longer count.
absl::Status MoveRunner::CheckGuards() {
  for (const ShardLink* link : {source_.get(), target_.get()}) {
    LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                           ShardFence::Create(link->Options(), FenceOptionsOf(move_)));
    const absl::Status verified = fence.Verify();
    if (verified.ok()) continue;
    if (++unguarded_rounds_ >= kMostUnguardedRounds) return verified;
    return absl::UnavailableError(verified.message());
  }
  unguarded_rounds_ = 0;
  return absl::OkStatus();
}

absl::Status MoveRunner::LetGo(uint32_t share) {
  const std::optional<uint64_t> nonce = internal::RandomWord();
  if (!nonce) return absl::UnavailableError("the system has no randomness for a nonce");
  const bool forth = share > source_row_.own_lo;
  // A stream that has stopped just now still has the lag that it had: the step waits for a ping
  // that was sent since it was asked for.
  if ((forth ? forth_ : back_).pings.passed_sent() < asked_at_) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(CheckGuards());
  for (const Side side : {Side::kSource, Side::kTarget}) {
    LOCUS_RETURN_IF_ERROR(CandidatesHave(side));
  }
  const auto row = internal::LetGo(source_row_, target_row_, share, *nonce | 1, internal::kCohorts);
  const Side donor = forth ? Side::kSource : Side::kTarget;
  auto before = SteadyClock::now();
  auto written = BandRows::Written::kDone;
  bool busy = false;
  const absl::Status status = Sparingly(steps_, [&]() -> absl::Status {
    // Once the donor has given the band up, its writers wait for as long as a session keeps the
    // recipient's row locked.
    LOCUS_ASSIGN_OR_RETURN(const bool free,
                           (forth ? target_bands_ : source_bands_)->Free(options_.pace.fence_wait));
    before = SteadyClock::now();
    if (free) {
      LOCUS_ASSIGN_OR_RETURN(written, Write(donor, *row));
    }
    busy = !free || written == BandRows::Written::kBusy;
    if (!busy) return absl::OkStatus();
    const Side kept = free ? donor : internal::Other(donor);
    return KeptFrom(kept);
  });
  if (busy) return HoldBusyStep(status);
  LOCUS_RETURN_IF_ERROR(status);
  busy_since_ = {};
  if (written != BandRows::Written::kDone) return absl::OkStatus();
  step_open_ = true;
  step_forth_ = forth;
  let_go_at_ = before;
  // The token waits for a ping behind it where there are candidates.
  (forth ? forth_ : back_).sent_at = {};
  return Note("step", absl::StrCat("to ", share, ", step ", row->step));
}

}  // namespace locus::mysql
