// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/coordinator.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Kind = Decision::Kind;

constexpr uint32_t kWhole = 10000;

// A move at a share with nothing in its way.
MoveSight At(uint32_t share, uint32_t goal) {
  MoveSight sight;
  sight.phase = Phase::kReady;
  sight.wish.started = true;
  sight.wish.goal = goal;
  sight.fences = {Situation::Kind::kAgreed, share, share, Side::kSource};
  sight.step = 7;
  sight.at_share = absl::Hours(1);
  sight.forth = {true, absl::Milliseconds(5), "", ""};
  sight.back = {true, absl::Milliseconds(5), "", ""};
  sight.published = MoveSight::Published{true, false, true, share, 7};
  sight.gates = {{"lag", "500ms", "5ms", true, true, false}};
  return sight;
}

TEST(CoordinatorTest, GoalAhead_StepsByTheWish) {
  const Decision decision = Decide(At(500, 3000));
  EXPECT_EQ(decision.kind, Kind::kLetGo);
  EXPECT_EQ(decision.share, 1000u);
  EXPECT_EQ(Decide(At(9800, kWhole)).share, kWhole);
}

TEST(CoordinatorTest, GoalBehind_GoesBackInOneStepWithoutDwell) {
  MoveSight sight = At(6000, 1000);
  sight.at_share = absl::ZeroDuration();
  const Decision decision = Decide(sight);
  EXPECT_EQ(decision.kind, Kind::kLetGo);
  EXPECT_EQ(decision.share, 1000u);
}

TEST(CoordinatorTest, DwellNotOver_Waits) {
  MoveSight sight = At(500, 3000);
  sight.at_share = absl::Seconds(59);
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.at_share = absl::Seconds(60);
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo);
}

TEST(CoordinatorTest, Held_MakesNoStepButEndsTheOneOnItsWay) {
  MoveSight sight = At(500, 3000);
  sight.wish.hold = "by ana";
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.fences = {Situation::Kind::kOnItsWay, 500, 1000, Side::kSource};
  sight.in_step = absl::Seconds(3);
  EXPECT_EQ(Decide(sight).kind, Kind::kRefuse);
  sight.fences.kind = Situation::Kind::kRefused;
  EXPECT_EQ(Decide(sight).kind, Kind::kRestore);
  sight.fences.kind = Situation::Kind::kRestored;
  EXPECT_EQ(Decide(sight).kind, Kind::kLevel);
}

TEST(CoordinatorTest, Alarm_HoldsButEndsTheStepOnItsWay) {
  MoveSight sight = At(500, 3000);
  sight.alarm = "the guards are missing";
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
  sight.fences = {Situation::Kind::kOnItsWay, 500, 1000, Side::kSource};
  sight.in_step = absl::Seconds(3);
  EXPECT_EQ(Decide(sight).kind, Kind::kRefuse) << "the band's writers wait";
  sight.fences.kind = Situation::Kind::kRefused;
  EXPECT_EQ(Decide(sight).kind, Kind::kRestore);
  sight.fences = {};
  EXPECT_EQ(Decide(sight).why, "the guards are missing");
}

TEST(CoordinatorTest, FinalizedBesideAnotherShareInTheTable_PublishesTheWholeFirst) {
  MoveSight sight = At(kWhole, kWhole);
  sight.phase = Phase::kFinalized;
  sight.published->share = 5000;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublish);
  EXPECT_EQ(Decide(sight).share, kWhole);
  sight.published->share = kWhole;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublishEnd);
}

TEST(CoordinatorTest, StepNotAcceptedInTime_IsTakenBackAndHeldAfterThree) {
  MoveSight sight = At(500, 3000);
  sight.fences = {Situation::Kind::kOnItsWay, 500, 1000, Side::kSource};
  sight.in_step = absl::Seconds(1);
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.in_step = absl::Seconds(2.1);
  EXPECT_EQ(Decide(sight).kind, Kind::kRefuse);
  sight = At(500, 3000);
  sight.taken_back = 2;
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo);
  sight.taken_back = 3;
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

TEST(CoordinatorTest, TableBehindTheFences_IsPublishedBeforeTheNextStep) {
  MoveSight sight = At(1000, 3000);
  sight.published->share = 500;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublish);
  EXPECT_EQ(Decide(sight).share, 1000u);
  sight = At(1000, 3000);
  sight.published->step = 6;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublish);
  sight.published.reset();
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.published = MoveSight::Published{};
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

TEST(CoordinatorTest, GateFails_WaitsThenHoldsOrRollsBack) {
  MoveSight sight = At(1000, 3000);
  sight.gates = {{"command", "exit 0", "exit 1", false, false, false}};
  sight.gates_fail = absl::Seconds(60);
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.gates_fail = absl::Seconds(61);
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
  EXPECT_EQ(Decide(sight).why, "gate command: exit 1, allowed exit 0");
  sight.gates[0].rolls_back = true;
  EXPECT_EQ(Decide(sight).kind, Kind::kRollBack);
  sight.wish.goal = 0;
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo) << "the gate is not one of the way back";
}

TEST(CoordinatorTest, StreamBroken_HoldsButGoesBackByTheOtherStream) {
  MoveSight sight = At(1000, 3000);
  sight.forth.broken = "conflict";
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
  sight.wish.goal = 0;
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo);
  sight.back.broken = "conflict";
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

TEST(CoordinatorTest, StoppedStream_GetsNoBand) {
  MoveSight sight = At(1000, 0);
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo);
  sight.back.lag = absl::InfiniteDuration();
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  EXPECT_EQ(Decide(sight).why, "the stream from the target, which stands still");
  sight.wish.goal = 3000;
  EXPECT_EQ(Decide(sight).kind, Kind::kLetGo) << "the other stream brings that band";
  sight.forth.lag = absl::InfiniteDuration();
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
}

TEST(CoordinatorTest, StoppedStream_IsNextInsteadOfACommand) {
  for (uint32_t share : {uint32_t{1000}, kWhole}) {
    EXPECT_EQ(NextCommand(At(share, share)), share == kWhole ? "finalize" : "step");
    for (bool back : {false, true}) {
      MoveSight sight = At(share, share);
      StreamSight& stream = back ? sight.back : sight.forth;
      const std::string stands =
          absl::StrCat("the stream from the ", back ? "target" : "source", ", which stands still");
      stream.lag = absl::InfiniteDuration();
      EXPECT_EQ(NextCommand(sight), "");
      EXPECT_EQ(Decide(sight).why, stands);
      stream.waiting = "a lock (1205)";
      EXPECT_EQ(Decide(sight).why, stands + ": a lock (1205)");
      // Reconnecting: its last marker is not old yet.
      stream.lag = absl::Milliseconds(5);
      EXPECT_EQ(NextCommand(sight), "");
      sight.wish.hold = "by ana";
      EXPECT_EQ(NextCommand(sight), "resume");
    }
  }
}

// An event that cannot be applied is not lost, so a repair without an option would find nothing.
TEST(CoordinatorTest, StreamBroken_NextNamesTheOptionThatMendsIt) {
  using Mend = internal::StreamSight::Mend;
  MoveSight sight = At(1000, 3000);
  sight.forth.broken = "purged";
  EXPECT_EQ(NextCommand(sight), "repair");
  sight.forth.mend = Mend::kCompare;
  EXPECT_EQ(NextCommand(sight), "repair --compare");
  sight.forth.mend = Mend::kReseed;
  EXPECT_EQ(NextCommand(sight), "repair --reseed source");
  sight.back = sight.forth;
  EXPECT_EQ(NextCommand(sight), "repair --reseed both");
  sight.forth.broken.clear();
  EXPECT_EQ(NextCommand(sight), "repair --reseed target");
  for (Mend mend : {Mend::kFindings, Mend::kCompare, Mend::kReseed}) {
    EXPECT_EQ(internal::MendNamed(ToString(mend)), mend);
  }
  EXPECT_EQ(internal::MendNamed("; other"), Mend::kFindings);
}

TEST(CoordinatorTest, TriggersLost_HoldsButEndsTheStepOnItsWay) {
  MoveSight sight = At(500, 3000);
  sight.unguarded = "trigger x is missing";
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
  EXPECT_EQ(Decide(sight).why, "trigger x is missing");
  EXPECT_EQ(NextCommand(sight), "repair");
  sight.wish.goal = 0;
  EXPECT_EQ(Decide(sight).kind, Kind::kHold) << "the way back relies on them, too";
  sight.fences = {Situation::Kind::kOnItsWay, 500, 1000, Side::kSource};
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
}

TEST(CoordinatorTest, RepairAskedFor_ComesBeforeAllButAStepOnItsWay) {
  MoveSight sight = At(2500, 2500);
  sight.wish.repair.guards = true;
  sight.unguarded = "trigger x is missing";
  sight.back.broken = "purged";
  sight.wish.hold = "by ana";
  EXPECT_EQ(Decide(sight).kind, Kind::kRepair);
  EXPECT_EQ(Decide(sight).phase, Phase::kVerifying);
  sight.wish.repair.back = true;
  EXPECT_EQ(Decide(sight).phase, Phase::kStreaming);
  sight.fences = {Situation::Kind::kOnItsWay, 2500, 3000, Side::kSource};
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.fences = {};
  EXPECT_EQ(Decide(sight).kind, Kind::kWait) << "contradicting fences: held by ana";
  sight = At(0, 0);
  sight.wish.repair.back = true;
  sight.wish.ending = Ending::kAbort;
  EXPECT_EQ(Decide(sight).phase, Phase::kAborting);
  sight = At(kWhole, kWhole);
  sight.wish.repair.back = true;
  sight.phase = Phase::kFinalized;
  EXPECT_NE(Decide(sight).kind, Kind::kRepair) << "the streams have ended";
}

TEST(CoordinatorTest, Repaired_ContinuesWhereNothingIsLeftOut) {
  const Repair guards{true, false, false}, back{true, false, true}, forth{true, true, false};
  EXPECT_EQ(RepairedPhase(Phase::kCopying, guards), Phase::kCopying);
  EXPECT_EQ(RepairedPhase(Phase::kReady, guards), Phase::kVerifying);
  EXPECT_EQ(RepairedPhase(Phase::kFinalizing, guards), Phase::kVerifying);
  EXPECT_EQ(RepairedPhase(Phase::kFinalizing, back), Phase::kStreaming);
  const Seeding first;
  EXPECT_EQ(RepairedSeeding(Phase::kReady, first, guards), first);
  EXPECT_EQ(RepairedSeeding(Phase::kReady, first, back), (Seeding{false, true, true}));
  EXPECT_EQ(RepairedSeeding(Phase::kReady, {false, true, true}, forth),
            (Seeding{true, false, true}));
  EXPECT_EQ(RepairedSeeding(Phase::kCopying, {false, true, true}, forth),
            (Seeding{true, true, true}))
      << "what was being copied is not there yet";
}

// At a share above 0: the streams that begin anew pass before rows are copied, and both are caught
// up before they are compared; no step is made until then.
TEST(CoordinatorTest, StreamBackSeededAgain_WaitsForItAtEachPhase) {
  MoveSight sight = At(2500, 5000);
  sight.phase = Phase::kStreaming;
  sight.seeding = {false, true, true};
  sight.back = {false, absl::InfiniteDuration(), "", ""};
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.back = {true, absl::Seconds(5), "", ""};
  EXPECT_EQ(Decide(sight).phase, Phase::kCopying);
  sight.phase = Phase::kCopying;
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.copied = true;
  EXPECT_EQ(Decide(sight).phase, Phase::kCatchingUp);
  sight.phase = Phase::kCatchingUp;
  EXPECT_EQ(Decide(sight).kind, Kind::kWait) << "the stream back lags";
  sight.back.lag = absl::Milliseconds(5);
  EXPECT_EQ(Decide(sight).phase, Phase::kVerifying);
  sight.phase = Phase::kVerifying;
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.compared = true;
  EXPECT_EQ(Decide(sight).phase, Phase::kReady);
}

TEST(CoordinatorTest, RepairAsText_IsReadBack) {
  for (int bits = 0; bits < 8; ++bits) {
    const Repair repair{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    EXPECT_EQ(RepairIn(RepairText(repair)), repair);
    const Seeding seeding{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    EXPECT_EQ(SeedingIn(SeedingText(seeding)), seeding);
  }
  EXPECT_EQ(RepairText({true, false, true}), "guards,back");
  EXPECT_EQ(RepairIn("guards,rows"), std::nullopt);
}

TEST(CoordinatorTest, StreamBrokenBehindTheWayBack_IsHeldAfterTheTableFollowed) {
  MoveSight sight = At(0, 0);
  sight.forth.broken = "the stream from the source stopped";
  sight.published->share = 5000;
  sight.published->step = 6;
  const Decision decision = Decide(sight);
  EXPECT_EQ(decision.kind, Kind::kPublish);
  EXPECT_EQ(decision.share, 0u);
  sight.published->share = 0;
  sight.published->step = 7;
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

// A rollback whose last share was not published yet: the table loses only a move at share 0.
TEST(CoordinatorTest, AbortedBeforeTheTableFollowed_ShareZeroIsPublishedFirst) {
  MoveSight sight = At(0, 0);
  sight.phase = Phase::kAborting;
  sight.wish.ending = Ending::kAbort;
  sight.published->share = 500;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublish);
  EXPECT_EQ(Decide(sight).share, 0u);
  sight.published->share = 0;
  EXPECT_EQ(Decide(sight).kind, Kind::kPublishDrop);
}

// A failover or a repair began the streams anew before the last step was published.
TEST(CoordinatorTest, TableBehindTheFencesBeforeReady_IsPublished) {
  MoveSight sight = At(0, 0);
  sight.published = MoveSight::Published{true, false, true, 500, 6};
  for (Phase phase : {Phase::kStreaming, Phase::kCopying, Phase::kVerifying}) {
    sight.phase = phase;
    const Decision decision = Decide(sight);
    EXPECT_EQ(decision.kind, Kind::kPublish) << ToString(phase);
    EXPECT_EQ(decision.share, 0u);
  }
  // A move that is new makes no epoch for its first step.
  sight.published->share = 0;
  sight.published->step = 0;
  EXPECT_NE(Decide(sight).kind, Kind::kPublish);
}

TEST(CoordinatorTest, TableWithALaterStep_IsHeldAndNotOverwritten) {
  MoveSight sight = At(500, 3000);
  sight.published->step = 8;
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

TEST(CoordinatorTest, Finalize_OnlyAtTheWholeAndComparedAgain) {
  MoveSight sight = At(5000, 5000);
  sight.wish.ending = Ending::kFinalize;
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight = At(kWhole, kWhole);
  sight.wish.ending = Ending::kFinalize;
  EXPECT_EQ(Decide(sight).phase, Phase::kFinalizing);
  sight.phase = Phase::kFinalizing;
  EXPECT_EQ(Decide(sight).kind, Kind::kWait);
  sight.compared = true;
  EXPECT_EQ(Decide(sight).phase, Phase::kFinalized);
  sight.differs = "1 row";
  EXPECT_EQ(Decide(sight).kind, Kind::kHold);
}

TEST(CoordinatorTest, Abort_OnlyAtShareZero) {
  MoveSight sight = At(500, 500);
  sight.wish.ending = Ending::kAbort;
  EXPECT_NE(Decide(sight).kind, Kind::kEnter);
  sight = At(0, 0);
  sight.wish.ending = Ending::kAbort;
  EXPECT_EQ(Decide(sight).phase, Phase::kAborting);
}

TEST(CoordinatorTest, NamesOfPhasesAndStates_ReadBack) {
  for (int i = 0; i <= static_cast<int>(Phase::kAborted); ++i) {
    EXPECT_EQ(PhaseNamed(ToString(static_cast<Phase>(i))), static_cast<Phase>(i));
  }
  EXPECT_EQ(PhaseNamed("x"), std::nullopt);
  EXPECT_EQ(EndingNamed("abort"), Ending::kAbort);
  EXPECT_EQ(StateName(At(0, 0)), "READY");
  EXPECT_EQ(StateName(At(500, 3000)), "STEP(500)");
  EXPECT_EQ(StateName(At(500, 0)), "ROLLING_BACK(500)");
  EXPECT_EQ(StateName(At(kWhole, kWhole)), "SWITCHED");
}

}  // namespace
}  // namespace locus::internal
