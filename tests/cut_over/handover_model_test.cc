// SPDX-License-Identifier: Apache-2.0
//   handover_model_test             a few seconds
//   handover_model_test --large     more writes and steps: some minutes and 3 GiB (scripts/soak)
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

void ExpectNoViolation(const ModelLimits& limits) {
  const ModelResult result = Explore(Mutant::kNone, limits);
  EXPECT_EQ(result.violation, "");
  std::cout << limits.writes << " writes, " << limits.handovers << " steps, " << limits.promotions
            << " promotions" << (limits.candidate ? "" : " of a replica that is no candidate")
            << (limits.copied ? ", copied before: " : ": ") << result.states << " states, "
            << result.promoted << " behind a promotion\n";
  EXPECT_GT(result.states, 10'000u);
  EXPECT_EQ(result.promoted > 10'000u, limits.promotions > 0);
}

// Several writes around one step, and several steps around one write.
TEST(HandoverModelTest, EveryReachableState_KeepsWhatWasAcknowledged) {
  ExpectNoViolation({.writes = 2, .handovers = 1});
  ExpectNoViolation({.writes = 1, .handovers = 2});
  if (large) ExpectNoViolation({.writes = 2, .handovers = 2});
}

TEST(HandoverModelTest, CandidatePromotedAtAnyMoment_KeepsWhatItHad) {
  ExpectNoViolation({.writes = 1, .handovers = 1, .promotions = 1});
  ExpectNoViolation({.writes = 1, .handovers = 1, .promotions = 1, .copied = true});
  if (!large) return;
  ExpectNoViolation({.writes = 2, .handovers = 0, .promotions = 1});
  ExpectNoViolation({.writes = 1, .handovers = 2, .promotions = 1, .copied = true});
  ExpectNoViolation({.writes = 2, .handovers = 1, .promotions = 1, .copied = true});
}

TEST(HandoverModelTest, OtherReplicaPromotedAtAnyMoment_NoOrderIsAcceptedTwice) {
  ExpectNoViolation(
      {.writes = 1, .handovers = 1, .promotions = 1, .candidate = false, .copied = true});
  if (!large) return;
  ExpectNoViolation(
      {.writes = 1, .handovers = 2, .promotions = 1, .candidate = false, .copied = true});
}

struct MutantCase {
  Mutant mutant;
  const char* name;
  ModelLimits limits = {.writes = 2, .handovers = 2};
};

class HandoverMutantTest : public ::testing::TestWithParam<MutantCase> {};

TEST_P(HandoverMutantTest, IsCaught) {
  const ModelResult result = Explore(GetParam().mutant, GetParam().limits);
  EXPECT_NE(result.violation, "") << result.states << " states";
  std::cout << result.states << " states: " << result.violation << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, HandoverMutantTest,
    ::testing::Values(
        MutantCase{Mutant::kFenceReadWithoutLock, "FenceReadWithoutLock"},
        MutantCase{Mutant::kTokenBeforeDrain, "TokenBeforeDrain"},
        MutantCase{Mutant::kPositionReadEarly, "PositionReadEarly"},
        MutantCase{Mutant::kRefusedWithoutCondition, "RefusedWithoutCondition"},
        MutantCase{Mutant::kTokenWithoutStep, "TokenWithoutStep"},
        MutantCase{Mutant::kCopyBeforePosition, "CopyBeforePosition"},
        MutantCase{Mutant::kNewestWins, "NewestWins"},
        MutantCase{Mutant::kReplaceByOne, "ReplaceByOne"},
        MutantCase{Mutant::kPostsLow, "PostsLow"},
        MutantCase{Mutant::kAppliedTwiceBlindly, "AppliedTwiceBlindly"},
        MutantCase{Mutant::kCheckpointApart, "CheckpointApart"},
        MutantCase{Mutant::kNoLoopFilter, "NoLoopFilter"},
        MutantCase{Mutant::kCandidateIgnored,
                   "CandidateIgnored",
                   {.writes = 1, .handovers = 1, .promotions = 1, .copied = true}},
        MutantCase{Mutant::kCopyIgnoresCandidate,
                   "CopyIgnoresCandidate",
                   {.writes = 2, .handovers = 0, .promotions = 1}},
        MutantCase{Mutant::kTakenBackUnconfirmed,
                   "TakenBackUnconfirmed",
                   {.writes = 0, .handovers = 1, .promotions = 1, .copied = true}},
        MutantCase{
            Mutant::kBoundByOldLook,
            "BoundByOldLook",
            {.writes = 0, .handovers = 1, .promotions = 1, .candidate = false, .copied = true}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  locus::large = argc > 1 && std::string_view(argv[1]) == "--large";
  return RUN_ALL_TESTS();
}
