// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/wishes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;

Standing At(Phase phase, uint32_t share) {
  Standing now;
  now.phase = phase;
  now.share = share;
  now.wish.started = true;
  now.wish.goal = share;
  return now;
}

std::string Refusal(const absl::StatusOr<Wish>& wish) {
  EXPECT_TRUE(absl::IsFailedPrecondition(wish.status())) << wish.status();
  return std::string(wish.status().message());
}

TEST(WishesTest, Step_GoesByOneAndIsOneStepHoweverOftenItIsAskedFor) {
  Standing now = At(Phase::kReady, 500);
  EXPECT_EQ(AskStep(now, std::nullopt, 500)->goal, 1000u);
  now.wish = *AskStep(now, std::nullopt, 500);
  EXPECT_EQ(AskStep(now, std::nullopt, 500)->goal, 1000u);
  EXPECT_EQ(AskStep(At(Phase::kReady, 9900), std::nullopt, 500)->goal, 10000u);
  const auto far = AskStep(At(Phase::kReady, 500), 4500, 500);
  EXPECT_EQ(far->goal, 4500u);
  EXPECT_EQ(far->by, 4000u);
  // The next step is one of the file again.
  Standing there = At(Phase::kReady, 4500);
  there.wish.by = far->by;
  EXPECT_EQ(AskStep(there, std::nullopt, 500)->goal, 5000u);
  EXPECT_EQ(AskStep(there, std::nullopt, 500)->by, 500u);
}

TEST(WishesTest, StepThatCannotBe_IsRefusedWithTheRemedy) {
  EXPECT_THAT(Refusal(AskStep(At(Phase::kCopying, 0), std::nullopt, 500)), HasSubstr("READY"));
  EXPECT_THAT(Refusal(AskStep(At(Phase::kFinalized, 10000), 5000, 500)),
              HasSubstr("other direction"));
  EXPECT_THAT(Refusal(AskStep(At(Phase::kReady, 5000), 4000, 500)),
              HasSubstr("rollback --to 4000"));
  EXPECT_THAT(Refusal(AskStep(At(Phase::kReady, 10000), std::nullopt, 500)), HasSubstr("finalize"));
  Standing held = At(Phase::kReady, 500);
  held.wish.hold = "gate lag";
  EXPECT_THAT(Refusal(AskStep(held, std::nullopt, 500)), HasSubstr("resume"));
  EXPECT_TRUE(absl::IsInvalidArgument(AskStep(At(Phase::kReady, 0), 10001, 500).status()));
}

TEST(WishesTest, Rollback_ClearsHoldAndEnding) {
  Standing now = At(Phase::kFinalizing, 10000);
  now.wish.hold = "x";
  now.wish.ending = Ending::kFinalize;
  const auto wish = AskRollback(now, 3000);
  ASSERT_TRUE(wish.ok()) << wish.status();
  EXPECT_EQ(wish->goal, 3000u);
  EXPECT_EQ(wish->hold, "");
  EXPECT_EQ(wish->ending, Ending::kNone);
  EXPECT_THAT(Refusal(AskRollback(At(Phase::kReady, 500), 600)), HasSubstr("step --to 600"));
  EXPECT_THAT(Refusal(AskRollback(At(Phase::kDone, 10000), 0)), HasSubstr("other direction"));
}

TEST(WishesTest, Finalize_OnlyAtTheWhole) {
  EXPECT_EQ(AskFinalize(At(Phase::kReady, 10000))->ending, Ending::kFinalize);
  EXPECT_THAT(Refusal(AskFinalize(At(Phase::kReady, 9999))), HasSubstr("10000"));
  Standing going_back = At(Phase::kReady, 10000);
  going_back.wish.goal = 0;
  EXPECT_THAT(Refusal(AskFinalize(going_back)), HasSubstr("10000"));
}

TEST(WishesTest, AbortAndCleanup_InTheirPhasesOnly) {
  EXPECT_EQ(AskAbort(At(Phase::kCopying, 0))->ending, Ending::kAbort);
  EXPECT_THAT(Refusal(AskAbort(At(Phase::kReady, 500))), HasSubstr("rollback"));
  EXPECT_THAT(Refusal(AskAbort(At(Phase::kFinalized, 10000))), HasSubstr("other direction"));
  EXPECT_THAT(Refusal(AskCleanup(At(Phase::kReady, 10000), false)), HasSubstr("finalize"));
  EXPECT_EQ(AskCleanup(At(Phase::kFinalized, 10000), true)->keep, true);
  EXPECT_THAT(Refusal(AskStart(At(Phase::kAborted, 0))), HasSubstr("another name"));
}

TEST(WishesTest, Repair_EndsTheHoldAndMakesNoStep) {
  Standing now = At(Phase::kReady, 2500);
  now.wish.goal = 10000;
  now.wish.hold = "the stream from the target stopped";
  const auto wish = AskRepair(now, {false, false, true});
  ASSERT_TRUE(wish.ok()) << wish.status();
  EXPECT_EQ(wish->repair, (Repair{true, false, true})) << "triggers are looked at each time";
  EXPECT_EQ(wish->hold, "");
  EXPECT_EQ(wish->goal, 2500u);
  now.wish = *wish;
  EXPECT_EQ(AskRepair(now, {true, true, false})->repair, (Repair{true, true, true}));
  EXPECT_EQ(*AskRepair(now, {}), now.wish);
}

TEST(WishesTest, RepairThatCannotBe_IsRefusedWithTheRemedy) {
  const Repair guards{true, false, false};
  EXPECT_THAT(Refusal(AskRepair(At(Phase::kPlanned, 0), guards)), HasSubstr("preflight"));
  EXPECT_THAT(Refusal(AskRepair(At(Phase::kFinalized, 10000), guards)), HasSubstr("have ended"));
  Standing now = At(Phase::kReady, 500);
  now.in_a_step = true;
  EXPECT_THAT(Refusal(AskRepair(now, guards)), HasSubstr("on its way"));
  now = At(Phase::kReady, 0);
  now.wish.ending = Ending::kAbort;
  EXPECT_THAT(Refusal(AskRepair(now, guards)), HasSubstr("abort"));
}

}  // namespace
}  // namespace locus::internal
