// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/coordinator.h"

#include <random>

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

TEST(CoordinatorTest, StreamThatStandsStill_GetsNoBand) {
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

TEST(CoordinatorTest, StreamThatStandsStill_IsNextInsteadOfACommand) {
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

TEST(CoordinatorTest, Repaired_GoesOnWhereNothingIsLeftOut) {
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

// A world that the decisions act on: fences, streams that may be slow, a table that others publish,
// operators who change their minds, coordinators that die and forget.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    source_ = Owned(Side::kSource, 0, kWhole);
    target_ = Owned(Side::kTarget, 0, kWhole);
    source_.step = target_.step = 1;
  }

  void Round(bool calm) {
    if (calm) gate_ok_ = table_answers_ = true;
    if (!calm) Disturb();
    if (calm || Chance(3)) Deliver();
    in_step_ += absl::Milliseconds(Pick(calm ? 200 : 2000));
    at_share_ += absl::Seconds(Pick(30));
    Act(Decide(See()), calm);
    Check();
  }

  bool At(uint32_t share) const {
    const Situation now = SituationOf(source_, target_, kWhole);
    return now.kind == Situation::Kind::kAgreed && now.share == share && table_share_ == share;
  }
  void Wish(uint32_t goal) { wish_ = {true, goal, 2500, absl::Seconds(10), "", Ending::kNone}; }
  Phase phase() const { return phase_; }
  uint32_t steps() const { return steps_; }

 private:
  uint64_t Pick(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t n) { return Pick(n) == 0; }

  void Disturb() {
    if (Chance(20)) wish_.goal = static_cast<uint32_t>(Pick(5) * 2500);
    if (Chance(30)) wish_.hold = Chance(2) ? "" : "by hand";
    if (Chance(50)) in_step_ = at_share_ = absl::ZeroDuration();  // a new coordinator
    if (Chance(40)) gate_ok_ = Chance(2);
    if (Chance(60)) table_answers_ = Chance(2);
  }

  // The applier of the recipient reaches the donor's last token.
  void Deliver() {
    if (auto row = TakeOver(Side::kTarget, target_, source_, kWhole)) target_ = *row;
    if (auto row = TakeOver(Side::kSource, source_, target_, kWhole)) source_ = *row;
  }

  MoveSight See() {
    MoveSight sight;
    sight.phase = phase_;
    sight.wish = wish_;
    sight.fences = SituationOf(source_, target_, kWhole);
    sight.step = std::max(source_.step, target_.step);
    sight.in_step = in_step_;
    sight.at_share = at_share_;
    sight.forth = sight.back = {true, absl::Milliseconds(1), "", ""};
    sight.copied = sight.compared = true;
    if (table_answers_) {
      sight.published = MoveSight::Published{true, false, true, table_share_, table_step_};
    }
    sight.gates = {{"a gate", "", "", gate_ok_, false, false}};
    return sight;
  }

  void Act(const Decision& decision, bool calm) {
    // It may die before it acts.
    if (!calm && Chance(5)) return;
    auto set = [&](Side side, const std::optional<BandFence>& row) {
      if (!row) return;
      (side == Side::kSource ? source_ : target_) = *row;
      in_step_ = absl::ZeroDuration();
      ++steps_;
    };
    const Situation now = SituationOf(source_, target_, kWhole);
    switch (decision.kind) {
      case Kind::kEnter:
        phase_ = decision.phase;
        break;
      case Kind::kLetGo:
        ASSERT_TRUE(wish_.hold.empty());
        at_share_ = absl::ZeroDuration();
        set(decision.share > now.share ? Side::kSource : Side::kTarget,
            LetGo(source_, target_, decision.share, ++nonce_, kWhole));
        break;
      case Kind::kRefuse:
        set(Other(now.donor), Refuse(source_, target_, kWhole));
        break;
      case Kind::kRestore:
        set(now.donor, Restore(source_, target_, kWhole));
        break;
      case Kind::kLevel:
        set(Other(now.donor), Level(source_, target_, kWhole));
        break;
      case Kind::kPublish:
        ASSERT_EQ(now.kind, Situation::Kind::kAgreed);
        ASSERT_EQ(decision.share, now.share);
        table_share_ = decision.share;
        table_step_ = std::max(source_.step, target_.step);
        break;
      case Kind::kHold:
        wish_.hold = decision.why;
        break;
      default:
        break;
    }
  }

  void Check() {
    ASSERT_NE(SituationOf(source_, target_, kWhole).kind, Situation::Kind::kImpossible);
    ASSERT_GE(source_.own_lo, target_.own_hi) << "both own a band";
    ASSERT_GE(source_.step, last_source_);
    ASSERT_GE(target_.step, last_target_);
    last_source_ = source_.step;
    last_target_ = target_.step;
  }

  std::mt19937_64 random_;
  Phase phase_ = Phase::kReady;
  struct Wish wish_;
  BandFence source_, target_;
  absl::Duration in_step_, at_share_;
  uint32_t table_share_ = 0;
  uint64_t table_step_ = 1, nonce_ = 0, last_source_ = 0, last_target_ = 0;
  uint32_t steps_ = 0;
  bool gate_ok_ = true, table_answers_ = true;
};

TEST(CoordinatorTest, AnyDisturbance_KeepsTheInvariantsAndReachesTheGoalWhenItEnds) {
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(seed);
    for (int i = 0; i < 400; ++i) world.Round(false);
    const uint32_t goal = static_cast<uint32_t>(seed % 5) * 2500;
    int rounds = 0;
    for (; rounds < 400 && !world.At(goal); ++rounds) {
      world.Wish(goal);
      world.Round(true);
    }
    ASSERT_TRUE(world.At(goal));
    if (HasFatalFailure()) return;
    steps += world.steps();
  }
  EXPECT_GT(steps, 5000u);
}

}  // namespace
}  // namespace locus::internal
