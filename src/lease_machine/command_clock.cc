// SPDX-License-Identifier: Apache-2.0
#include "src/lease_machine/command_clock.h"

#include <algorithm>

#include "src/lease_machine/flaw.h"

namespace locus::lease_machine {
namespace {

constexpr int64_t kDrawn = 2000;

absl::Time CutToMillis(absl::Time time) { return absl::FromUnixMillis(absl::ToUnixMillis(time)); }

}  // namespace

void CommandClock::Follow(absl::Time machine, absl::Duration boot) {
  trusted_ = false;
  absl::Time time = machine;
  if (last_) {
    time = std::clamp(last_->time + (boot - last_->boot), machine, machine + kMostStep);
  }
  last_ = {time, boot};
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
