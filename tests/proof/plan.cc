// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/plan.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"

namespace locus::proof {
namespace {

using Random = std::mt19937_64;

// Long enough that a lease ends meanwhile, in spite of the renewal before it.
constexpr absl::Duration kBeyondTtl = absl::Milliseconds(12'500);

absl::Duration Between(Random& random, int64_t least_ms, int64_t most_ms) {
  return absl::Milliseconds(
      least_ms + static_cast<int64_t>(random() % static_cast<uint64_t>(most_ms - least_ms + 1)));
}

absl::Duration LengthOf(Fault fault, Random& random) {
  switch (fault) {
    case Fault::kKillLeader:
    case Fault::kKillFollower:
    case Fault::kKillAll:
      return Between(random, 0, 4000);
    case Fault::kStallLeader:
      return Between(random, 1000, 7000);
    case Fault::kTornWrite:
    case Fault::kFullDisk:
      return Between(random, 3000, 5000);
    default:
      return Between(random, 2000, 6000);
  }
}

// A node whose clock is off by an hour, and that has followed no leader since it was started, would
// set the cluster's time by it: no ID repeats, but no client gets a lease for an hour. So no node
// is started then or shortly before, and there is no second fault at the same time.
constexpr absl::Duration kFollowsBy = absl::Seconds(5);
bool IsOfClock(Fault fault) { return fault == Fault::kClockAhead || fault == Fault::kClockBehind; }
bool GoesWithOthers(Fault fault) {
  return !IsOfClock(fault) && fault != Fault::kKillAll && fault != Fault::kMemberAdded;
}

void AddFaultsOfNodes(Random& random, Plan& plan) {
  // Each seed continues the round of all faults where the previous seed stopped.
  constexpr uint64_t kEach = 4;
  uint64_t next = (plan.seed - 1) * kEach;
  absl::Duration at = Between(random, 500, 1500);
  bool beside = false;
  while (at < plan.length - absl::Seconds(2)) {
    const Fault fault = static_cast<Fault>(next++ % kNodeFaults);
    if (IsOfClock(fault)) at += kFollowsBy;
    Step step{fault, at, at + LengthOf(fault, random), random()};
    const Step* before = plan.steps.empty() ? nullptr : &plan.steps.back();
    // Sometimes the previous fault continues.
    if (before != nullptr && !beside && random() % 3 == 0 && GoesWithOthers(fault) &&
        GoesWithOthers(before->fault)) {
      step.begin = before->begin + (before->end - before->begin) / 2;
      beside = true;
    } else {
      beside = false;
    }
    at = std::max(at, step.end) + Between(random, 200, 1800);
    plan.steps.push_back(step);
  }
}

void AddFaultsOfClients(Random& random, Plan& plan) {
  for (absl::Duration at = Between(random, 0, 3000); at < plan.length;
       at += Between(random, 2000, 7000)) {
    plan.steps.push_back({Fault::kKillHolder, at, at, random()});
  }
  for (absl::Duration at = Between(random, 500, 6000); at + kBeyondTtl < plan.length;
       at += absl::Seconds(30)) {
    const absl::Duration length = kBeyondTtl + Between(random, 0, 2000);
    plan.steps.push_back({Fault::kStallHolder, at, at + length, random()});
  }
  for (absl::Duration at = Between(random, 0, 20'000); at < plan.length; at += absl::Seconds(20)) {
    plan.steps.push_back({Fault::kHolderClockJumps, at, at + Between(random, 500, 3000), random()});
  }
}

}  // namespace

std::string_view ToString(Fault fault) {
  constexpr std::string_view kNames[] = {"leader killed",       "follower killed",
                                         "all nodes killed",    "leader stopped",
                                         "leader in majority",  "leader in minority",
                                         "one way cut",         "ways flap",
                                         "clock an hour ahead", "clock an hour behind",
                                         "slow disk",           "full disk",
                                         "torn write",          "member added in a partition",
                                         "holder stopped",      "holder killed",
                                         "holder's clock jumps"};
  static_assert(std::size(kNames) == kFaults, "each fault has a name");
  return kNames[static_cast<size_t>(fault)];
}

std::string Plan::Text() const {
  std::string text = absl::StrCat("seed ", seed, ": ", nodes, " nodes, ", clients, " clients, ",
                                  absl::FormatDuration(length));
  for (const Step& step : steps) {
    const std::string name(ToString(step.fault));
    absl::StrAppend(&text, "\n  ", absl::FormatDuration(step.begin), " .. ",
                    absl::FormatDuration(step.end), "  ", name, "  (", step.choice % 1000, ")");
  }
  return text + "\n";
}

Plan PlanOf(uint64_t seed, absl::Duration length) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.length = length;
  // Seven seeds are twice round all faults: the next seven have the other number of nodes.
  plan.nodes = (seed / 7) % 2 == 0 ? 3 : 5;
  plan.clients = static_cast<int>(4 + random() % 3);
  AddFaultsOfNodes(random, plan);
  AddFaultsOfClients(random, plan);
  std::stable_sort(plan.steps.begin(), plan.steps.end(),
                   [](const Step& one, const Step& other) { return one.begin < other.begin; });
  return plan;
}

}  // namespace locus::proof
