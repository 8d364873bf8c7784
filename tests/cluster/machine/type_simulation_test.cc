// SPDX-License-Identifier: Apache-2.0
// type_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/cluster/machine/type_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/cluster/machine/mistake.h"
#include "tests/support/simulation_main.h"

namespace locus::cluster_machine {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 4'000;

TEST(TypeSimulation, RandomHistories_KeepEveryInvariant) {
  TypesCovered covered;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = SimulateTypes(seed, {}, covered);
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
  std::cout << seeds << " seeds: " << covered.created << " types created, " << covered.altered
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

class FlawedTypes : public ::testing::TestWithParam<Mistake> {};

TEST_P(FlawedTypes, IsCaught) {
  TypesCovered covered;
  ExpectCaught(GetParam(), [&](uint64_t seed, const Flaws& flaws) {
    return SimulateTypes(seed, flaws, covered);
  });
}

constexpr Mistake kMistakes[] = {
    {"ChangesAnyVersion", {.machine = Flaw::kChangesTypesOfAnyVersion}},
    {"TypesNotInSnapshot", {.machine = Flaw::kTypesNotInSnapshot}},
    {"ForgetsAnswers", {.machine = Flaw::kForgetsAnswers}},
    {"ForgetsRefusals", {.machine = Flaw::kForgetsRefusals}},
    {"AnswersBeforeCommit", {.shell = ShellFlaw::kAnswersBeforeCommit}},
    {"ReadsFromAnyNode", {.shell = ShellFlaw::kReadsFromAnyNode}},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, FlawedTypes, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::cluster_machine

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::cluster_machine::first_seed,
                              locus::cluster_machine::seeds);
}
