// SPDX-License-Identifier: Apache-2.0
// generator_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/generator/generator_simulation.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/support/simulation_main.h"

namespace locus {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 20000;

TEST(GeneratorSimulation, RandomHistories_KeepEveryInvariant) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::string violation = Simulate(seed, Fault::kNone);
    ASSERT_EQ(violation, "") << "replay with --seed=" << seed;
  }
  const SimulationCoverage& coverage = Coverage();
  std::cout << seeds << " seeds: " << coverage.ids << " IDs, " << coverage.allocations
            << " allocations, " << coverage.late_answers << " late answers, "
            << coverage.losses_noticed << " losses noticed, " << coverage.silent_rewinds
            << " silent rewinds, " << coverage.uncovered_segments << " allocations unnoticed, "
            << coverage.crashes << " crashes, " << coverage.refused_clocks << " clocks refused, "
            << coverage.segments_dropped << " segments dropped\n";
  if (seeds < 1000) return;  // a replay
  EXPECT_GT(coverage.ids, seeds);
  EXPECT_GT(coverage.allocations, seeds);
  for (uint64_t count : {coverage.late_answers, coverage.losses_noticed, coverage.silent_rewinds,
                         coverage.uncovered_segments, coverage.crashes, coverage.refused_clocks,
                         coverage.segments_dropped}) {
    EXPECT_GT(count, 100u);
  }
}

class BrokenVariant : public ::testing::TestWithParam<Fault> {};

TEST_P(BrokenVariant, IsCaught) {
  uint64_t seed = 1;
  while (seed <= 20000 && Simulate(seed, GetParam()).empty()) ++seed;
  ASSERT_LE(seed, 20000u) << "the simulation does not notice this fault";
  std::cout << "caught by seed " << seed << ": " << Simulate(seed, GetParam()) << "\n";
}

INSTANTIATE_TEST_SUITE_P(Faults, BrokenVariant,
                         ::testing::Values(Fault::kTakeNextByPlainStore, Fault::kRateAcrossSwap,
                                           Fault::kForgetBase, Fault::kGiveBack),
                         [](const auto& test) {
                           switch (test.param) {
                             case Fault::kTakeNextByPlainStore:
                               return "TakeNextByPlainStore";
                             case Fault::kRateAcrossSwap:
                               return "RateAcrossSwap";
                             case Fault::kForgetBase:
                               return "ForgetBase";
                             default:
                               return "GiveBack";
                           }
                         });

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::first_seed, locus::seeds);
}
