// SPDX-License-Identifier: Apache-2.0
#include "src/lease_node/cluster_time.h"

#include "src/lease_machine/clock_note.h"

namespace locus::lease_node {

using lease_machine::ClockAsk;
using lease_machine::ClockTold;

namespace {

// How often a node asks the others for their clocks.
constexpr std::chrono::seconds kAskEvery{1};
// A leader whose clock is wrong tries this often to hand its leadership over.
constexpr absl::Duration kHandOverEvery = absl::Minutes(1);

}  // namespace

void ClusterTime::Applied(raft::Term term, absl::Time machine) {
  machine_ = machine;
  command_clock_.Applied(term, machine, clock_.SinceBoot());
}

std::string ClusterTime::Ask() {
  next_ask_ = std::chrono::steady_clock::now() + kAskEvery;
  return lease_machine::Encode(ClockAsk{clock_.SinceBoot()});
}

std::string ClusterTime::Hear(std::string_view bytes, raft::Term term, bool leads) {
  const auto note = lease_machine::DecodeClockNote(bytes);
  if (!note.ok()) return "";
  if (const auto* told = std::get_if<ClockTold>(&*note)) {
    command_clock_.Told(*told, clock_.SinceBoot());
    return "";
  }
  ClockTold told{std::get<ClockAsk>(*note).asked, term, leads, clock_.Now(), std::nullopt};
  told.time = leads ? OfCommand() : command_clock_.Known(machine_, clock_.SinceBoot());
  return lease_machine::Encode(told);
}

bool ClusterTime::ShouldHandOver() {
  if (absl::AbsDuration(off()) <= lease_machine::CommandClock::kMostOff) return false;
  const absl::Duration boot = clock_.SinceBoot();
  if (last_hand_over_ && boot - *last_hand_over_ < kHandOverEvery) return false;
  last_hand_over_ = boot;
  return true;
}

}  // namespace locus::lease_node
