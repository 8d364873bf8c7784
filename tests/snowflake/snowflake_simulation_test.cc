// SPDX-License-Identifier: Apache-2.0
// snowflake_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/snowflake/snowflake_simulation.h"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/simulation_main.h"

namespace locus {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 20000;

TEST(SnowflakeSimulation, RandomHistories_KeepEveryInvariant) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::string violation = SimulateSnowflakes(seed, SnowflakeFault::kNone);
    ASSERT_EQ(violation, "") << "replay with --seed=" << seed;
  }
  const SnowflakeCoverage& covered = SnowflakesCovered();
  std::cout << seeds << " seeds: " << covered.ids << " IDs, " << covered.disturbed
            << " readings disturbed, " << covered.went_on << " runs from a clock set back, "
            << covered.waits << " waits; refused: " << covered.clock_back << " for the clock, "
            << covered.above_ceiling << " above the ceiling, " << covered.time_used_up
            << " out of time, " << covered.closed << " closed; " << covered.handovers
            << " handovers, " << covered.late_holders << " runs of late holders\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count : {covered.ids, covered.disturbed, covered.went_on, covered.waits,
                         covered.clock_back, covered.above_ceiling, covered.time_used_up,
                         covered.closed, covered.handovers, covered.late_holders}) {
    EXPECT_GT(count, seeds / 10);
  }
}

class BrokenSnowflake : public ::testing::TestWithParam<SnowflakeFault> {};

TEST_P(BrokenSnowflake, IsCaught) {
  uint64_t seed = 1;
  while (seed <= 2000 && SimulateSnowflakes(seed, GetParam()).empty()) ++seed;
  ASSERT_LE(seed, 2000u) << "the simulation does not notice this fault";
  std::cout << "caught by seed " << seed << ": " << SimulateSnowflakes(seed, GetParam()) << "\n";
}

std::vector<SnowflakeFault> Faults() {
  std::vector<SnowflakeFault> faults;
  for (int i = 1; i <= static_cast<int>(kLastSnowflakeFault); ++i) {
    faults.push_back(static_cast<SnowflakeFault>(i));
  }
  return faults;
}
INSTANTIATE_TEST_SUITE_P(Faults, BrokenSnowflake, ::testing::ValuesIn(Faults()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::first_seed, locus::seeds);
}
