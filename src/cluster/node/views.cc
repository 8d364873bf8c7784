// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/views.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/command_clock.h"

namespace locus::cluster_node {

using cluster_machine::Machine;

void Count(const cluster_machine::Machine& machine, ClusterNode::Stats& stats) {
  stats.workers = machine.workers();
  stats.held = machine.held();
  stats.remembered = machine.remembered();
  stats.counters = machine.counters().size();
  stats.sections = machine.segments().sections();
  stats.types = machine.types().all().size();
  stats.strict_sections = machine.strict_sets().sections();
  stats.strict_owners = machine.strict_sets().holders();
  stats.sessions = machine.sessions();
  stats.grants_remembered = machine.grants_remembered();
}

bool IsBehind(const ClusterNode::TimeView& view) {
  return *view.agreed - view.time > cluster_machine::CommandClock::kAgree;
}

absl::Status CheckAdvance(const ClusterNode::TimeView& view, absl::Duration most) {
  if (!view.agreed) {
    return absl::FailedPreconditionError(
        "the clocks of a majority of the nodes are not known to agree within a second. A new "
        "leader "
        "hears them within some seconds: repeat the command. If it stays so, mend the clocks "
        "first");
  }
  const absl::Duration behind = *view.agreed - view.time;
  if (IsBehind(view) && behind > most) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the cluster's time is ", absl::FormatDuration(behind), " behind, more than the ",
        absl::FormatDuration(most), " that were asked for: look at it again"));
  }
  return absl::OkStatus();
}

void ClusterNode::Show(const SpaceName& space, uint64_t from, size_t limit,
                       Showed<WorkerSpaceView> answered) {
  ReadFor(std::move(answered), [space, from, limit](const Machine& machine, absl::Time) {
    return machine.Show(space, from, limit);
  });
}
void ClusterNode::ShowSegments(const SpaceName& space, Showed<SpaceView> answered) {
  ReadFor(std::move(answered), [space](const Machine& machine, absl::Time now) {
    return machine.segments().Show(space, now);
  });
}
void ClusterNode::ShowStrictSet(const SpaceName& set, Showed<strict_machine::View> answered) {
  ReadFor(std::move(answered), [set](const Machine& machine, absl::Time now) {
    return machine.strict_sets().Show(set, now);
  });
}
void ClusterNode::ShowTypes(std::string name, Showed<Types> answered) {
  ReadFor(std::move(answered), [name = std::move(name)](const Machine& machine, absl::Time) {
    const Types& all = machine.types().all();
    if (name.empty()) return all;
    Types types;
    if (const auto found = all.find(name); found != all.end()) types.insert(*found);
    return types;
  });
}
void ClusterNode::Holders(std::string part,
                          Showed<std::vector<cluster_machine::HeldLease>> answered) {
  ReadFor(std::move(answered), [part = std::move(part)](const Machine& machine, absl::Time) {
    return machine.HoldersWith(part);
  });
}

}  // namespace locus::cluster_node
