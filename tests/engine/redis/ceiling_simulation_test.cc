// SPDX-License-Identifier: Apache-2.0
// ceiling_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/engine/redis/ceiling_simulation.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "gtest/gtest.h"
#include "src/engine/redis/ceiling_protocol.h"
#include "tests/support/simulation_main.h"

namespace locus {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 20000;

TEST(CeilingSimulation, RandomHistories_KeepEveryInvariant) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::string violation = SimulateCeiling(seed, CeilingFault::kNone);
    ASSERT_EQ(violation, "") << "replay with --seed=" << seed;
  }
  const CeilingCoverage& coverage = CoverageOfCeilings();
  std::cout << seeds << " seeds: " << coverage.numbers << " numbers, " << coverage.blocks
            << " blocks, " << coverage.lives << " lives, " << coverage.late_blocks
            << " late blocks, " << coverage.late_executions << " late executions, "
            << coverage.failovers << " failovers, " << coverage.splits << " splits, "
            << coverage.restarts << " restarts, " << coverage.flushes << " flushes\n";
  if (seeds < 1000) return;  // a replay
  EXPECT_GT(coverage.numbers, 10 * seeds);
  for (uint64_t count :
       {coverage.blocks, coverage.lives, coverage.late_blocks, coverage.late_executions,
        coverage.failovers, coverage.splits, coverage.restarts, coverage.flushes}) {
    EXPECT_GT(count, 500u);
  }
}

struct Broken {
  const char* name;
  CeilingFault fault;
};
class BrokenCeiling : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenCeiling, IsCaught) {
  uint64_t seed = 1;
  while (seed <= 20000 && SimulateCeiling(seed, GetParam().fault).empty()) ++seed;
  ASSERT_LE(seed, 20000u) << "the simulation does not notice this fault";
  std::cout << "caught by seed " << seed << ": " << SimulateCeiling(seed, GetParam().fault) << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BrokenCeiling,
    ::testing::Values(Broken{"RaiseAfterUse", CeilingFault::kRaiseAfterUse},
                      Broken{"TrustAfterFailover", CeilingFault::kTrustAfterFailover},
                      Broken{"ReadThenWriteRaise", CeilingFault::kReadThenWriteRaise},
                      Broken{"InstallIntoAnyLife", CeilingFault::kInstallIntoAnyLife},
                      Broken{"InstallOverwrites", CeilingFault::kInstallOverwrites},
                      Broken{"InstallAgain", CeilingFault::kInstallAgain},
                      Broken{"TermOfConnection", CeilingFault::kTermOfConnection}),
    [](const auto& test) { return test.param.name; });

TEST(CeilingProtocol, NextBlock_FollowsTheRate) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  EXPECT_EQ(ceiling::NextBlock(1000, milliseconds(100), 1000, 5000), 2000);
  EXPECT_EQ(ceiling::NextBlock(4000, milliseconds(100), 1000, 5000), 5000);
  EXPECT_EQ(ceiling::NextBlock(4000, seconds(5), 1000, 5000), 4000);
  EXPECT_EQ(ceiling::NextBlock(4000, seconds(11), 1000, 5000), 2000);
  EXPECT_EQ(ceiling::NextBlock(1000, seconds(11), 1000, 5000), 1000);
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::first_seed, locus::seeds);
}
