// SPDX-License-Identifier: Apache-2.0
//   handover_model_test             a few seconds
//   handover_model_test --large     more writes and steps: a minute and 3 GiB (scripts/soak)
#include "tests/cut_over/handover_model.h"

#include <iostream>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

bool large = false;

TEST(HandoverModelTest, EveryReachableState_KeepsWhatWasAcknowledged) {
  // Several writes around one step, and several steps around one write.
  std::vector<ModelLimits> all = {{.writes = 2, .handovers = 1}, {.writes = 1, .handovers = 2}};
  if (large) all = {{.writes = 2, .handovers = 2}};
  for (const ModelLimits& limits : all) {
    const ModelResult result = Explore(Mutant::kNone, limits);
    EXPECT_EQ(result.violation, "");
    std::cout << limits.writes << " writes, " << limits.handovers << " steps: " << result.states
              << " states\n";
    EXPECT_GT(result.states, 10'000u);
  }
}

struct MutantCase {
  Mutant mutant;
  const char* name;
};

class HandoverMutantTest : public ::testing::TestWithParam<MutantCase> {};

TEST_P(HandoverMutantTest, IsCaught) {
  const ModelResult result = Explore(GetParam().mutant, {.writes = 2, .handovers = 2});
  EXPECT_NE(result.violation, "") << result.states << " states";
  std::cout << result.states << " states: " << result.violation << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, HandoverMutantTest,
    ::testing::Values(MutantCase{Mutant::kFenceReadWithoutLock, "FenceReadWithoutLock"},
                      MutantCase{Mutant::kRefusedWithoutCondition, "RefusedWithoutCondition"},
                      MutantCase{Mutant::kTokenWithoutStep, "TokenWithoutStep"},
                      MutantCase{Mutant::kCopyBeforePosition, "CopyBeforePosition"},
                      MutantCase{Mutant::kNewestWins, "NewestWins"},
                      MutantCase{Mutant::kReplaceByOne, "ReplaceByOne"},
                      MutantCase{Mutant::kAppliedTwiceBlindly, "AppliedTwiceBlindly"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  locus::large = argc > 1 && std::string_view(argv[1]) == "--large";
  return RUN_ALL_TESTS();
}
