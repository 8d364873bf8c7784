// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/probe/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::holder_probe {

// SplitMix64.
double Plan::Random() {
  uint64_t z = (random_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void Plan::Enqueue(const Lease& lease, Holder& holder, absl::Duration due) {
  holder.due = due;
  due_[holder.suspect].emplace(due, lease);
}

void Plan::Update(const std::vector<Target>& targets, absl::Duration now) {
  Holders kept;
  for (const Target& target : targets) {
    auto known = holders_.extract(target.lease);
    if (known.empty()) {
      Holder& holder = kept[target.lease];
      holder.url = target.url;
      holder.unhealthy = target.unhealthy;
      Enqueue(target.lease, holder, now + Random() * limits_.interval);
      continue;
    }
    Holder& holder = known.mapped();
    holder.url = target.url;
    if (!holder.telling) holder.unhealthy = target.unhealthy;
    kept.insert(std::move(known));
  }
  for (const auto& [lease, holder] : holders_) due_[holder.suspect].erase({holder.due, lease});
  holders_ = std::move(kept);
}

bool Plan::MayProbe(bool suspect) const {
  if (due_[suspect].empty() || under_way() >= limits_.at_once) return false;
  return !suspect || under_way_[1] < std::max<size_t>(limits_.at_once / 2, 1);
}

std::optional<Probe> Plan::Next(absl::Duration now) {
  if (now < next_slot_) return std::nullopt;
  for (const bool suspect : {suspect_next_, !suspect_next_}) {
    if (!MayProbe(suspect) || due_[suspect].begin()->first > now) continue;
    const Lease lease = due_[suspect].begin()->second;
    due_[suspect].erase(due_[suspect].begin());
    Holder& holder = holders_.at(lease);
    holder.probe = ++probes_;
    ++under_way_[suspect];
    suspect_next_ = !suspect;
    next_slot_ = now + absl::Seconds(1 / limits_.per_second);
    return Probe{lease, holder.url, holder.probe, suspect};
  }
  return std::nullopt;
}

std::optional<Opinion> Plan::Answered(const Probe& probe, const absl::Status& status,
                                      absl::Duration now) {
  --under_way_[probe.suspect];
  const auto found = holders_.find(probe.lease);
  // The holder has lost its lease meanwhile, or this node its leadership.
  if (found == holders_.end() || found->second.probe != probe.number) return std::nullopt;
  Holder& holder = found->second;
  holder.probe = 0;
  holder.suspect = !status.ok();
  holder.failures = status.ok() ? 0 : std::min(holder.failures + 1, limits_.failures);
  Enqueue(probe.lease, holder, now + (0.9 + 0.2 * Random()) * limits_.interval);
  const bool unhealthy = !status.ok() && (holder.unhealthy || holder.failures >= limits_.failures);
  if (unhealthy == holder.unhealthy || holder.telling) return std::nullopt;
  holder.telling = true;
  Opinion opinion{probe.lease, !unhealthy, ""};
  if (unhealthy) {
    opinion.why = absl::StrCat(holder.failures, " probes in a row failed: ", status.message());
  }
  return opinion;
}

void Plan::Told(const Opinion& opinion, const absl::Status& status) {
  const auto found = holders_.find(opinion.lease);
  if (found == holders_.end()) return;
  found->second.telling = false;
  if (status.ok()) found->second.unhealthy = !opinion.healthy;
}

absl::Duration Plan::NextDue() const {
  absl::Duration due = absl::InfiniteDuration();
  for (const bool suspect : {false, true}) {
    if (MayProbe(suspect)) due = std::min(due, due_[suspect].begin()->first);
  }
  return std::max(due, next_slot_);
}

}  // namespace locus::holder_probe
