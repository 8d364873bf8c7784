// SPDX-License-Identifier: Apache-2.0
// How a runner mends its move. `locus move repair` asks for it.
#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "migration/fence/fence_difference.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/moved_tables.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/copy_marker.h"
#include "migration/run/move_runner.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Decision;
using internal::MoveSight;
using internal::Phase;
using internal::Side;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kGuardsPause{1};
// Triggers seem to be missing while another move makes some on the same table.
constexpr int kMostUnguardedLooks = 3;

}  // namespace

absl::Status MoveRunner::CheckTriggers(ShardLink& link) {
  LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                         ShardFence::Create(link.Options(), FenceOptionsOf(move_)));
  // Not Verify: the look at the rows also shows whether they are bound.
  LOCUS_RETURN_IF_ERROR(fence.VerifyTriggers());
  LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                         MovedTables::Create(link.Options(), move_.tables, move_.movers));
  return tables.Verify(move_.name);
}

absl::Status MoveRunner::LookAtGuards(MoveSight& sight) {
  const bool wanted = record_.phase >= Phase::kStreaming && record_.phase <= Phase::kFinalizing;
  const auto now = SteadyClock::now();
  // A band that is between the shards has writers that wait.
  const bool agreed = sight.fences.kind == internal::Situation::Kind::kAgreed;
  if (wanted && agreed && now - guards_read_at_ >= kGuardsPause) {
    guards_read_at_ = now;
    absl::Status checked = CheckTriggers(*source_);
    if (checked.ok()) checked = CheckTriggers(*target_);
    if (absl::IsUnavailable(checked)) return checked;
    unguarded_looks_ = checked.ok() ? 0 : unguarded_looks_ + 1;
    if (checked.ok()) unguarded_.clear();
    if (unguarded_looks_ >= kMostUnguardedLooks) unguarded_ = std::string(checked.message());
  }
  if (wanted) sight.unguarded = unguarded_;
  return absl::OkStatus();
}

// A trigger is made under the exclusive lock of its table's definition: transactions that wrote
// without it have ended by then, and all later writes run it.
absl::Status MoveRunner::MendTriggers(ShardLink& link) {
  absl::Status checked = CheckTriggers(link);
  if (checked.ok()) {
    LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                           MovedTables::Create(link.Options(), move_.tables, move_.movers));
    LOCUS_ASSIGN_OR_RETURN(std::vector<FenceDifference> wrong, tables.Differences(move_.name));
    // The map of the fence is made before the guards.
    LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                           ShardFence::Create(link.Options(), FenceOptionsOf(move_)));
    LOCUS_ASSIGN_OR_RETURN(std::vector<FenceDifference> of_fence, fence.Differences());
    for (FenceDifference& difference : of_fence) {
      using Kind = FenceDifference::Kind;
      if (difference.kind == Kind::kVnodesMissing || difference.kind == Kind::kVnodesWrong) {
        wrong.push_back(std::move(difference));
      }
    }
    checked = internal::RefusalOf(link.place(), wrong);
  }
  if (!absl::IsFailedPrecondition(checked)) return checked;
  // An empty table in its place would let a deleted order come back with a version that it had.
  LOCUS_RETURN_IF_ERROR(
      link.Run("SELECT 1 FROM locus_tombstone LIMIT 1", {AtMostOneRow(1)}).status());
  const absl::Status made = PrepareLocked(link, [&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                           ShardFence::Create(link.Options(), FenceOptionsOf(move_)));
    LOCUS_RETURN_IF_ERROR(fence.InstallGuards());
    LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                           MovedTables::Create(link.Options(), move_.tables, move_.movers));
    return tables.Install(move_.name);
  });
  LOCUS_RETURN_IF_ERROR(made);
  LOCUS_RETURN_IF_ERROR(CheckTriggers(link));
  return Note("mended", std::string(checked.message()));
}

// The stream to this shard begins again, and so does the copy.
absl::Status MoveRunner::ForgetStream(Side recipient) {
  ShardLink& link = recipient == Side::kTarget ? *target_ : *source_;
  const std::string move = SqlText(move_.name);
  return link.Transact([&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(CheckRun(link, move_.name, run_));
    LOCUS_RETURN_IF_ERROR(
        link.Run(absl::StrCat("DELETE FROM ", kCopies, " WHERE move = ", move), {kNoRows})
            .status());
    return link
        .Run(absl::StrCat("DELETE FROM ", kCheckpoints, " WHERE move = ", move,
                          " AND direction = ", static_cast<int>(recipient)),
             {kNoRows})
        .status();
  });
}

// The wish stays until the repair is complete, so a runner that dies in between leaves it to the
// next one. No step is made meanwhile, nor before both shards were compared.
absl::Status MoveRunner::Repair(const Decision& decision, const MoveSight& sight) {
  if (SteadyClock::now() < mends_.next_at) return mends_.last;
  const internal::Repair asked = record_.wish.repair;
  for (const std::string* why : {&sight.unguarded, &sight.forth.broken, &sight.back.broken}) {
    if (mends_.pauses.failures() > 0 || why->empty()) continue;
    LOCUS_RETURN_IF_ERROR(Note("repair", *why));
  }
  forth_ = {};
  back_ = {};
  copy_.worker = nullptr;
  compare_.worker = nullptr;
  const absl::Status mended = Sparingly(mends_, [this]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(MendTriggers(*source_));
    return MendTriggers(*target_);
  });
  LOCUS_RETURN_IF_ERROR(mended);
  guards_read_at_ = {};
  unguarded_.clear();
  unguarded_looks_ = unguarded_rounds_ = 0;
  if (asked.forth) LOCUS_RETURN_IF_ERROR(ForgetStream(Side::kTarget));
  if (asked.back) LOCUS_RETURN_IF_ERROR(ForgetStream(Side::kSource));
  {
    internal::MutexLock lock(compared_.mutex);
    compared_.first_difference.clear();
    compared_.found.clear();
  }
  const internal::Seeding seeding = RepairedSeeding(record_.phase, record_.seeding, asked);
  LOCUS_RETURN_IF_ERROR(records_->SetRepaired(record_, decision.phase, seeding));
  record_.phase = decision.phase;
  return Note("repaired", absl::StrCat(internal::RepairText(asked), "; ",
                                       internal::ToAbsl(ToString(decision.phase))));
}

absl::Status MoveRunner::NoteDifferences() {
  std::vector<std::string> found;
  {
    internal::MutexLock lock(compared_.mutex);
    found = compared_.found;
  }
  for (const std::string& difference : found) {
    LOCUS_RETURN_IF_ERROR(Note("differs", difference));
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
