// SPDX-License-Identifier: Apache-2.0
// rule_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/lease_machine/rule_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/lease_machine/mistake.h"
#include "tests/support/simulation_main.h"

namespace locus::lease_machine {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 4'000;

TEST(RuleSimulation, RandomHistories_KeepEveryInvariant) {
  RulesCovered covered;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = SimulateRules(seed, {}, covered);
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
  std::cout << seeds << " seeds: " << covered.created << " rules created, " << covered.altered
            << " altered, " << covered.dropped << " dropped, " << covered.refused
            << " changes of another version refused, " << covered.reads << " reads; "
            << covered.Text() << "\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count : {covered.created, covered.altered, covered.dropped, covered.refused,
                         covered.reads, covered.repeated, covered.forgotten, covered.leaders,
                         covered.crashes, covered.restored, covered.installed}) {
    EXPECT_GT(count, seeds / 50);
  }
  EXPECT_GT(covered.late, 0u);
}

class FlawedRules : public ::testing::TestWithParam<Mistake> {};

TEST_P(FlawedRules, IsCaught) {
  RulesCovered covered;
  ExpectCaught(GetParam(), [&](uint64_t seed, const Flaws& flaws) {
    return SimulateRules(seed, flaws, covered);
  });
}

constexpr Mistake kMistakes[] = {
    {"ChangesAnyVersion", {.machine = Flaw::kChangesRulesOfAnyVersion}},
    {"RulesNotInSnapshot", {.machine = Flaw::kRulesNotInSnapshot}},
    {"ForgetsAnswers", {.machine = Flaw::kForgetsAnswers}},
    {"ForgetsRefusals", {.machine = Flaw::kForgetsRefusals}},
    {"AnswersBeforeCommit", {.shell = ShellFlaw::kAnswersBeforeCommit}},
    {"ReadsFromAnyNode", {.shell = ShellFlaw::kReadsFromAnyNode}},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, FlawedRules, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::lease_machine

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::lease_machine::first_seed,
                              locus::lease_machine::seeds);
}
