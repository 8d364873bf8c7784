// SPDX-License-Identifier: Apache-2.0
// cluster_machine_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/cluster/machine/cluster_machine_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/cluster/machine/mistake.h"
#include "tests/support/simulation_main.h"

namespace locus::cluster_machine {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 50'000;

TEST(ClusterMachineSimulation, RandomHistories_KeepEveryInvariant) {
  Covered covered;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = Simulate(seed, {}, covered);
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
  std::cout << seeds << " seeds: " << covered.granted << " granted, " << covered.renewed
            << " renewed, " << covered.released << " released, " << covered.expired << " expired, "
            << covered.refused << " refused, " << covered.unhealthy << " unhealthy; " << covered.ids
            << " IDs, " << covered.late_ids << " of them late; " << covered.shows << " shows, "
            << covered.calls << " calls checked; " << covered.steady << " steady runs; "
            << covered.Text() << "\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count :
       {covered.granted, covered.renewed, covered.released, covered.expired, covered.refused,
        covered.unhealthy, covered.repeated, covered.forgotten, covered.ids, covered.late_ids,
        covered.shows, covered.forged, covered.leaders, covered.crashes, covered.restored,
        covered.installed, covered.jumps, covered.steady}) {
    EXPECT_GT(count, seeds / 10);
  }
}

class FlawedClusterMachine : public ::testing::TestWithParam<Mistake> {};

TEST_P(FlawedClusterMachine, IsCaught) {
  Covered covered;
  ExpectCaught(GetParam(),
               [&](uint64_t seed, const Flaws& flaws) { return Simulate(seed, flaws, covered); });
}

constexpr Mistake kMistakes[] = {
    {"ExtendsWithoutToken", {.machine = Flaw::kExtendsWithoutToken}},
    {"ForgetsAnswers", {.machine = Flaw::kForgetsAnswers}},
    {"AnswersNotInSnapshot", {.machine = Flaw::kAnswersNotInSnapshot}},
    {"TimeFalls", {.machine = Flaw::kTimeFalls}},
    {"ForgetsCeiling", {.machine = Flaw::kForgetsCeiling}},
    {"BelievesEveryClaim", {.machine = Flaw::kBelievesEveryClaim}},
    {"LeaderUsesItsWallClock", {.machine = Flaw::kLeaderUsesItsWallClock}},
    {"FollowsLateCommands", {.machine = Flaw::kFollowsLateCommands}},
    {"OneClockSetsTheTime", {.machine = Flaw::kOneClockSetsTheTime}},
    {"BeginsWithoutAMajority", {.machine = Flaw::kBeginsWithoutAMajority}},
    {"AnswersBeforeCommit", {.shell = ShellFlaw::kAnswersBeforeCommit}},
    {"AppliesWithLocalTime", {.shell = ShellFlaw::kAppliesWithLocalTime}},
    {"ExpiresByLocalClock", {.shell = ShellFlaw::kExpiresByLocalClock}},
    {"ReadsFromAnyNode", {.shell = ShellFlaw::kReadsFromAnyNode}},
    {"UsesIdsAfterReleaseBegan", {.shell = ShellFlaw::kUsesIdsAfterReleaseBegan}},
    {"TrustsItsClockAfterARestart", {.shell = ShellFlaw::kTrustsItsClockAfterARestart}},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, FlawedClusterMachine, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::cluster_machine

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::cluster_machine::first_seed,
                              locus::cluster_machine::seeds);
}
