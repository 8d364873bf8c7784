// SPDX-License-Identifier: Apache-2.0
// strict_simulation_test --seed=91 runs that seed alone; --seeds=N runs N of them.
#include "tests/strict/strict_simulation.h"

#include <iostream>

#include "gtest/gtest.h"
#include "tests/support/simulation_main.h"

namespace locus::strict {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 20000;

TEST(StrictSimulation, RandomHistories_RiseStrictlyInRealTime) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const Flaws flaws = SimulateStrict(seed, {});
    ASSERT_EQ(flaws.repeated, "") << "replay with --seed=" << seed;
    ASSERT_EQ(flaws.order, "") << "replay with --seed=" << seed;
  }
  const StrictCoverage& coverage = CoverageOfStrict();
  std::cout << seeds << " seeds: " << coverage.numbers << " numbers, " << coverage.takes
            << " takes, " << coverage.takes_of_ended << " of ended ownerships, "
            << coverage.given_up << " given up by the store, " << coverage.hand_overs
            << " hand-overs, " << coverage.raises << " raises, " << coverage.let_go
            << " times memory freed, " << coverage.lost << " lost, " << coverage.late
            << " late calls, " << coverage.kills << " kills, " << coverage.pauses
            << " pauses beyond a ttl, " << coverage.cuts << " cuts, " << coverage.stalls
            << " stalls, " << coverage.rewinds << " rewinds\n";
  if (seeds < 1000) return;  // a replay
  EXPECT_GT(coverage.numbers, 1000 * seeds);
  for (uint64_t count :
       {coverage.takes_of_ended, coverage.given_up, coverage.hand_overs, coverage.raises,
        coverage.let_go, coverage.lost, coverage.late, coverage.kills, coverage.pauses,
        coverage.cuts, coverage.stalls, coverage.rewinds}) {
    EXPECT_GT(count, 500u);
  }
}

// The order depends on the drift of clocks. Uniqueness does not: numbers are used only up to the
// stored max_seq.
TEST(StrictSimulation, ClocksBeyondTheAssumedDrift_BreakTheOrderButRepeatNothing) {
  SimulationPlan plan;
  plan.drift = 0.2;
  uint64_t broken = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Flaws flaws = SimulateStrict(seed, plan);
    ASSERT_EQ(flaws.repeated, "") << "seed " << seed;
    broken += !flaws.order.empty();
  }
  EXPECT_GT(broken, 0u);
  std::cout << broken << " of 2000 histories out of order\n";
}

TEST(StrictSimulation, SilentRewind_IsNotCovered) {
  SimulationPlan plan;
  plan.silent_rewinds = true;
  uint64_t repeated = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed)
    repeated += !SimulateStrict(seed, plan).repeated.empty();
  EXPECT_GT(repeated, 0u);
  std::cout << repeated << " of 1000 histories repeat a number\n";
}

struct Mutant {
  const char* name;
  Flaw flaw;
};
class MutantTest : public ::testing::TestWithParam<Mutant> {};

TEST_P(MutantTest, IsCaught) {
  constexpr uint64_t kMost = 20000;
  for (uint64_t seed = 1; seed <= kMost; ++seed) {
    SimulationPlan plan;
    plan.flaw = GetParam().flaw;
    const Flaws flaws = SimulateStrict(seed, plan);
    if (flaws.order.empty() && flaws.repeated.empty()) continue;
    std::cout << "caught by seed " << seed << ": "
              << (flaws.order.empty() ? flaws.repeated : flaws.order) << "\n";
    return;
  }
  FAIL() << "the simulation does not notice this flaw";
}

INSTANTIATE_TEST_SUITE_P(
    Flaws, MutantTest,
    ::testing::Values(Mutant{"NoDeadlineCheck", Flaw::kNoDeadlineCheck},
                      Mutant{"CheckBeforeAdvance", Flaw::kCheckBeforeAdvance},
                      Mutant{"GrantNotCompared", Flaw::kGrantNotCompared},
                      Mutant{"AbandonedGrantUsed", Flaw::kAbandonedGrantUsed},
                      Mutant{"ReleaseBeforeClose", Flaw::kReleaseBeforeClose},
                      Mutant{"UseBeforeStored", Flaw::kUseBeforeStored},
                      Mutant{"DeadlineFromAnswer", Flaw::kDeadlineFromAnswer},
                      Mutant{"NoDriftAllowance", Flaw::kNoDriftAllowance},
                      Mutant{"LetGoStartsLow", Flaw::kLetGoStartsLow},
                      Mutant{"LetGoWhileOpen", Flaw::kLetGoWhileOpen},
                      Mutant{"LetGoAfterUse", Flaw::kLetGoAfterUse},
                      Mutant{"AnyTokenExtends", Flaw::kAnyTokenExtends},
                      Mutant{"EndedOwnershipRenewed", Flaw::kEndedOwnershipRenewed},
                      Mutant{"TakenBeforeItsEnd", Flaw::kTakenBeforeItsEnd},
                      Mutant{"EndedByTheLatest", Flaw::kEndedByTheLatest},
                      Mutant{"OwnershipFromTheEarliest", Flaw::kOwnershipFromTheEarliest},
                      Mutant{"StartBelowMaxSeq", Flaw::kStartBelowMaxSeq},
                      Mutant{"GrantStoresNoRaise", Flaw::kGrantStoresNoRaise},
                      Mutant{"GivenUpBeforeItsEnd", Flaw::kGivenUpBeforeItsEnd},
                      Mutant{"RaiseLowers", Flaw::kRaiseLowers},
                      Mutant{"NoRestAfterLoss", Flaw::kNoRestAfterLoss},
                      Mutant{"NoMarginAfterLoss", Flaw::kNoMarginAfterLoss}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus::strict

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::strict::first_seed, locus::strict::seeds);
}
