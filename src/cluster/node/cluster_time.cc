// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/cluster_time.h"

#include "src/cluster/machine/clock_note.h"

namespace locus::cluster_node {

using cluster_machine::ClockAsk;
using cluster_machine::ClockTold;

namespace {

// How often a node asks the others for their clocks.
constexpr std::chrono::milliseconds kAskEvery{1000};
// And a leader that waits for them: notes may get lost.
constexpr std::chrono::milliseconds kAskEveryWhileWaiting{100};
// A leader whose clock is wrong tries this often to hand its leadership over.
constexpr absl::Duration kHandOverEvery = absl::Minutes(1);

}  // namespace

void ClusterTime::Applied(raft::Term term, absl::Time machine) {
  machine_ = machine;
  command_clock_.Applied(term, machine, clock_.SinceBoot());
}

std::string ClusterTime::Ask() {
  next_ask_ = std::chrono::steady_clock::now() + (waits_ ? kAskEveryWhileWaiting : kAskEvery);
  return cluster_machine::Encode(ClockAsk{clock_.SinceBoot()});
}

void ClusterTime::Note(const raft::NodeStatus& status) {
  self_ = status.self;
  raft::Members members;
  for (const auto& one : status.members) members.push_back(one.member);
  SetVoters(members);
  if (status.leader == 0) return;
  if (status.leader != self_) command_clock_.Hear(status.term);
  next_ask_ = {};  // at once
}

void ClusterTime::SetVoters(const raft::Members& members) {
  std::vector<uint64_t> voters;
  for (const raft::Member& member : members) {
    if (member.voter) voters.push_back(member.id);
  }
  command_clock_.SetVoters(self_, std::move(voters));
}

bool ClusterTime::MayBegin() {
  waits_ = !command_clock_.MayBegin(clock_.Now(), clock_.SinceBoot());
  return !waits_;
}

std::string ClusterTime::Hear(raft::NodeId from, std::string_view bytes, raft::Term term,
                              bool leads) {
  const auto note = cluster_machine::DecodeClockNote(bytes);
  if (!note.ok()) return "";
  if (const auto* told = std::get_if<ClockTold>(&*note)) {
    command_clock_.Told(from, *told, clock_.SinceBoot());
    return "";
  }
  ClockTold told{std::get<ClockAsk>(*note).asked, term, leads, clock_.Now(), std::nullopt};
  told.time = leads ? OfCommand() : command_clock_.Known(machine_, clock_.SinceBoot());
  if (Leaps()) told.time.reset();  // a leader that got this time would not know of the leap
  return cluster_machine::Encode(told);
}

absl::Duration ClusterTime::Off(bool leads) const {
  if (leads) return command_clock_.off();
  const auto known = command_clock_.Known(machine_, clock_.SinceBoot());
  const absl::Duration off = known ? clock_.Now() - *known : absl::ZeroDuration();
  return absl::AbsDuration(off) < absl::Milliseconds(500) ? absl::ZeroDuration() : off;
}

bool ClusterTime::ShouldHandOver() {
  if (absl::AbsDuration(command_clock_.astray()) <= cluster_machine::CommandClock::kMostOff)
    return false;
  const absl::Duration boot = clock_.SinceBoot();
  if (last_hand_over_ && boot - *last_hand_over_ < kHandOverEvery) return false;
  last_hand_over_ = boot;
  return true;
}

}  // namespace locus::cluster_node
