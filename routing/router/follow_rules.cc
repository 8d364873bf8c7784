// SPDX-License-Identifier: Apache-2.0
#include "routing/router/follow_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locus {

using Kind = RouterEvent::Kind;

absl::Status Unshared(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

TableVerdict JudgeTable(const RoutingTable* in_force, const RoutingTable& offered) {
  uint64_t epoch = offered.epoch();
  if (in_force == nullptr || epoch > in_force->epoch()) {
    return {TableVerdict::Kind::kInstall, epoch, absl::OkStatus()};
  }
  if (offered == *in_force) return {TableVerdict::Kind::kConfirm, epoch, absl::OkStatus()};
  std::string reason = epoch == in_force->epoch()
                           ? absl::StrCat("epoch ", epoch, " is in force with other content")
                           : absl::StrCat("epoch ", epoch, " is not greater than ",
                                          in_force->epoch(), ", the one in force");
  return {TableVerdict::Kind::kRefuse, epoch, absl::AbortedError(reason)};
}

TableVerdict RefuseDocument(const absl::Status& why) {
  return {TableVerdict::Kind::kRefuse, 0, Unshared(why)};
}

absl::Duration FollowRules::PauseAfter(int fruitless, double random) const {
  constexpr int kMostDoublings = 20;  // past an hour
  absl::Duration pause = kFirstPause * (int64_t{1} << std::clamp(fruitless - 1, 0, kMostDoublings));
  return std::min(longest_pause_, pause) * (1 - random / 2);
}

void FollowRules::Answered(Step& step) {
  if (source_error_.ok()) return;
  source_error_ = absl::OkStatus();
  fruitless_ = 0;
  step.events.push_back({.kind = Kind::kSourceRecovered, .status = absl::OkStatus()});
}

FollowRules::Step FollowRules::NoNews(bool early, absl::Duration asked_at, double random) {
  Step step;
  Answered(step);
  if (known_accepted_) {
    confirmed_at_ = asked_at;
    file_epoch_ = 0;
    step.source_has_it_in_force = true;
  }
  fruitless_ = early ? fruitless_ + 1 : 0;
  if (early) step.pause = PauseAfter(fruitless_, random);
  return step;
}

FollowRules::Step FollowRules::Offered(const std::string& version, const TableVerdict& verdict,
                                       absl::Duration now, absl::Time at, double random) {
  Step step;
  Answered(step);
  // Also of what is refused: asked from there the source does not give it again and again.
  known_ = version;
  known_accepted_ = verdict.accepted();
  step.source_has_it_in_force = verdict.accepted();
  if (verdict.accepted()) {
    confirmed_at_ = now;
    file_epoch_ = 0;
  }
  if (verdict.kind == TableVerdict::Kind::kInstall) {
    fruitless_ = 0;
    step.events.push_back({Kind::kInstalled, verdict.epoch, absl::OkStatus()});
    return step;
  }
  // A source whose every answer is of another version must not be asked without a pause.
  step.pause = PauseAfter(++fruitless_, random);
  if (verdict.kind == TableVerdict::Kind::kRefuse) {
    NoteRefusal(version, verdict, at);
    step.events.push_back({Kind::kRefused, verdict.epoch, Unshared(verdict.reason)});
  }
  return step;
}

FollowRules::Step FollowRules::Failed(const absl::Status& status, double random) {
  Step step;
  fruitless_ = source_error_.ok() ? 1 : fruitless_ + 1;
  step.pause = PauseAfter(fruitless_, random);
  if (source_error_.ok()) {
    step.events.push_back({.kind = Kind::kSourceFailed, .status = Unshared(status)});
  }
  source_error_ = Unshared(status);
  if (absl::IsNotFound(status)) {
    // Emptied: what is put there next is news, even if it is what was there before.
    known_.clear();
    known_accepted_ = false;
  }
  return step;
}

void FollowRules::NoteRefusal(const std::string& version, const TableVerdict& verdict,
                              absl::Time at) {
  ++refusals_;
  if (!last_refusals_.empty()) {
    TableRefusal& last = last_refusals_.front();
    if (last.version == version && last.epoch == verdict.epoch && last.reason == verdict.reason) {
      ++last.times;
      last.at = at;
      return;
    }
  }
  last_refusals_.push_front(
      {.epoch = verdict.epoch, .version = version, .reason = Unshared(verdict.reason), .at = at});
  if (last_refusals_.size() > kKeptRefusals) last_refusals_.pop_back();
}

std::string FollowRules::LastWord(const std::string& place) const {
  if (!source_error_.ok()) return std::string(source_error_.message());
  if (known_.empty()) return absl::StrCat(place, " has not answered yet");
  if (known_accepted_) return absl::StrCat(place, " has no newer table");
  return absl::StrCat("the table of ", place,
                      " is refused: ", last_refusals_.front().reason.message());
}

void FollowRules::Fill(uint64_t epoch, absl::Duration now, RouterStats& stats) const {
  stats.source =
      source_error_.ok() ? RouterStats::Source::kFollowing : RouterStats::Source::kFailing;
  stats.source_error = Unshared(source_error_);
  if (confirmed_at_) stats.age = std::max(now - *confirmed_at_, absl::ZeroDuration());
  stats.from_last_good_file = file_epoch_ != 0 && file_epoch_ == epoch;
  stats.refusals = refusals_;
  for (const TableRefusal& refusal : last_refusals_) {
    stats.last_refusals.push_back(refusal);
    stats.last_refusals.back().reason = Unshared(refusal.reason);
  }
}

}  // namespace locus
