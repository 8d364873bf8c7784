// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/counter/counters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/counter/sequencer_rules.h"

namespace locus::counter_machine {
namespace {

absl::Time ForgottenAt(const Call& call, absl::Time now) {
  return call.ttl == absl::ZeroDuration() ? absl::InfiniteFuture() : now + call.ttl;
}

}  // namespace

absl::StatusOr<Reply> Counters::Apply(const Call& call, absl::Time now, bool& changed,
                                      bool keeps_ends) {
  changed = false;
  LOCUS_RETURN_IF_ERROR(Check(call));
  const auto known = Find(call.name, now);
  const bool is_known = known != counters_.end();
  absl::Time end = ForgottenAt(call, now);
  if (keeps_ends && is_known) end = std::max(end, known->second.forgotten_at);
  // As every engine does it: a call that only looks postpones too, but never shortens to "kept".
  auto postpone = [&] {
    if (call.ttl != absl::ZeroDuration()) SetForgotten(known, end);
  };
  switch (call.kind) {
    case Call::Kind::kTake: {
      // Decided as one number of this step, which equals several numbers of a smaller one.
      SequencerOptions options;
      options.step = call.number;
      options.start = call.last_of_first;
      options.max_value = call.max_value;
      options.at_max =
          call.wraps ? SequencerOptions::AtMax::kWrap : SequencerOptions::AtMax::kError;
      std::optional<int64_t> current;
      if (is_known) current = known->second.value;
      LOCUS_ASSIGN_OR_RETURN(const int64_t last,
                             sequencer_rules::Advance(current, call.number, options, call.name));
      if (!is_known) LOCUS_RETURN_IF_ERROR(CheckRoom(call));
      changed = true;
      return Reply{true, last, Write(known, call, last, end)};
    }
    case Call::Kind::kStoreNew:
      if (is_known) {
        postpone();
        return Reply{false, std::nullopt, 0};
      }
      [[fallthrough]];
    case Call::Kind::kStore:
      if (!is_known) LOCUS_RETURN_IF_ERROR(CheckRoom(call));
      changed = true;
      Write(known, call, call.number, ForgottenAt(call, now));
      return Reply{};
    case Call::Kind::kLoad:
      if (!is_known) return Reply{};
      postpone();
      return Reply{true, known->second.value, 0};
    case Call::Kind::kPutBack:
      if (!is_known || known->second.value != call.last || known->second.version != call.version) {
        return Reply{false, std::nullopt, 0};
      }
      changed = true;
      Write(known, call, call.number, end);
      return Reply{};
  }
  return absl::InvalidArgumentError("a call of no kind");
}

bool Counters::ForgetsEarlier(const Call& call, absl::Time now) const {
  if (call.kind == Call::Kind::kStore || call.ttl == absl::ZeroDuration()) return false;
  const auto found = counters_.find(call.name);
  return found != counters_.end() && now < found->second.forgotten_at &&
         ForgottenAt(call, now) < found->second.forgotten_at;
}

void Counters::Sweep(absl::Time now) {
  for (size_t i = 0; i < kMostForgotten && !due_.empty() && due_.begin()->first <= now; ++i) {
    Forget(counters_.find(due_.begin()->second));
  }
}

void Counters::Leap(absl::Time from, absl::Time to) {
  std::set<std::pair<absl::Time, std::string>> due;
  for (const auto& [at, name] : due_) {
    const absl::Time later = std::min(at + (to - from), to + kLongestTtl);
    counters_.find(name)->second.forgotten_at = later;
    due.emplace_hint(due.end(), later, name);
  }
  due_ = std::move(due);
}

// One that is due is forgotten here.
Counters::ByName::iterator Counters::Find(const std::string& name, absl::Time now) {
  const auto found = counters_.find(name);
  if (found == counters_.end() || now < found->second.forgotten_at) return found;
  Forget(found);
  return counters_.end();
}

absl::Status Counters::CheckRoom(const Call& call) const {
  if (counters_.size() >= kMostCounters) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cluster has ", kMostCounters, " counters, which is the most"));
  }
  if (name_bytes_ + call.name.size() > kMostNameBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the names of the cluster's counters have ", name_bytes_,
                     " bytes; with this one they would have more than ", kMostNameBytes));
  }
  return absl::OkStatus();
}

uint64_t Counters::Write(ByName::iterator known, const Call& call, int64_t value,
                         absl::Time forgotten_at) {
  if (known == counters_.end()) {
    known = counters_.try_emplace(call.name).first;
    name_bytes_ += call.name.size();
  }
  known->second.value = value;
  known->second.version = ++writes_;
  SetForgotten(known, forgotten_at);
  return writes_;
}

void Counters::SetForgotten(ByName::iterator counter, absl::Time at) {
  absl::Time& before = counter->second.forgotten_at;
  if (before == at) return;
  if (before != absl::InfiniteFuture()) due_.erase({before, counter->first});
  if (at != absl::InfiniteFuture()) due_.emplace(at, counter->first);
  before = at;
}

void Counters::Forget(ByName::iterator counter) {
  SetForgotten(counter, absl::InfiniteFuture());
  name_bytes_ -= counter->first.size();
  counters_.erase(counter);
}

}  // namespace locus::counter_machine
