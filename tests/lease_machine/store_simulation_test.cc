// SPDX-License-Identifier: Apache-2.0
// store_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/lease_machine/store_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/support/simulation_main.h"

namespace locus::lease_machine {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 4'000;

TEST(StoreSimulation, RandomHistories_KeepEveryInvariant) {
  StoreCovered covered;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const std::string wrong = SimulateStore(seed, Flaw::kNone, ShellFlaw::kNone, covered);
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
  std::cout << seeds << " seeds: " << covered.numbers << " batches of numbers, " << covered.segments
            << " segments, " << covered.sets << " counters set, " << covered.put_back
            << " batches put back; " << covered.repeated << " answers repeated, " << covered.late
            << " requests late, " << covered.forgotten << " forgotten; " << covered.leaders
            << " leaders, " << covered.crashes << " crashes, " << covered.restored << " restores, "
            << covered.installed << " snapshots installed\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count : {covered.numbers, covered.segments, covered.sets, covered.put_back,
                         covered.repeated, covered.late, covered.forgotten, covered.leaders,
                         covered.crashes, covered.restored, covered.installed}) {
    EXPECT_GT(count, seeds / 50);
  }
}

struct Mistake {
  const char* name;
  Flaw machine;
  ShellFlaw shell;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class FlawedStoreMachine : public ::testing::TestWithParam<Mistake> {};

TEST_P(FlawedStoreMachine, IsCaught) {
  StoreCovered covered;
  auto wrong = [&](uint64_t seed) {
    return SimulateStore(seed, GetParam().machine, GetParam().shell, covered);
  };
  uint64_t seed = 1;
  while (seed <= 2000 && wrong(seed).empty()) ++seed;
  ASSERT_LE(seed, 2000u) << "the simulation does not notice this mistake";
  std::cout << "caught by seed " << seed << ": " << wrong(seed) << "\n";
  EXPECT_EQ(SimulateStore(seed, Flaw::kNone, ShellFlaw::kNone, covered), "");
}

constexpr Mistake kMistakes[] = {
    {"ForgetsAnswers", Flaw::kForgetsAnswers, ShellFlaw::kNone},
    {"AnswersNotInSnapshot", Flaw::kAnswersNotInSnapshot, ShellFlaw::kNone},
    {"ForgetsSerials", Flaw::kForgetsSerials, ShellFlaw::kNone},
    {"AnswersBeforeCommit", Flaw::kNone, ShellFlaw::kAnswersBeforeCommit},
};
INSTANTIATE_TEST_SUITE_P(Mistakes, FlawedStoreMachine, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::lease_machine

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::lease_machine::first_seed,
                              locus::lease_machine::seeds);
}
