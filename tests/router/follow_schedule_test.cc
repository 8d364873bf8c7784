// SPDX-License-Identifier: Apache-2.0
#include "routing/router/follow_schedule.h"

#include <random>

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Phase = FollowSchedule::Phase;
using Nudge = FollowSchedule::Nudge;

constexpr absl::Duration kConfirm = absl::Seconds(5);
constexpr absl::Duration kNoPause = absl::ZeroDuration();
constexpr bool kNobody = false, kWaiting = true;
constexpr uint64_t kNoJitter = 0;  // takes nothing off a wait

TEST(FollowScheduleTest, NoCallerWaits_ListensUntilTheConfirmationIsDue) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  for (int i = 0; i < 3; ++i) {
    FollowSchedule::Turn turn = schedule.Begin(now, kNobody, kNoJitter);
    EXPECT_TRUE(turn.ask);
    EXPECT_FALSE(turn.look);
    EXPECT_EQ(turn.within, kConfirm);
    EXPECT_EQ(schedule.phase(), Phase::kListening);
    now += kConfirm;
    EXPECT_EQ(schedule.Finished(now, kNoPause, false, kNobody), absl::Nanoseconds(1));
    EXPECT_EQ(schedule.phase(), Phase::kIdle);
  }
}

TEST(FollowScheduleTest, Pause_IsWaitedOut) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_EQ(schedule.Finished(now, absl::Seconds(3), false, kNobody), absl::Seconds(3));
  FollowSchedule::Turn turn = schedule.Begin(now + absl::Seconds(1), kNobody, kNoJitter);
  EXPECT_FALSE(turn.ask);
  EXPECT_EQ(turn.within, absl::Seconds(2));
  EXPECT_TRUE(schedule.Begin(now + absl::Seconds(3), kNobody, kNoJitter).ask);
}

TEST(FollowScheduleTest, CallersWhileListening_TheFirstTurnsItIntoALookTheOthersShareTheNext) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kLook);
  EXPECT_EQ(schedule.phase(), Phase::kLooking);
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kNone);
  // Answered without what they wait for: rest, listening, until the next look may begin.
  schedule.Finished(now, kNoPause, false, kWaiting);
  FollowSchedule::Turn rest = schedule.Begin(now, kWaiting, kNoJitter);
  EXPECT_EQ(schedule.phase(), Phase::kResting);
  EXPECT_EQ(rest.within, FollowSchedule::kFirstWait);
  now += rest.within;
  schedule.Finished(now, kNoPause, false, kWaiting);
  EXPECT_TRUE(schedule.Begin(now, kWaiting, kNoJitter).look);
}

TEST(FollowScheduleTest, CallerDuringAPause_CutsItShort) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  schedule.Finished(now, absl::Hours(1), false, kNobody);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kWake);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kNone) << "it is awake already";
  EXPECT_TRUE(schedule.Begin(now, kNobody, kNoJitter).look);
  // It failed again: not before the wait between looks is over.
  EXPECT_EQ(schedule.Finished(now, absl::Hours(1), false, kWaiting), FollowSchedule::kFirstWait);
}

TEST(FollowScheduleTest, CallerThatLeftBeforeItsTurn_IsLookedForAllTheSame) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  schedule.Finished(now, absl::Hours(1), false, kNobody);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kWake);
  EXPECT_TRUE(schedule.Begin(now, kNobody, kNoJitter).look);
  schedule.Finished(now, absl::Hours(1), false, kNobody);
  EXPECT_FALSE(schedule.Begin(now + absl::Minutes(1), kNobody, kNoJitter).ask) << "once";
}

// As the follower does it, with a source that answers looks at once and never has news.
struct Count {
  int looks = 0;
  int questions = 0;
};
Count LooksWhile(int callers, absl::Duration span, absl::Duration pause, uint64_t seed) {
  std::mt19937_64 random(seed);
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1), end = now + span;
  for (int i = 0; i < callers; ++i) schedule.Want(now, random());
  Count count;
  while (now < end) {
    FollowSchedule::Turn turn = schedule.Begin(now, kWaiting, random());
    if (!turn.ask) {
      now += turn.within;
      continue;
    }
    ++count.questions;
    count.looks += turn.look;
    if (!turn.look) now += turn.within;
    now += schedule.Finished(now, pause, false, kWaiting);
  }
  return count;
}

TEST(FollowScheduleTest, CallersThatWaitForLong_LooksGrowRareForAnyNumber) {
  for (absl::Duration pause : {kNoPause, absl::Milliseconds(50)}) {
    for (int callers : {1, 64, 2000}) {
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        // 10, 20 ... 640 ms make 1.3 s; then one look a second, or up to two with jitter.
        Count count = LooksWhile(callers, absl::Seconds(10), pause, seed);
        EXPECT_GE(count.looks, 7 + 8);
        EXPECT_LE(count.looks, 8 + 2 * 10);
        EXPECT_LE(count.questions, 2 * count.looks + 1);
      }
    }
  }
}

TEST(FollowScheduleTest, Jitter_SeparatesProcesses) {
  absl::Duration now = absl::Hours(1);
  auto second_look = [&](uint64_t random_word) {
    FollowSchedule schedule(kConfirm);
    schedule.Want(now, random_word);
    schedule.Begin(now, kWaiting, random_word);
    schedule.Finished(now, kNoPause, false, kNobody);
    return schedule.Begin(now, kWaiting, random_word).within;
  };
  EXPECT_EQ(second_look(kNoJitter), FollowSchedule::kFirstWait);
  EXPECT_LT(second_look(UINT64_MAX), FollowSchedule::kFirstWait * 0.51);
  EXPECT_GE(second_look(UINT64_MAX), FollowSchedule::kFirstWait * 0.49);
}

TEST(FollowScheduleTest, NewerTable_BeginsTheWaitsAgain) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Want(now, kNoJitter);
  auto next_wait = [&](bool installed) {
    EXPECT_TRUE(schedule.Begin(now, kWaiting, kNoJitter).look);
    schedule.Finished(now, kNoPause, installed, kWaiting);
    absl::Duration wait = schedule.Begin(now, kWaiting, kNoJitter).within;
    now += wait;
    schedule.Finished(now, kNoPause, false, kWaiting);
    return wait;
  };
  EXPECT_EQ(next_wait(false), FollowSchedule::kFirstWait);
  EXPECT_EQ(next_wait(false), FollowSchedule::kFirstWait * 2);
  EXPECT_EQ(next_wait(true), FollowSchedule::kFirstWait * 4);
  EXPECT_EQ(next_wait(false), FollowSchedule::kFirstWait);
  now += absl::Minutes(1);  // another burst of callers
  EXPECT_EQ(next_wait(false), FollowSchedule::kFirstWait);
}

TEST(FollowScheduleTest, InstalledTableThatSufficesForAll_IsFollowedByNoLook) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kLook);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kNone);
  schedule.Finished(now, kNoPause, /*installed=*/true, kNobody);
  FollowSchedule::Turn turn = schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_FALSE(turn.look);
  now += turn.within;
  schedule.Finished(now, kNoPause, false, kNobody);
  turn = schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_FALSE(turn.look);
  EXPECT_EQ(turn.within, kConfirm);
}

TEST(FollowScheduleTest, Stopped_BeginsNothing) {
  FollowSchedule schedule(kConfirm);
  absl::Duration now = absl::Hours(1);
  schedule.Begin(now, kNobody, kNoJitter);
  EXPECT_TRUE(schedule.Stop());
  EXPECT_EQ(schedule.Finished(now, kNoPause, false, kNobody), absl::InfiniteDuration());
  EXPECT_FALSE(schedule.Begin(now, kNobody, kNoJitter).ask);
  EXPECT_EQ(schedule.Want(now, kNoJitter), Nudge::kNone);
  EXPECT_EQ(schedule.phase(), Phase::kStopped);
  FollowSchedule idle(kConfirm);
  EXPECT_FALSE(idle.Stop());
}

}  // namespace
}  // namespace locus::internal
