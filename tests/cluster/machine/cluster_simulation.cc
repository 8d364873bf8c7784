// SPDX-License-Identifier: Apache-2.0
#include "tests/cluster/machine/cluster_simulation.h"

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/strict/flaw.h"
#include "src/raft/core/flaw.h"

namespace locus::cluster_machine {
namespace {

size_t NodesOf(uint64_t seed) { return seed % 7 == 0 ? 1 : seed % 7 == 1 ? 5 : 3; }

}  // namespace

std::string ClusterCovered::Text() const {
  return absl::StrCat(repeated, " answers repeated, ", late, " requests late, ", forgotten,
                      " forgotten; ", leaders, " leaders, ", crashes, " crashes, ", restored,
                      " restores, ", installed, " snapshots installed, ", jumps, " clocks set");
}

ClusterSimulation::ClusterSimulation(uint64_t seed, const Flaws& flaws, const Options& options,
                                     ClusterCovered& covered)
    : random_(seed),
      flaws_(flaws),
      replicas_(random_,
                {.nodes = NodesOf(seed),
                 .steady = options.steady,
                 .true_clocks = seed / 2 % 2 == 0,
                 .flaw = flaws.shell},
                *this),
      options_(options),
      covered_(covered) {
  flaw = flaws.machine;
  strict_machine::flaw = flaws.strict;
}

ClusterSimulation::~ClusterSimulation() {
  flaw = Flaw::kNone;
  strict_machine::flaw = strict::Flaw::kNone;
}

std::string ClusterSimulation::Run() {
  try {
    for (int i = 0; i < 900 && failure_.empty(); ++i) Step();
    if (failure_.empty()) CheckHistories();
  } catch (const raft::Contradiction& contradiction) {
    OnFailure(absl::StrCat("a core contradicts itself: ", contradiction.what));
  }
  const Replicas::Counts& counts = replicas_.counts();
  covered_.leaders += counts.leaders;
  covered_.crashes += counts.crashes;
  covered_.installed += counts.installed;
  covered_.restored += counts.restored;
  covered_.jumps += counts.jumps;
  return failure_;
}

void ClusterSimulation::OnAnswer(uint64_t tag, const Answer& answer) {
  if (parcels_.size() < 200) parcels_.push_back({0, tag, {}, answer});
}

void ClusterSimulation::OnFailure(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void ClusterSimulation::Step() {
  now_ += static_cast<int64_t>(random_.Below(60));
  if (options_.long_steps && random_.OneIn(60)) now_ += static_cast<int64_t>(random_.Below(6000));
  if (random_.OneIn(500)) now_ += 150'000;  // requests are forgotten meanwhile
  ++moment_;
  for (int i = 0; i < 2; ++i) replicas_.Event(now_);
  Deliver();
  StepClients();
}

void ClusterSimulation::Deliver() {
  for (int i = 0; i < 3 && !parcels_.empty(); ++i) {
    const size_t at = random_.OneIn(2) ? random_.Below(parcels_.size()) : 0;
    const Parcel parcel = parcels_[at];
    // A request without an ID is another one when it comes again.
    const bool again = (parcel.node == 0 || parcel.request.id) && random_.OneIn(10);
    if (!again) parcels_.erase(parcels_.begin() + static_cast<ptrdiff_t>(at));
    if (random_.OneIn(12)) continue;  // lost
    if (parcel.node != 0) {
      replicas_.Submit(parcel.node, parcel.tag, parcel.request);
    } else if (parcel.tag != kNoTag) {
      Receive(parcel.tag, parcel.answer);
    }
  }
}

}  // namespace locus::cluster_machine
