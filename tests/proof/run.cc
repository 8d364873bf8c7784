// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/support/private_server.h"

namespace locus::proof {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr absl::Duration kFlapEvery = absl::Milliseconds(400);
// An election or two, a lease that rests, the longest pause of a client between two attempts; on a
// machine that runs many of these tests at once.
constexpr absl::Duration kMendedWithin = absl::Minutes(3);

bool IsOfClient(Fault fault) { return static_cast<int>(fault) >= kNodeFaults; }

}  // namespace

absl::Duration Run::Now() const { return absl::Now() - began_; }

void Run::Tell(const std::string& what) {
  absl::StrAppend(&story_, absl::FormatDuration(absl::Trunc(Now(), absl::Milliseconds(1))), "  ",
                  what, "\n");
}

void Run::Do() {
  began_ = absl::Now();
  size_t next = 0;
  const absl::Duration end = plan_.length;
  while (Now() < end || next < plan_.steps.size() || !active_.empty()) {
    for (; next < plan_.steps.size() && plan_.steps[next].begin <= Now(); ++next) {
      Begin(plan_.steps[next]);
    }
    for (Active& active : active_) Go(active);
    for (size_t i = active_.size(); i-- > 0;) {
      if (active_[i].step.end > Now()) continue;
      End(active_[i]);
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    cluster_.Supervise();
    clients_.Supervise();
    for (const std::string& event : cluster_.TakeEvents()) Tell(event);
    absl::SleepFor(absl::Milliseconds(10));
  }
  Mend();
}

int Run::Pick(uint64_t choice, bool leads) {
  const int leader = cluster_.Leader();
  if (leads && leader >= 0) return leader;
  std::vector<int> possible;
  for (int i = 0; i < cluster_.size(); ++i) {
    if (cluster_.started(i) && i != leader) possible.push_back(i);
  }
  return possible.empty() ? -1 : possible[choice % possible.size()];
}

void Run::Begin(const Step& step) {
  Active active;
  active.step = step;
  if (IsOfClient(step.fault)) {
    active.target = static_cast<int>(step.choice % static_cast<uint64_t>(clients_.count()));
    if (clients_.stalled(active.target)) {  // it is to find out that its lease has ended
      active.target = (active.target + 1) % clients_.count();
    }
    BeginOfClient(active);
  } else {
    const Fault fault = step.fault;
    const bool leads = fault == Fault::kKillLeader || fault == Fault::kStallLeader ||
                       fault == Fault::kLeaderInMajority || fault == Fault::kLeaderInMinority ||
                       fault == Fault::kOneWay ||
                       (fault != Fault::kKillFollower && step.choice % 2 == 0);
    active.target = Pick(step.choice / 2, leads);
    if (active.target < 0) {
      Tell(absl::StrCat(std::string(ToString(fault)), ": no such node"));
      return;
    }
    BeginOfNode(active);
  }
  Tell(absl::StrCat(std::string(ToString(step.fault)), ": ", active.target,
                    active.nodes.empty() ? "" : "; " + absl::StrJoin(active.nodes, ",")));
  active_.push_back(active);
}

void Run::BeginOfClient(Active& active) {
  switch (active.step.fault) {
    case Fault::kStallHolder:
      clients_.Stall(active.target);
      break;
    case Fault::kHolderClockJumps:
      clients_.Page(active.target)->clock_shift_ns =
          active.step.choice / 64 % 2 == 0 ? kHourNs : -kHourNs;
      break;
    default:
      clients_.Page(active.target)->clock_shift_ns = 0;
      clients_.Replace(active.target);
  }
}

void Run::BeginOfNode(Active& active) {
  const int target = active.target;
  switch (active.step.fault) {
    case Fault::kKillLeader:
    case Fault::kKillFollower:
      active.nodes = {target};
      cluster_.Kill(target);
      break;
    case Fault::kKillAll:
      for (int i = 0; i < cluster_.size(); ++i) {
        if (!cluster_.started(i)) continue;
        active.nodes.push_back(i);
        cluster_.Kill(i);
      }
      break;
    case Fault::kStallLeader:
      cluster_.Stall(target);
      break;
    case Fault::kLeaderInMajority:
      CutInTwo(active, true, cluster_.size());
      break;
    case Fault::kLeaderInMinority:
      CutInTwo(active, false, cluster_.size());
      break;
    case Fault::kMemberAdded:
      CutInTwo(active, active.step.choice % 2 == 0, plan_.nodes);
      break;
    case Fault::kOneWay:
      CutOneWay(active);
      break;
    case Fault::kFlap:
      break;
    case Fault::kClockAhead:
      cluster_.Page(target)->clock_shift_ns = kHourNs;
      break;
    case Fault::kClockBehind:
      cluster_.Page(target)->clock_shift_ns = -kHourNs;
      break;
    case Fault::kSlowDisk:
      cluster_.Page(target)->sync_delay_us =
          static_cast<int64_t>(20'000 + active.step.choice / 4 % 1'000'000);
      break;
    case Fault::kFullDisk:
      cluster_.FillDisk(target);
      break;
    case Fault::kTornWrite:
      cluster_.Page(target)->lost = static_cast<int64_t>(active.step.choice / 4 % 2);
      cluster_.Page(target)->tear_after = static_cast<int64_t>(1 + active.step.choice / 8 % 40);
      break;
    default:
      break;
  }
}

// Two parts of the first `most` hosts of nodes; each client is in one of them.
void Run::CutInTwo(Active& active, bool leader_in_majority, int most) {
  std::vector<int> nodes;
  for (int i = 0; i < most; ++i) {
    if (cluster_.started(i) && i != active.target) nodes.push_back(i);
  }
  uint64_t choice = active.step.choice;
  std::rotate(
      nodes.begin(),
      nodes.begin() + static_cast<std::ptrdiff_t>(nodes.empty() ? 0 : choice % nodes.size()),
      nodes.end());
  const size_t voters = nodes.size() + 1;
  const size_t others = leader_in_majority ? voters / 2 : voters - voters / 2 - 1;
  std::vector<int> parts[2] = {{active.target}, {}};
  for (size_t i = 0; i < nodes.size(); ++i) parts[i < others ? 0 : 1].push_back(nodes[i]);
  if (!leader_in_majority && others + 1 > voters / 2) {
    // Of an even number, the leader's part is the smaller one.
    parts[1].insert(parts[1].end(), parts[0].begin() + 1, parts[0].end());
    parts[0].resize(1);
  }
  active.nodes = parts[0];
  for (int i = 0; i < clients_.count(); ++i) {
    choice /= 2;
    parts[choice % 2].push_back(clients_.HostOf(i));
  }
  for (const int one : parts[0]) {
    for (const int other : parts[1]) {
      network_.Cut(one, other);
      network_.Cut(other, one);
    }
  }
}

void Run::CutOneWay(const Active& active) {
  uint64_t choice = active.step.choice;
  const bool from_leader = choice % 2 == 0;
  bool any = false;
  for (int i = 0; i < cluster_.size(); ++i) {
    choice /= 2;
    if (i == active.target || !cluster_.started(i) || (any && choice % 2 == 0)) continue;
    any = true;
    if (from_leader) {
      network_.Cut(active.target, i);
    } else {
      network_.Cut(i, active.target);
    }
  }
}

void Run::SetWaysOf(int node, bool cut) {
  for (int i = 0; i < network_.size(); ++i) {
    if (i == node) continue;
    if (cut) {
      network_.Cut(node, i);
      network_.Cut(i, node);
    } else {
      network_.Heal(node, i);
      network_.Heal(i, node);
    }
  }
}

void Run::Go(Active& active) {
  if (active.step.fault == Fault::kFlap && Now() >= active.next_flap) {
    active.flap_cut = !active.flap_cut;
    SetWaysOf(active.target, active.flap_cut);
    active.next_flap = Now() + kFlapEvery;
  }
  if (active.step.fault == Fault::kMemberAdded && !active.added && cluster_.size() > plan_.nodes &&
      cluster_.TryToAdd(plan_.nodes)) {
    active.added = true;
    Tell("it was added");
  }
}

void Run::End(Active& active) {
  const int target = active.target;
  Tell(absl::StrCat("end of ", std::string(ToString(active.step.fault))));
  switch (active.step.fault) {
    case Fault::kKillLeader:
    case Fault::kKillFollower:
    case Fault::kKillAll:
      for (const int node : active.nodes) cluster_.Start(node);
      break;
    case Fault::kStallLeader:
      cluster_.Resume(target);
      break;
    case Fault::kLeaderInMajority:
    case Fault::kLeaderInMinority:
    case Fault::kMemberAdded:
    case Fault::kOneWay:
    case Fault::kFlap:
      network_.HealAll();
      break;
    case Fault::kClockAhead:
    case Fault::kClockBehind:
      cluster_.Page(target)->clock_shift_ns = 0;
      break;
    case Fault::kSlowDisk:
      cluster_.Page(target)->sync_delay_us = 0;
      break;
    case Fault::kFullDisk:
      cluster_.FreeDisk(target);
      break;
    case Fault::kTornWrite:
      cluster_.Page(target)->tear_after = 0;
      break;
    case Fault::kStallHolder:
      clients_.Resume(target);
      break;
    case Fault::kHolderClockJumps:
      clients_.Page(target)->clock_shift_ns = 0;
      break;
    case Fault::kKillHolder:
      break;
  }
}

void Run::Mend() {
  network_.HealAll();
  Tell("everything is mended");
  // A node that was started is added in the end.
  bool added = cluster_.size() == plan_.nodes || !cluster_.started(plan_.nodes);
  const bool agreed = WaitUntil(
      [&] {
        cluster_.Supervise();
        added = added || cluster_.TryToAdd(plan_.nodes);
        return added && cluster_.Agrees();
      },
      kMendedWithin);
  if (!agreed) {
    std::string why = "the nodes do not agree after everything was mended";
    for (int i = 0; i < cluster_.size(); ++i) {
      if (!cluster_.started(i)) continue;
      const auto status = cluster_.StatusOf(i);
      absl::StrAppend(&why, "\n  node ", i, ": ",
                      status ? absl::StrCat(status->role, " term ", status->term, " leader ",
                                            status->leader, " applied ", status->applied)
                             : "no answer",
                      "\n", TailOf(cluster_.LogOf(i)));
    }
    wrong_.push_back(why);
  }
  std::vector<uint64_t> before;
  for (int i = 0; i < clients_.count(); ++i) before.push_back(clients_.Written(i));
  int idle = -1;
  const bool all = WaitUntil(
      [&] {
        cluster_.Supervise();
        for (idle = 0; idle < clients_.count(); ++idle) {
          if (clients_.Written(idle) <= before[static_cast<size_t>(idle)]) return false;
        }
        return true;
      },
      kMendedWithin);
  if (!all) {
    wrong_.push_back(absl::StrCat("client ", idle, " makes no IDs after everything was mended"));
  }
  Tell("all clients make IDs");
}

}  // namespace locus::proof
