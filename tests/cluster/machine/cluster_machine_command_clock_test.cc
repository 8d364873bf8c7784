// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "gtest/gtest.h"
#include "src/cluster/machine/command_clock.h"

namespace locus::cluster_machine {
namespace {

const absl::Time kStart = absl::FromUnixMillis(1'700'000'000'000);
constexpr absl::Duration kBoot = absl::Hours(40);
constexpr uint64_t kTerm = 3;

// Of the leader of kTerm, whose last command was applied at kBoot.
CommandClock Follower() {
  CommandClock clock;
  clock.Hear(kTerm);
  clock.Applied(kTerm, kStart, kBoot);
  return clock;
}

// The leader of the term answers a question of `asked`.
ClockTold ToldByLeader(absl::Duration asked, absl::Time time, uint64_t term = kTerm) {
  return {asked, term, true, time, time};
}

TEST(CommandClockTest, FirstLeader_GoesByItsWallClock) {
  CommandClock clock;
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Hours(3), kBoot), kStart + absl::Hours(3));
}

TEST(CommandClockTest, FirstLeaderBehindTheMachine_RestsUntilItHasCaughtUp) {
  CommandClock clock;
  EXPECT_EQ(clock.Now(kStart, kStart - absl::Hours(1), kBoot), kStart);
  EXPECT_EQ(clock.off(), -absl::Hours(1));
  EXPECT_EQ(clock.Now(kStart, kStart - absl::Minutes(1), kBoot + absl::Minutes(59)), kStart);
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(1), kBoot + absl::Minutes(61)),
            kStart + absl::Seconds(1));
}

TEST(CommandClockTest, NewLeaderOffByAnHour_ContinuesWhereTheOldOneWas) {
  for (absl::Duration off : {absl::Hours(1), -absl::Hours(1)}) {
    CommandClock clock = Follower();
    const absl::Time wall = kStart + off;
    const absl::Time first = clock.Now(kStart, wall + absl::Seconds(2), kBoot + absl::Seconds(2));
    EXPECT_LE(absl::AbsDuration(first - (kStart + absl::Seconds(2))), absl::Milliseconds(2));
    absl::Time last = first;
    for (int second = 3; second <= 3600; ++second) {
      const absl::Time now =
          clock.Now(kStart, wall + absl::Seconds(second), kBoot + absl::Seconds(second));
      EXPECT_GT(now, last);
      last = now;
    }
    EXPECT_GT(absl::AbsDuration(clock.off()), CommandClock::kMostOff);
    const absl::Duration moved = last - (kStart + absl::Seconds(3600));
    EXPECT_LE(absl::AbsDuration(moved), absl::Milliseconds(1802));
    EXPECT_GE(absl::AbsDuration(moved), absl::Milliseconds(1700));
  }
}

TEST(CommandClockTest, LeaderBehindAFollowerWithoutTheTime_IsLedByAStepAtMost) {
  CommandClock clock = Follower();
  // Of a leader that is 30 ms behind: the follower stays where it was.
  clock.Applied(kTerm, kStart + absl::Milliseconds(4970), kBoot + absl::Seconds(5));
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(5), kBoot + absl::Seconds(5)),
            kStart + absl::Seconds(5));
  // Or 4 s: leases that it granted must not end 4 s early.
  clock.Applied(kTerm, kStart + absl::Seconds(6), kBoot + absl::Seconds(10));
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(6), kBoot + absl::Seconds(10)),
            kStart + absl::Seconds(6) + CommandClock::kMostStep);
}

// The remaining ttl of counters must not pass with it.
TEST(CommandClockTest, TimeOfWallClocks_LeapsUntilTheMachineHasIt) {
  CommandClock clock;
  clock.SetVoters(1, {1});
  EXPECT_FALSE(clock.Leaps(kStart));
  const absl::Time wall = kStart + absl::Hours(3);
  const absl::Time leapt = clock.Now(kStart, wall, kBoot);
  EXPECT_TRUE(clock.Leaps(kStart));
  clock.Now(kStart, wall + absl::Seconds(1), kBoot + absl::Seconds(1));
  EXPECT_TRUE(clock.Leaps(kStart)) << "no command has brought it there";
  EXPECT_FALSE(clock.Leaps(leapt));
  clock.Lead(kTerm, kBoot);
  clock.Applied(kTerm, leapt, kBoot);
  const absl::Time advanced = kStart + absl::Hours(5);
  clock.Advance(advanced, kBoot);
  EXPECT_EQ(clock.Known(leapt, kBoot), std::nullopt) << "whoever is told leads without the leap";
  EXPECT_TRUE(clock.Leaps(leapt));
  EXPECT_FALSE(clock.Leaps(advanced));
  clock.Hear(kTerm + 1);
  clock.Told(2, ToldByLeader(kBoot, leapt, kTerm + 1), kBoot);
  EXPECT_FALSE(clock.Leaps(leapt)) << "another leader goes on without it";
}

TEST(CommandClockTest, TimeThatContinues_DoesNotLeap) {
  CommandClock clock = Follower();
  for (int second = 0; second < 100; ++second) {
    const absl::Duration passed = absl::Seconds(second);
    clock.Now(kStart, kStart + absl::Hours(1) + passed, kBoot + passed);
    EXPECT_FALSE(clock.Leaps(kStart));
  }
}

// Both followers were stopped while commands were under way, and then lead.
TEST(CommandClockTest, CommandIsAppliedLate_DoesNotSetTheTimeBack) {
  for (const uint64_t term : {kTerm, kTerm + 1}) {
    CommandClock clock;
    clock.Hear(kTerm);
    clock.Told(2, ToldByLeader(kBoot, kStart), kBoot);
    if (term != kTerm) clock.Hear(term);
    constexpr absl::Duration kStopped = absl::Seconds(15);
    clock.Applied(term, kStart + absl::Milliseconds(1), kBoot + kStopped);
    clock.Lead(term + 1, kBoot);
    EXPECT_EQ(clock.Now(kStart, kStart + kStopped, kBoot + kStopped), kStart + kStopped) << term;
  }
}

TEST(CommandClockTest, AnswerThatTookLong_MovesTheTimeByNoMoreThanItProves) {
  CommandClock clock;
  clock.Hear(kTerm);
  clock.Told(2, ToldByLeader(kBoot, kStart), kBoot);
  const absl::Duration later = kBoot + absl::Seconds(20);
  auto expect = [&](absl::Duration told, absl::Duration known) {
    CommandClock one = clock;
    one.Told(2, ToldByLeader(kBoot + absl::Seconds(5), kStart + told), later);
    EXPECT_EQ(one.Known(kStart, later), kStart + known) << told;
  };
  expect(absl::Seconds(5), absl::Seconds(20));
  expect(absl::Seconds(20), absl::Seconds(20));
  expect(absl::Seconds(4), absl::Seconds(19));   // the leader is behind by a second
  expect(absl::Seconds(21), absl::Seconds(21));  // or ahead
}

TEST(CommandClockTest, OnlyTheLeaderOfThisTermIsBelievedByANodeThatKnowsTheTime) {
  CommandClock clock;
  clock.Told(2, ToldByLeader(kBoot - absl::Seconds(2), kStart), kBoot);
  EXPECT_EQ(clock.Known(kStart, kBoot), std::nullopt) << "it took too long for a node without time";
  clock.Told(2, {kBoot, 0, false, kStart, std::nullopt}, kBoot);
  EXPECT_EQ(clock.Known(kStart, kBoot), std::nullopt) << "the node that answered knows nothing";
  clock.Told(2, {kBoot, 0, false, kStart, kStart}, kBoot);
  EXPECT_EQ(clock.Known(kStart, kBoot), kStart);
  clock.Hear(kTerm);
  const absl::Time other = kStart + absl::Hours(1);
  clock.Told(2, {kBoot, kTerm, false, other, other}, kBoot);
  clock.Told(2, ToldByLeader(kBoot, other, kTerm - 1), kBoot);
  clock.Told(2, ToldByLeader(kBoot + absl::Hours(9), other), kBoot);  // of another boot
  EXPECT_EQ(clock.Known(kStart, kBoot), kStart);
  clock.Told(2, ToldByLeader(kBoot, other), kBoot);
  EXPECT_EQ(clock.Known(kStart, kBoot), other);
}

// --- Wall clocks of three voters; this one is 1.

ClockTold WallOf(absl::Time wall, absl::Duration asked) {
  return {asked, 0, false, wall, std::nullopt};
}

TEST(CommandClockTest, AllWereDown_OneClockThatIsAheadDoesNotSetTheTime) {
  const absl::Time right = kStart + absl::Hours(3);
  for (const auto& [own, other] : {std::pair(absl::Hours(1), absl::ZeroDuration()),
                                   std::pair(absl::ZeroDuration(), absl::Hours(1))}) {
    CommandClock clock;
    clock.SetVoters(1, {1, 2, 3});
    clock.Lead(7, kBoot);
    EXPECT_FALSE(clock.MayBegin(right + own, kBoot));
    clock.Told(9, WallOf(right, kBoot), kBoot);                     // no voter
    clock.Told(3, WallOf(right, kBoot - absl::Minutes(1)), kBoot);  // it took too long
    EXPECT_FALSE(clock.MayBegin(right + own, kBoot));
    clock.Told(2, WallOf(right + other, kBoot), kBoot);
    EXPECT_FALSE(clock.MayBegin(right + own, kBoot)) << "they disagree";
    const absl::Duration waited = kBoot + CommandClock::kMostWait;
    const absl::Time later = right + CommandClock::kMostWait;
    EXPECT_TRUE(clock.MayBegin(later + own, waited));
    EXPECT_EQ(clock.Now(kStart, later + own, waited), later);
    EXPECT_EQ(clock.off(), own) << "of its own clock";
  }
}

TEST(CommandClockTest, AllWereDown_TwoClocksThatAgreeCountAgainstOneThatIsBehindOrAhead) {
  const absl::Time right = kStart + absl::Hours(3);
  for (const absl::Duration off : {absl::Hours(1), -absl::Hours(1)}) {
    CommandClock clock;
    clock.SetVoters(1, {1, 2, 3});
    clock.Lead(7, kBoot);
    clock.Told(2, WallOf(right + off, kBoot), kBoot);
    EXPECT_FALSE(clock.MayBegin(right, kBoot)) << "the third one may agree";
    clock.Told(3, WallOf(right, kBoot), kBoot);
    EXPECT_TRUE(clock.MayBegin(right, kBoot));
    EXPECT_EQ(clock.Now(kStart, right, kBoot), right) << off;
  }
}

TEST(CommandClockTest, NoMajorityIsHeardForAnHour_ALeadersOwnClockMovesNothing) {
  CommandClock clock;
  clock.SetVoters(1, {1, 2, 3});
  clock.Lead(7, kBoot);
  const absl::Duration later = kBoot + absl::Hours(1);
  EXPECT_FALSE(clock.MayBegin(kStart + absl::Hours(3), later));
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Hours(3), later), kStart);

  CommandClock follower = Follower();
  follower.SetVoters(1, {1, 2, 3});
  EXPECT_TRUE(follower.MayBegin(kStart, later)) << "it knows the time";
  EXPECT_EQ(follower.Now(kStart, kStart + absl::Hours(9), later), kStart + absl::Hours(1));
}

TEST(CommandClockTest, MajorityContradictsTheTime_ItIsCorrectedWithinMinutesAndNeverFalls) {
  for (const int off : {-65, -15, 15, 65}) {
    CommandClock clock = Follower();
    clock.SetVoters(1, {1, 2, 3});
    absl::Time last = kStart;
    int took = 0;
    for (int second = 1; second <= 1200 && took == 0; ++second) {
      const absl::Duration boot = kBoot + absl::Seconds(second);
      const absl::Time right = kStart + absl::Seconds(second - off);
      clock.Told(2, WallOf(right, boot), boot);
      const absl::Time now = clock.Now(kStart, right + absl::Hours(1), boot);
      EXPECT_GE(now, last);
      if (off < 0) EXPECT_LE(now - last, absl::Milliseconds(1063));
      last = now;
      clock.Told(3, WallOf(right, boot), boot);
      if (absl::AbsDuration(now - right) <= CommandClock::kAgree) took = second;
    }
    EXPECT_GT(took, 30) << off;
    EXPECT_LT(took, off < 0 ? 1100 : 110) << off;
  }
}

TEST(CommandClockTest, OneClockContradictsTheTime_ItIsDrawnSlowly) {
  CommandClock clock = Follower();
  clock.SetVoters(1, {1, 2, 3});
  absl::Time now;
  for (int second = 1; second <= 600; ++second) {
    const absl::Duration boot = kBoot + absl::Seconds(second);
    clock.Told(2, WallOf(kStart + absl::Seconds(second + 60), boot), boot);
    now = clock.Now(kStart, kStart + absl::Seconds(second + 3600), boot);
  }
  EXPECT_LE(now - (kStart + absl::Seconds(600)), absl::Milliseconds(301));
}

TEST(CommandClockTest, MachineAhead_IsFollowed) {
  CommandClock clock = Follower();
  EXPECT_EQ(clock.Now(kStart + absl::Minutes(1), kStart, kBoot), kStart + absl::Minutes(1));
}

// --- A node that has just started. The leader of term 7 is alive.

TEST(CommandClockTest, StartedNode_FollowsCommandsOfTheFirstTermThatItHeardAndOfLaterOnes) {
  for (const uint64_t term : {7u, 8u}) {
    for (const bool heard_first : {true, false}) {
      for (const absl::Duration off : {absl::Milliseconds(4800), absl::Hours(1), -absl::Hours(1)}) {
        CommandClock clock;
        if (heard_first) clock.Hear(7);
        clock.Applied(term, kStart, kBoot);
        clock.Hear(heard_first ? 8 : 7);
        clock.Lead(9, kBoot);
        const absl::Time due = kStart + absl::Seconds(3);
        const absl::Time now = clock.Now(kStart, due + off, kBoot + absl::Seconds(3));
        EXPECT_LE(absl::AbsDuration(now - due), absl::Milliseconds(3)) << term << off;
      }
    }
  }
}

void ExpectItsWallClockCounts(CommandClock& clock) {
  clock.Lead(8, kBoot);
  const absl::Time wall = kStart + absl::Hours(72);
  EXPECT_EQ(clock.Now(kStart, wall, kBoot + absl::Seconds(3)), wall);
}

// All were down for days; the new leader died before its first command was committed.
TEST(CommandClockTest, StartedNode_TrustsItsWallClockIfItHasOnlyCommandsOfEarlierTerms) {
  CommandClock clock;
  clock.Hear(7);
  clock.Applied(6, kStart, kBoot);
  ExpectItsWallClockCounts(clock);
}

TEST(CommandClockTest, StartedNode_TrustsItsWallClockIfItHasHeardNoNode) {
  CommandClock clock;
  clock.Applied(7, kStart, kBoot);
  ExpectItsWallClockCounts(clock);
}

// It gets them from the last leader, and learns that they are committed when it leads itself.
TEST(CommandClockTest, StartedNodeThatLeads_FollowsCommandsOfEarlierTerms) {
  CommandClock clock;
  clock.Hear(7);
  clock.Applied(6, kStart, kBoot);
  clock.Lead(8, kBoot);
  clock.Applied(7, kStart + absl::Hours(2), kBoot + absl::Seconds(1));
  const absl::Time due = kStart + absl::Hours(2) + absl::Seconds(1);
  EXPECT_LE(
      absl::AbsDuration(
          clock.Now(kStart + absl::Hours(2), due + absl::Hours(1), kBoot + absl::Seconds(2)) - due),
      absl::Milliseconds(1));
}

TEST(CommandClockTest, NodeThatKnowsTheTime_DoesNotFollowACommandThatIsCommittedInALaterTerm) {
  for (const absl::Duration delay : {absl::Seconds(2), absl::Hours(1)}) {
    for (const bool led : {true, false}) {
      CommandClock clock = Follower();
      const uint64_t term = led ? kTerm + 1 : kTerm;
      if (led) {
        clock.Lead(term, kBoot);
        EXPECT_EQ(clock.Now(kStart, kStart, kBoot), kStart);
        clock.Applied(term, kStart, kBoot);
      }
      clock.Lead(kTerm + 2, kBoot);
      clock.Applied(term, kStart + absl::Seconds(1), kBoot + delay);
      EXPECT_EQ(clock.Now(kStart + absl::Seconds(1), kStart + delay, kBoot + delay),
                kStart + delay);
    }
  }
}

// The next leader's time was set back: leases that it granted must not end early.
TEST(CommandClockTest, LeaderOfALaterTermThatIsBehind_IsFollowed) {
  CommandClock clock = Follower();
  clock.Lead(kTerm + 2, kBoot);
  clock.Applied(kTerm + 1, kStart + absl::Seconds(1), kBoot + absl::Seconds(20));
  EXPECT_LE(clock.Now(kStart, kStart + absl::Seconds(20), kBoot + absl::Seconds(20)),
            kStart + absl::Seconds(1) + CommandClock::kMostStep);
}

TEST(CommandClockTest, Leader_DoesNotFollowItsOwnCommands) {
  CommandClock clock;
  clock.Hear(7);
  clock.Applied(7, kStart, kBoot);
  clock.Lead(8, kBoot);
  const absl::Time first = clock.Now(kStart, kStart + absl::Seconds(1), kBoot + absl::Seconds(1));
  // The command took 3 s; followed, it would set the time back by these.
  clock.Applied(8, first, kBoot + absl::Seconds(4));
  EXPECT_EQ(clock.Now(first, kStart + absl::Seconds(4), kBoot + absl::Seconds(4)),
            kStart + absl::Seconds(4));
}

TEST(CommandClockTest, LeaderThatDoesNotKnowTheTime_YieldsOnceInAClusterThatHasOne) {
  CommandClock clock;
  clock.Lead(7, kBoot);
  EXPECT_FALSE(clock.ShouldYield(absl::UnixEpoch()));
  clock.Applied(6, kStart, kBoot);
  EXPECT_TRUE(clock.ShouldYield(kStart));
  clock.Lead(9, kBoot);
  EXPECT_FALSE(clock.ShouldYield(kStart));
  EXPECT_FALSE(Follower().ShouldYield(kStart));
}

TEST(CommandClockTest, WallClockOfASecondOff_IsReachedSlowly) {
  CommandClock clock = Follower();
  absl::Time now;
  for (int second = 1; second <= 2100; ++second) {
    now = clock.Now(kStart, kStart + absl::Seconds(second + 1), kBoot + absl::Seconds(second));
  }
  EXPECT_EQ(now, kStart + absl::Seconds(2101));
}

}  // namespace
}  // namespace locus::cluster_machine
