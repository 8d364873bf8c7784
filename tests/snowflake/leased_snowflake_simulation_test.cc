// SPDX-License-Identifier: Apache-2.0
// leased_snowflake_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/snowflake/leased_snowflake_simulation.h"

#include <array>
#include <iostream>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/simulation_main.h"

namespace locus {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 20000;

TEST(LeasedSnowflakeSimulation, RandomHistories_KeepEveryInvariant) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::string violation = SimulateLeases(seed, LeaseFault::kNone);
    ASSERT_EQ(violation, "") << "replay with --seed=" << seed;
  }
  const LeaseCoverage& covered = LeasesCovered();
  std::cout << seeds << " seeds: " << covered.ids << " IDs, " << covered.late_ids
            << " made after the worker had gone to another process; " << covered.grants
            << " grants, " << covered.handovers << " handovers, " << covered.repeated
            << " acquires asked again, " << covered.releases << " releases; " << covered.renewals
            << " renewals, " << covered.calm << " of them in calm times, " << covered.late_answers
            << " late answers; lost: " << covered.expired << " by the deadline, " << covered.aborted
            << " by the store; " << covered.rewinds << " losses of the store, " << covered.noticed
            << " noticed by a renewal, " << covered.excepted << " IDs before that\n";
  if (seeds < 1000) return;  // a replay
  for (uint64_t count :
       {covered.ids, covered.late_ids, covered.grants, covered.handovers, covered.repeated,
        covered.releases, covered.renewals, covered.calm, covered.late_answers, covered.expired,
        covered.aborted, covered.rewinds, covered.noticed}) {
    EXPECT_GT(count, seeds / 10);
  }
}

class BrokenLease : public ::testing::TestWithParam<LeaseFault> {};

TEST_P(BrokenLease, IsCaught) {
  uint64_t seed = 1;
  while (seed <= 2000 && SimulateLeases(seed, GetParam()).empty()) ++seed;
  ASSERT_LE(seed, 2000u) << "the simulation does not notice this fault";
  std::cout << "caught by seed " << seed << ": " << SimulateLeases(seed, GetParam()) << "\n";
}

const char* NameOf(LeaseFault fault) {
  constexpr std::array kNames = {"None",
                                 "UseBeforeStored",
                                 "ReleaseBeforeClose",
                                 "FloorIgnored",
                                 "LateAnswerRevives",
                                 "DeadlineFromAnswer",
                                 "LossNotRemembered",
                                 "ExtendAnyToken",
                                 "ReleaseAnyToken",
                                 "TakeAfterTtl"};
  static_assert(kNames.size() == static_cast<size_t>(kLastLeaseFault) + 1);
  return kNames[static_cast<size_t>(fault)];
}

std::vector<LeaseFault> Faults() {
  std::vector<LeaseFault> faults;
  for (int i = 1; i <= static_cast<int>(kLastLeaseFault); ++i) {
    faults.push_back(static_cast<LeaseFault>(i));
  }
  return faults;
}
INSTANTIATE_TEST_SUITE_P(Faults, BrokenLease, ::testing::ValuesIn(Faults()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::first_seed, locus::seeds);
}
