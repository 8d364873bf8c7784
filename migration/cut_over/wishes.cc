// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/wishes.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

absl::Status Refuse(const Standing& now, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("the move is ", ToAbsl(ToString(now.phase)),
                                                    " at share ", now.share, ": ", why));
}

// Steps need equal shards and both streams.
absl::Status CheckSteps(const Standing& now) {
  if (now.phase == Phase::kReady || now.phase == Phase::kFinalizing) return absl::OkStatus();
  if (now.phase < Phase::kReady) {
    return Refuse(now,
                  "no step can be made before it is READY; `locus move status` says what it waits "
                  "for");
  }
  return Refuse(now,
                "no step can be made any more; to bring the vnodes back, plan a move in the other "
                "direction");
}

absl::Status CheckShare(uint32_t share) {
  if (share <= kWhole) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a share of ", share, " permyriad; it must be 0 to ", kWhole));
}

absl::StatusOr<Wish> Forward(const Standing& now, uint32_t goal, uint32_t by,
                             absl::Duration dwell) {
  LOCUS_RETURN_IF_ERROR(CheckSteps(now));
  if (!now.wish.hold.empty()) {
    return Refuse(now, absl::StrCat("it is held: ", now.wish.hold,
                                    "; `locus move resume` when the reason is gone"));
  }
  if (now.wish.ending != Ending::kNone) {
    return Refuse(now, absl::StrCat("`locus move ", ToAbsl(ToString(now.wish.ending)),
                                    "` was asked for; a rollback takes that back"));
  }
  Wish wish = now.wish;
  wish.goal = goal;
  wish.by = by;
  wish.dwell = dwell;
  return wish;
}

}  // namespace

absl::StatusOr<Wish> AskStart(const Standing& now) {
  if (now.phase == Phase::kAborting || now.phase == Phase::kAborted) {
    return Refuse(now, "an aborted move is not begun again; give the next one another name");
  }
  Wish wish = now.wish;
  wish.started = true;
  return wish;
}

absl::StatusOr<Wish> AskStep(const Standing& now, std::optional<uint32_t> to, uint32_t by) {
  if (to) LOCUS_RETURN_IF_ERROR(CheckShare(*to));
  LOCUS_RETURN_IF_ERROR(CheckSteps(now));
  // A step that is asked for twice is one step.
  const bool under_way = now.in_a_step || now.wish.goal > now.share;
  const uint32_t goal = to ? *to : under_way ? now.wish.goal : std::min(kWhole, now.share + by);
  if (goal < now.share) {
    return Refuse(now, absl::StrCat("a step to ", goal,
                                    " goes back; use `locus move rollback --to ", goal, "`"));
  }
  if (goal == now.share && !under_way && !to) {
    return Refuse(now, "there is no step left; next is `locus move finalize`");
  }
  if (!to && under_way) by = now.wish.by;
  if (to && *to > now.share) by = *to - now.share;
  return Forward(now, goal, by, absl::ZeroDuration());
}

absl::StatusOr<Wish> AskAuto(const Standing& now, uint32_t by, absl::Duration dwell) {
  if (by < 1 || by > kWhole) {
    return absl::InvalidArgumentError(
        absl::StrCat("steps of ", by, " permyriad; they must be 1 to ", kWhole));
  }
  return Forward(now, kWhole, by, dwell);
}

absl::StatusOr<Wish> AskHold(const Standing& now, const std::string& why) {
  if (now.phase >= Phase::kFinalized) {
    return Refuse(now, "there are no steps to hold any more");
  }
  Wish wish = now.wish;
  if (wish.hold.empty()) wish.hold = why;
  return wish;
}

absl::StatusOr<Wish> AskResume(const Standing& now) {
  Wish wish = now.wish;
  wish.hold.clear();
  return wish;
}

absl::StatusOr<Wish> AskRollback(const Standing& now, uint32_t to) {
  LOCUS_RETURN_IF_ERROR(CheckShare(to));
  LOCUS_RETURN_IF_ERROR(CheckSteps(now));
  if (to > now.share) {
    return Refuse(now, absl::StrCat("a rollback to ", to, " goes ahead; use `locus move step --to ",
                                    to, "`"));
  }
  Wish wish = now.wish;
  wish.goal = to;
  wish.hold.clear();
  wish.ending = Ending::kNone;
  return wish;
}

absl::StatusOr<Wish> AskFinalize(const Standing& now) {
  if (now.phase >= Phase::kFinalized && now.phase <= Phase::kDone) return now.wish;
  LOCUS_RETURN_IF_ERROR(CheckSteps(now));
  if (now.share != kWhole || now.wish.goal != kWhole || now.in_a_step) {
    return Refuse(now, absl::StrCat("it can be finalized at share ", kWhole,
                                    " only, and after that there is no way back; step to ", kWhole,
                                    " first, and watch it"));
  }
  Wish wish = now.wish;
  wish.ending = Ending::kFinalize;
  return wish;
}

absl::StatusOr<Wish> AskCleanup(const Standing& now, bool keep) {
  if (now.phase == Phase::kDone) {
    Wish wish = now.wish;
    wish.keep = wish.keep && keep;
    return wish;
  }
  if (now.phase != Phase::kFinalized && now.phase != Phase::kCleanup) {
    return Refuse(now, "rows are deleted from the source only after `locus move finalize`");
  }
  Wish wish = now.wish;
  wish.ending = Ending::kCleanup;
  wish.keep = keep;
  return wish;
}

absl::StatusOr<Wish> AskAbort(const Standing& now) {
  if (now.phase == Phase::kAborting || now.phase == Phase::kAborted) return now.wish;
  if (now.phase >= Phase::kFinalized) {
    return Refuse(now, "it can no longer be aborted; plan a move in the other direction");
  }
  if (now.share != 0 || now.in_a_step) {
    return Refuse(now, "orders live on the target; take them back first: `locus move rollback`");
  }
  Wish wish = now.wish;
  wish.goal = 0;
  wish.hold.clear();
  wish.ending = Ending::kAbort;
  return wish;
}

absl::StatusOr<Wish> AskRepair(const Standing& now, const Repair& repair) {
  if (!repair.any()) return now.wish;
  if (now.phase < Phase::kStreaming) {
    return Refuse(now,
                  "the shards are not prepared yet; `locus move preflight` says what they "
                  "need");
  }
  if (now.phase >= Phase::kFinalized) {
    return Refuse(now, "the streams have ended, and nothing of them can be repaired");
  }
  if (now.wish.ending == Ending::kAbort) {
    return Refuse(now, "`locus move abort` was asked for, which needs no repair");
  }
  if (now.in_a_step) {
    return Refuse(now, "a step is on its way; repeat the command when it has ended");
  }
  Wish wish = now.wish;
  wish.repair.guards = true;
  wish.repair.forth = wish.repair.forth || repair.forth;
  wish.repair.back = wish.repair.back || repair.back;
  wish.hold.clear();
  wish.goal = now.share;
  wish.ending = Ending::kNone;
  return wish;
}

}  // namespace locus::internal
