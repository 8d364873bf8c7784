// SPDX-License-Identifier: Apache-2.0
#include "routing/router/follow_schedule.h"

#include <algorithm>

namespace locus::internal {

absl::Duration FollowSchedule::Due(bool waiting) const {
  // Callers cut a pause short, but never to less than the wait between looks.
  return wanted_ || waiting ? std::min(due_, std::max(next_look_, absl::ZeroDuration())) : due_;
}

void FollowSchedule::BeginLook(absl::Duration now, uint64_t random_word) {
  // Looks that long ago belong to another burst of callers.
  if (now - next_look_ > kLongestWait) look_waits_.Reset();
  next_look_ = now + look_waits_.Next(random_word);
  wanted_ = false;
  phase_ = Phase::kLooking;
}

FollowSchedule::Turn FollowSchedule::Begin(absl::Duration now, bool waiting, uint64_t random_word) {
  if (phase_ == Phase::kStopped) return {.within = absl::InfiniteDuration()};
  absl::Duration wait = Due(waiting) - now;
  if (wait > absl::ZeroDuration()) return {.within = wait};
  if (now < next_look_) {
    phase_ = Phase::kResting;
    return {.ask = true, .within = std::min(confirm_every_, next_look_ - now)};
  }
  if (wanted_ || waiting) {
    BeginLook(now, random_word);
    return {.ask = true, .look = true, .within = confirm_every_};
  }
  phase_ = Phase::kListening;
  return {.ask = true, .within = confirm_every_};
}

absl::Duration FollowSchedule::Finished(absl::Duration now, absl::Duration pause, bool installed,
                                        bool waiting) {
  if (phase_ == Phase::kStopped) return absl::InfiniteDuration();
  phase_ = Phase::kIdle;
  due_ = now + pause;
  if (installed) {
    look_waits_.Reset();
    wanted_ = false;  // those that it is too old for still wait
  }
  // Never 0: an executor with one thread must get to its other tasks.
  return std::max(Due(waiting) - now, absl::Nanoseconds(1));
}

FollowSchedule::Nudge FollowSchedule::Want(absl::Duration now, uint64_t random_word) {
  if (phase_ == Phase::kListening) {
    // The answer may be on its way already, without what this caller waits for. As long as it
    // waits, another look follows.
    BeginLook(now, random_word);
    return Nudge::kLook;
  }
  bool wake = phase_ == Phase::kIdle && !wanted_;
  wanted_ = true;
  return wake ? Nudge::kWake : Nudge::kNone;
}

bool FollowSchedule::Stop() {
  bool under_way = phase_ != Phase::kIdle && phase_ != Phase::kStopped;
  phase_ = Phase::kStopped;
  return under_way;
}

}  // namespace locus::internal
