// SPDX-License-Identifier: Apache-2.0
#include "gtest/gtest.h"
#include "src/lease_machine/command_clock.h"

namespace locus::lease_machine {
namespace {

const absl::Time kStart = absl::FromUnixMillis(1'700'000'000'000);
constexpr absl::Duration kBoot = absl::Hours(40);

TEST(CommandClockTest, FirstLeader_GoesByItsWallClock) {
  CommandClock clock;
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Hours(3), kBoot), kStart + absl::Hours(3));
}

TEST(CommandClockTest, FirstLeaderBehindTheMachine_StandsStillUntilItHasCaughtUp) {
  CommandClock clock;
  EXPECT_EQ(clock.Now(kStart, kStart - absl::Hours(1), kBoot), kStart);
  EXPECT_EQ(clock.off(), -absl::Hours(1));
  EXPECT_EQ(clock.Now(kStart, kStart - absl::Minutes(1), kBoot + absl::Minutes(59)), kStart);
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(1), kBoot + absl::Minutes(61)),
            kStart + absl::Seconds(1));
}

TEST(CommandClockTest, NewLeaderOffByAnHour_GoesOnWhereTheOldOneWas) {
  for (absl::Duration off : {absl::Hours(1), -absl::Hours(1)}) {
    CommandClock clock;
    clock.Follow(kStart, kBoot);
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

TEST(CommandClockTest, LeaderBehindTheFollower_IsLedByAStepAtMost) {
  CommandClock clock;
  clock.Follow(kStart, kBoot);
  // Of a leader that is 30 ms behind: the follower stays where it was.
  clock.Follow(kStart + absl::Milliseconds(4970), kBoot + absl::Seconds(5));
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(5), kBoot + absl::Seconds(5)),
            kStart + absl::Seconds(5));
  // Or 4 s: leases that it granted must not end 4 s early.
  clock.Follow(kStart + absl::Seconds(6), kBoot + absl::Seconds(10));
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Seconds(6), kBoot + absl::Seconds(10)),
            kStart + absl::Seconds(6) + CommandClock::kMostStep);
}

TEST(CommandClockTest, MachineAhead_IsFollowed) {
  CommandClock clock;
  clock.Follow(kStart, kBoot);
  EXPECT_EQ(clock.Now(kStart + absl::Minutes(1), kStart, kBoot), kStart + absl::Minutes(1));
}

TEST(CommandClockTest, Trusted_StepsForwardAndIsDrawnFromThere) {
  CommandClock clock;
  clock.Follow(kStart, kBoot);
  clock.Trust();
  EXPECT_EQ(clock.Now(kStart, kStart + absl::Hours(1), kBoot), kStart + absl::Hours(1));
  // The wall clock jumps back: not followed.
  EXPECT_GE(clock.Now(kStart, kStart, kBoot + absl::Seconds(10)),
            kStart + absl::Hours(1) + absl::Milliseconds(9994));
}

TEST(CommandClockTest, WallClockOfASecondOff_IsReachedSlowly) {
  CommandClock clock;
  clock.Follow(kStart, kBoot);
  absl::Time now;
  for (int second = 1; second <= 2100; ++second) {
    now = clock.Now(kStart, kStart + absl::Seconds(second + 1), kBoot + absl::Seconds(second));
  }
  EXPECT_EQ(now, kStart + absl::Seconds(2101));
}

}  // namespace
}  // namespace locus::lease_machine
