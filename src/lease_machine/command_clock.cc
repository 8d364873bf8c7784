// SPDX-License-Identifier: Apache-2.0
#include "src/lease_machine/command_clock.h"

#include <algorithm>

#include "src/lease_machine/flaw.h"

namespace locus::lease_machine {
namespace {

constexpr int64_t kDrawn = 2000;

absl::Time CutToMillis(absl::Time time) { return absl::FromUnixMillis(absl::ToUnixMillis(time)); }

}  // namespace

void CommandClock::Hear(uint64_t term) {
  term_ = std::max(term_, term);
  if (heard_ != 0) return;
  heard_ = term;
  if (exact_) return;
  // The first message of a leader may tell that what this node has on its disk is committed.
  if (applied_ && applied_term_ >= heard_) Follow(*applied_);
}

void CommandClock::Lead(uint64_t term) {
  led_ = term;
  term_ = std::max(term_, term);
}

// A command was proposed before it is applied, so the time that is followed is never ahead of the
// leader's.
void CommandClock::Applied(uint64_t term, absl::Time machine, absl::Duration boot) {
  if (term == led_) {
    known_ = term;
    exact_ = true;
    return;
  }
  applied_term_ = term;
  applied_ = {machine, boot};
  if (exact_ && !Has(Flaw::kFollowsLateCommands)) {
    // It may have waited for any time, here or on its way: it only tells that it was not later.
    last_ = {std::max(Alone(boot), machine), boot};
    known_ = term;
    trusted_ = false;
    return;
  }
  if (heard_ == 0 || term < heard_) return;
  // Of a leader whose clock is followed already, what comes late was delayed.
  const bool late = term == known_ && term < term_ && last_ && Alone(boot) >= machine;
  if (!late) Follow(*applied_);
}

void CommandClock::Follow(const Reading& machine) {
  trusted_ = false;
  known_ = applied_term_;
  absl::Time time = machine.time;
  if (last_) time = std::clamp(Alone(machine.boot), machine.time, machine.time + kMostStep);
  last_ = {time, machine.boot};
}

void CommandClock::Told(const ClockTold& told, absl::Duration boot) {
  const absl::Duration passed = boot - told.asked;
  if (!told.time || passed < absl::ZeroDuration()) return;
  const bool of_leader = told.leads && told.term == term_ && term_ != led_;
  if (exact_ ? !of_leader : passed > kMostPassed) return;
  if (of_leader) known_ = told.term;
  exact_ = true;
  trusted_ = false;
  const absl::Time alone = last_ ? Alone(boot) : *told.time;
  last_ = {std::clamp(alone, *told.time, *told.time + passed), boot};
}

std::optional<absl::Time> CommandClock::Known(absl::Time machine, absl::Duration boot) const {
  if (!exact_ || trusted_ || !last_) return std::nullopt;
  return std::max(machine, Alone(boot));
}

bool CommandClock::ShouldYield(absl::Time machine) {
  // A cluster without any command is new.
  if (yielded_ || !trusted_ || machine == absl::UnixEpoch()) return false;
  yielded_ = true;
  return true;
}

absl::Time CommandClock::Now(absl::Time machine, absl::Time wall, absl::Duration boot) {
  absl::Time time = machine;
  if (Has(Flaw::kLeaderUsesItsWallClock)) trusted_ = true;
  if (last_) {
    const absl::Duration passed = std::max(boot - last_->boot, absl::ZeroDuration());
    if (trusted_) {
      time = std::max(time, last_->time);
    } else {
      const absl::Time alone = last_->time + passed;
      const absl::Duration most = passed / kDrawn;
      time = std::max(time, alone + std::clamp(wall - alone, -most, most));
    }
  }
  if (trusted_) {
    // Once the wall clock has caught up, it is only drawn towards.
    if (wall >= time) trusted_ = false;
    time = std::max(time, wall);
  }
  off_ = wall - time;
  last_ = {time, boot};
  return CutToMillis(time);
}

}  // namespace locus::lease_machine
