// SPDX-License-Identifier: Apache-2.0
// store_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/cluster/machine/store_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/cluster/machine/mistake.h"
#include "tests/support/simulation_main.h"

namespace locus::cluster_machine {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 4'000;

TEST(StoreSimulation, RandomHistories_KeepEveryInvariant) {
  StoreCovered covered;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = SimulateStore(seed, {}, covered);
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
  std::cout << seeds << " seeds: " << covered.numbers << " batches of numbers, " << covered.segments
            << " segments, " << covered.sets << " counters set, " << covered.put_back
            << " batches put back; " << covered.granted << " strict sections granted, "
            << covered.taken_over << " taken over, " << covered.extended << " extended, "
            << covered.released << " released, " << covered.drawn << " strict batches drawn, "
            << covered.begun_again << " counters begun again; " << covered.Text() << "\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count :
       {covered.numbers, covered.segments, covered.sets, covered.put_back, covered.granted,
        covered.taken_over, covered.extended, covered.released, covered.drawn, covered.begun_again,
        covered.repeated, covered.late, covered.forgotten, covered.leaders, covered.crashes,
        covered.restored, covered.installed}) {
    EXPECT_GT(count, seeds / 50);
  }
}

class FlawedStoreMachine : public ::testing::TestWithParam<Mistake> {};

TEST_P(FlawedStoreMachine, IsCaught) {
  StoreCovered covered;
  ExpectCaught(GetParam(), [&](uint64_t seed, const Flaws& flaws) {
    return SimulateStore(seed, flaws, covered);
  });
}

constexpr Mistake kMistakes[] = {
    {"ForgetsAnswers", {.machine = Flaw::kForgetsAnswers}},
    {"AnswersNotInSnapshot", {.machine = Flaw::kAnswersNotInSnapshot}},
    {"ForgetsRefusals", {.machine = Flaw::kForgetsRefusals}},
    {"ForgetsSerials", {.machine = Flaw::kForgetsSerials}},
    {"TimeFalls", {.machine = Flaw::kTimeFalls}},
    {"LeaderUsesItsWallClock", {.machine = Flaw::kLeaderUsesItsWallClock}},
    {"LeapsCount", {.machine = Flaw::kLeapsCount}},
    {"AnyTokenExtends", {.strict = strict::Flaw::kAnyTokenExtends}},
    {"TakenBeforeItsEnd", {.strict = strict::Flaw::kTakenBeforeItsEnd}},
    {"StartBelowMaxSeq", {.strict = strict::Flaw::kStartBelowMaxSeq}},
    {"GrantStoresNoRaise", {.strict = strict::Flaw::kGrantStoresNoRaise}},
    {"RaiseLowers", {.strict = strict::Flaw::kRaiseLowers}},
    {"AnswersBeforeCommit", {.shell = ShellFlaw::kAnswersBeforeCommit}},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, FlawedStoreMachine, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::cluster_machine

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::cluster_machine::first_seed,
                              locus::cluster_machine::seeds);
}
