// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/backoff.h"

#include <random>

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

constexpr Backoff::Policy kNoJitter = {absl::Milliseconds(10), absl::Milliseconds(65), 0};
constexpr uint64_t kNothingOff = 0;
constexpr uint64_t kMostOff = UINT64_MAX;

TEST(BackoffTest, FailuresInARow_DoubleTheWaitUpToTheLimit) {
  Backoff backoff(kNoJitter);
  for (int expected : {10, 20, 40, 65, 65, 65}) {
    EXPECT_EQ(backoff.Next(kMostOff), absl::Milliseconds(expected));
  }
  EXPECT_EQ(backoff.failures(), 6);
}

TEST(BackoffTest, Success_BeginsAgainWithTheFirstWait) {
  Backoff backoff(kNoJitter);
  for (int i = 0; i < 9; ++i) backoff.Next(i);
  backoff.Reset();
  EXPECT_EQ(backoff.failures(), 0);
  EXPECT_EQ(backoff.Next(kMostOff), absl::Milliseconds(10));
}

TEST(BackoffTest, ManyFailures_NeverOverflow) {
  Backoff backoff({absl::Nanoseconds(1), absl::Hours(1), 0});
  absl::Duration last;
  for (int i = 0; i < 100'000; ++i) {
    absl::Duration wait = backoff.Next(kNothingOff);
    ASSERT_GE(wait, last);
    ASSERT_LE(wait, absl::Hours(1));
    last = wait;
  }
}

TEST(BackoffTest, RandomWord_DecidesTheWaitWithinTheJitter) {
  for (double jitter : {0.25, 0.5, 1.0}) {
    Backoff::Policy policy = {absl::Milliseconds(100), absl::Milliseconds(100), jitter};
    EXPECT_EQ(Backoff(policy).Next(kNothingOff), absl::Milliseconds(100));
    absl::Duration least = Backoff(policy).Next(kMostOff);
    EXPECT_GE(least, absl::Milliseconds(100) * (1 - jitter));
    EXPECT_LT(least, absl::Milliseconds(100) * (1 - jitter) + absl::Nanoseconds(10));

    std::mt19937_64 random(7);
    Backoff one(policy), other(policy);
    absl::Duration sum;
    for (int i = 0; i < 10'000; ++i) {
      uint64_t word = random();
      absl::Duration wait = one.Next(word);
      ASSERT_EQ(other.Next(word), wait);
      ASSERT_LE(wait, absl::Milliseconds(100));
      ASSERT_GE(wait, least);
      sum += wait;
    }
    absl::Duration mean = absl::Milliseconds(100) * (1 - jitter / 2);
    EXPECT_LT(absl::AbsDuration(sum / 10'000 - mean), absl::Milliseconds(2));
  }
}

TEST(BackoffDeathTest, ImpossiblePolicy_Dies) {
  EXPECT_DEATH(Backoff({absl::ZeroDuration(), absl::Seconds(1), 0}), "first");
  EXPECT_DEATH(Backoff({absl::Seconds(2), absl::Seconds(1), 0}), "longest");
  EXPECT_DEATH(Backoff({absl::Seconds(1), absl::Seconds(1), 1.5}), "jitter");
}

TEST(SleepBeforeRetryTest, WaitPastTheDeadline_DoesNotSleep) {
  using SteadyClock = std::chrono::steady_clock;
  Backoff backoff({absl::Hours(1), absl::Hours(1), 0});
  EXPECT_FALSE(SleepBeforeRetry(backoff, SteadyClock::now() + std::chrono::minutes(30)));
  EXPECT_FALSE(SleepBeforeRetry(backoff, SteadyClock::time_point::min()));
  EXPECT_EQ(backoff.failures(), 2);
}

TEST(SleepBeforeRetryTest, WaitWithinTheDeadline_SleepsForIt) {
  using SteadyClock = std::chrono::steady_clock;
  Backoff backoff({absl::Milliseconds(20), absl::Seconds(1), 0});
  SteadyClock::time_point began = SteadyClock::now();
  EXPECT_TRUE(SleepBeforeRetry(backoff, began + std::chrono::hours(1)));
  EXPECT_GE(SteadyClock::now() - began, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace locus::internal
