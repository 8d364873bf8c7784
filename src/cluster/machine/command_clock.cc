// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/command_clock.h"

#include <algorithm>
#include <utility>

#include "src/cluster/machine/flaw.h"

namespace locus::cluster_machine {
namespace {

constexpr int64_t kDrawn = 2000;
constexpr int64_t kFast = 16;
// How long the answer about a wall clock counts.
constexpr absl::Duration kFresh = absl::Seconds(30);

absl::Time CutToMillis(absl::Time time) { return absl::FromUnixMillis(absl::ToUnixMillis(time)); }

}  // namespace

void CommandClock::Hear(uint64_t term) {
  term_ = std::max(term_, term);
  if (heard_ != 0) return;
  heard_ = term;
  if (exact_) return;
  // The first message of a leader may commit entries that were already on this node's disk.
  if (applied_ && applied_term_ >= heard_) Follow(*applied_);
}

void CommandClock::Lead(uint64_t term, absl::Duration boot) {
  if (led_ != term) led_since_ = boot;
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
    // The command may have waited for any time, here or on its way, so it is only a lower bound of
    // the time.
    last_ = {std::max(Alone(boot), machine), boot};
    known_ = term;
    trusted_ = false;
    return;
  }
  if (heard_ == 0 || term < heard_) return;
  // If this leader's clock is followed already, an answer that is behind it was delayed.
  const bool late = term == known_ && term < term_ && last_ && Alone(boot) >= machine;
  if (!late) Follow(*applied_);
}

void CommandClock::Follow(const Reading& machine) {
  trusted_ = false;
  known_ = applied_term_;
  absl::Time time = machine.time;
  if (last_) time = std::clamp(Alone(machine.boot), machine.time, machine.time + kMostStep);
  last_ = {time, machine.boot};
  leapt_.reset();
}

void CommandClock::SetVoters(uint64_t self, std::vector<uint64_t> voters) {
  self_ = self;
  voters_ = std::move(voters);
  std::erase_if(walls_, [&](const auto& one) {
    return std::find(voters_.begin(), voters_.end(), one.first) == voters_.end();
  });
}

void CommandClock::Told(uint64_t from, const ClockTold& told, absl::Duration boot) {
  const absl::Duration passed = boot - told.asked;
  if (passed < absl::ZeroDuration()) return;
  if (passed <= kMostPassed && std::find(voters_.begin(), voters_.end(), from) != voters_.end()) {
    walls_[from] = {told.wall + passed / 2, boot};
  }
  if (!told.time) return;
  const bool of_leader = told.leads && told.term == term_ && term_ != led_;
  if (exact_ ? !of_leader : passed > kMostPassed) return;
  if (of_leader) known_ = told.term;
  exact_ = true;
  trusted_ = false;
  const absl::Time alone = last_ ? Alone(boot) : *told.time;
  last_ = {std::clamp(alone, *told.time, *told.time + passed), boot};
  leapt_.reset();
}

std::optional<absl::Time> CommandClock::Known(absl::Time machine, absl::Duration boot) const {
  if (!exact_ || trusted_ || !last_ || Leaps(machine)) return std::nullopt;
  return std::max(machine, Alone(boot));
}

std::vector<absl::Time> CommandClock::Walls(absl::Time own, absl::Duration boot) const {
  std::vector<absl::Time> walls;
  if (std::find(voters_.begin(), voters_.end(), self_) != voters_.end()) walls.push_back(own);
  for (const auto& [id, read] : walls_) {
    if (boot - read.boot <= kFresh) walls.push_back(read.time + (boot - read.boot));
  }
  std::sort(walls.begin(), walls.end());
  return walls;
}

bool CommandClock::MayBegin(absl::Time own, absl::Duration boot) const {
  if (!trusted_ || Has(Flaw::kBeginsWithoutAMajority)) return true;
  const std::vector<absl::Time> walls = Walls(own, boot);
  const Judged judged = JudgeOf(walls, own);
  if (judged.sure || !judged.known) return judged.known;
  return walls.size() >= voters_.size() || boot - led_since_ >= kMostWait;
}

CommandClock::Judged CommandClock::JudgeOf(const std::vector<absl::Time>& walls,
                                           absl::Time own) const {
  if (voters_.empty() || Has(Flaw::kOneClockSetsTheTime)) return {own, true, false};
  const size_t majority = voters_.size() / 2 + 1;
  if (walls.size() < majority) return {own, Has(Flaw::kBeginsWithoutAMajority), false};
  for (size_t first = 0; first + majority <= walls.size(); ++first) {
    if (walls[first + majority - 1] - walls[first] <= kAgree) {
      return {walls[first + (majority - 1) / 2], true, true};
    }
  }
  return {walls[(walls.size() - 1) / 2], true, false};
}

absl::Time CommandClock::Drawn(absl::Time alone, absl::Duration passed,
                               const Judged& judged) const {
  if (!judged.known) return alone;
  const bool fast = contradicted_ && judged.sure;
  const absl::Duration forward = fast ? passed / kFast : passed / kDrawn;
  const absl::Duration back = fast ? passed - passed / kFast : passed / kDrawn;
  return alone + std::clamp(judged.wall - alone, -back, forward);
}

void CommandClock::NoteContradiction(absl::Time time, absl::Duration boot, const Judged& judged) {
  if (!judged.sure || absl::AbsDuration(judged.wall - time) <= kAgree) {
    contradicted_since_.reset();
  } else if (!contradicted_since_) {
    contradicted_since_ = boot;
  }
  contradicted_ = contradicted_since_ && boot - *contradicted_since_ >= kPatience;
}

std::optional<absl::Time> CommandClock::Agreed(absl::Time wall, absl::Duration boot) const {
  const Judged judged = JudgeOf(Walls(wall, boot), wall);
  if (!judged.sure) return std::nullopt;
  return judged.wall;
}

void CommandClock::Advance(absl::Time wall, absl::Duration boot) {
  const std::optional<absl::Time> agreed = Agreed(wall, boot);
  if (!agreed || !last_ || *agreed <= Alone(boot)) return;
  last_ = {*agreed, boot};
  leapt_ = CutToMillis(*agreed);
  contradicted_since_.reset();
  contradicted_ = false;
}

bool CommandClock::ShouldYield(absl::Time machine) {
  // A cluster without any command is new.
  if (yielded_ || !trusted_ || machine == absl::UnixEpoch()) return false;
  yielded_ = true;
  return true;
}

absl::Time CommandClock::Now(absl::Time machine, absl::Time wall, absl::Duration boot) {
  absl::Time time = machine;
  const Judged judged = JudgeOf(Walls(wall, boot), wall);
  if (Has(Flaw::kLeaderUsesItsWallClock)) trusted_ = true;
  if (last_) {
    const absl::Duration passed = std::max(boot - last_->boot, absl::ZeroDuration());
    if (trusted_) {
      time = std::max(time, last_->time);
    } else {
      time = std::max(time, Drawn(last_->time + passed, passed, judged));
    }
  }
  if (trusted_ && judged.known) {
    // Once the wall clock has caught up, it is only drawn towards.
    if (judged.wall >= time) trusted_ = false;
    if (judged.wall > time) leapt_ = CutToMillis(judged.wall);
    time = std::max(time, judged.wall);
  }
  NoteContradiction(time, boot, judged);
  off_ = wall - time;
  astray_ = judged.sure ? wall - judged.wall : off_;
  last_ = {time, boot};
  return CutToMillis(time);
}

}  // namespace locus::cluster_machine
