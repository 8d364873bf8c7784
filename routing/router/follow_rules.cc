// SPDX-License-Identifier: Apache-2.0
#include "routing/router/follow_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::internal {

using Kind = RouterEvent::Kind;

absl::Status Unshared(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

absl::Status EpochNotGreater(uint64_t offered, uint64_t in_force) {
  return absl::AbortedError(absl::StrCat("epoch ", offered, " is not greater than epoch ", in_force,
                                         ", which is in force"));
}

absl::Status CheckSameTable(const RoutingTable& in_force, const RoutingTable& offered) {
  // A table of an earlier version has none and may get one.
  bool same = in_force.table_id().empty() || offered.table_id().empty() ||
              in_force.table_id() == offered.table_id();
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "epoch ", offered.epoch(), " is of table ", offered.table_id(), ", epoch ", in_force.epoch(),
      " in force is of table ", in_force.table_id(),
      ": check that this is the right place; restart the process to follow the other table"));
}

TableJudgement JudgeTable(const RoutingTable* in_force, const RoutingTable& offered) {
  uint64_t epoch = offered.epoch();
  auto refuse = [&](absl::Status reason) {
    return TableJudgement{TableJudgement::Kind::kRefuse, epoch, std::move(reason)};
  };
  if (in_force == nullptr) return {TableJudgement::Kind::kInstall, epoch, absl::OkStatus()};
  absl::Status same_table = CheckSameTable(*in_force, offered);
  if (!same_table.ok()) return refuse(std::move(same_table));
  if (epoch > in_force->epoch()) return {TableJudgement::Kind::kInstall, epoch, absl::OkStatus()};
  if (offered == *in_force) return {TableJudgement::Kind::kConfirm, epoch, absl::OkStatus()};
  if (epoch < in_force->epoch()) return refuse(EpochNotGreater(epoch, in_force->epoch()));
  return refuse(absl::AbortedError(
      absl::StrCat("epoch ", epoch,
                   " is in force with other contents: two tables were published "
                   "under one epoch; publish the right one under a greater epoch")));
}

TableJudgement RefuseDocument(const absl::Status& why) {
  return {TableJudgement::Kind::kRefuse, 0, Unshared(why)};
}

void FollowRules::Answered(Step& step) {
  ++reads_;
  if (source_error_.ok()) return;
  source_error_ = absl::OkStatus();
  backoff_.Reset();
  step.events.push_back({.kind = Kind::kSourceRecovered, .status = absl::OkStatus()});
}

FollowRules::Step FollowRules::NoNews(bool early, absl::Duration asked_at, uint64_t random_word) {
  Step step;
  Answered(step);
  if (known_accepted_) {
    confirmed_at_ = asked_at;
    file_epoch_ = 0;
    step.source_has_it_in_force = true;
  }
  if (early) {
    step.pause = backoff_.Next(random_word);
  } else {
    backoff_.Reset();
  }
  return step;
}

FollowRules::Step FollowRules::Offered(const std::string& version, const TableJudgement& judgement,
                                       absl::Duration now, absl::Time at, uint64_t random_word) {
  Step step;
  Answered(step);
  // Also kept for a refused document, so that the source does not give it again and again.
  known_ = version;
  known_accepted_ = judgement.accepted();
  step.source_has_it_in_force = judgement.accepted();
  if (judgement.accepted()) {
    confirmed_at_ = now;
    file_epoch_ = 0;
  }
  if (judgement.kind == TableJudgement::Kind::kInstall) {
    backoff_.Reset();
    step.installed = true;
    step.events.push_back({Kind::kInstalled, judgement.epoch, absl::OkStatus()});
    if (judgement.nearly_full) {
      step.events.push_back({Kind::kDescriptionsNearlyFull, judgement.epoch, absl::OkStatus()});
    }
    return step;
  }
  // Without a pause, a source that changes its version with every answer would be asked in a loop.
  step.pause = backoff_.Next(random_word);
  if (judgement.kind == TableJudgement::Kind::kRefuse) {
    NoteRefusal(version, judgement, at);
    step.events.push_back({Kind::kRefused, judgement.epoch, Unshared(judgement.reason)});
  }
  return step;
}

FollowRules::Step FollowRules::Failed(const absl::Status& status, uint64_t random_word) {
  Step step;
  ++reads_;
  ++read_failures_;
  if (source_error_.ok()) backoff_.Reset();
  step.pause = backoff_.Next(random_word);
  if (source_error_.ok()) {
    step.events.push_back({.kind = Kind::kSourceFailed, .status = Unshared(status)});
  }
  source_error_ = Unshared(status);
  if (absl::IsNotFound(status)) {
    // The place was emptied: the next document is news, even if it is the same one.
    known_.clear();
    known_accepted_ = false;
  }
  return step;
}

void FollowRules::NoteRefusal(const std::string& version, const TableJudgement& judgement,
                              absl::Time at) {
  ++refusals_;
  if (!last_refusals_.empty()) {
    TableRefusal& last = last_refusals_.front();
    if (last.version == version && last.epoch == judgement.epoch &&
        last.reason == judgement.reason) {
      ++last.times;
      last.at = at;
      return;
    }
  }
  last_refusals_.push_front({.epoch = judgement.epoch,
                             .version = version,
                             .reason = Unshared(judgement.reason),
                             .at = at});
  if (last_refusals_.size() > kKeptRefusals) last_refusals_.pop_back();
}

std::string FollowRules::LastAnswer(const std::string& place) const {
  if (!source_error_.ok()) return std::string(source_error_.message());
  if (known_.empty()) return absl::StrCat(place, " has not answered yet");
  if (known_accepted_) return absl::StrCat(place, " has no newer table");
  return absl::StrCat("the table of ", place,
                      " is refused: ", last_refusals_.front().reason.message());
}

void FollowRules::Fill(uint64_t epoch, absl::Duration now, RouterStats& stats) const {
  using Source = RouterStats::Source;
  stats.source = Source::kFollowing;
  if (!known_.empty() && !known_accepted_) stats.source = Source::kRefused;
  if (!source_error_.ok()) stats.source = Source::kFailing;
  stats.source_error = Unshared(source_error_);
  if (confirmed_at_) stats.age = std::max(now - *confirmed_at_, absl::ZeroDuration());
  stats.from_last_good_file = file_epoch_ != 0 && file_epoch_ == epoch;
  stats.reads = reads_;
  stats.read_failures = read_failures_;
  stats.refusals = refusals_;
  for (const TableRefusal& refusal : last_refusals_) {
    stats.last_refusals.push_back(refusal);
    stats.last_refusals.back().reason = Unshared(refusal.reason);
  }
}

}  // namespace locus::internal
