// SPDX-License-Identifier: Apache-2.0
#include "src/counter/callers_clock.h"

#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"

namespace locus::internal {
namespace {

constexpr absl::Duration kTtl = absl::Hours(1);

class CallersClockTest : public ::testing::Test {
 protected:
  // By how much the wall clock is ahead of it.
  absl::Duration Ahead() { return clock_.Now() - callers_.Earlier(); }

  fakes::ManualClock clock_;
  CallersClock callers_{clock_, kTtl};
};

TEST_F(CallersClockTest, ClockThatRuns_IsBelieved) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Ahead(), absl::ZeroDuration());
    clock_.Advance(absl::Minutes(25));
  }
}

TEST_F(CallersClockTest, JumpAhead_IsBelievedAfterTheTtl) {
  clock_.Jump(absl::Hours(5));
  EXPECT_EQ(Ahead(), absl::Hours(5));
  clock_.Advance(kTtl - absl::Milliseconds(1));
  EXPECT_EQ(Ahead(), absl::Hours(5));
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
}

TEST_F(CallersClockTest, SecondJumpAhead_WaitsForAsLong) {
  clock_.Jump(absl::Hours(5));
  EXPECT_EQ(Ahead(), absl::Hours(5));
  clock_.Advance(kTtl - absl::Minutes(1));
  clock_.Jump(absl::Hours(2));
  EXPECT_EQ(Ahead(), absl::Hours(7));
  clock_.Advance(absl::Minutes(2));
  EXPECT_EQ(Ahead(), absl::Hours(7));
  clock_.Advance(kTtl - absl::Minutes(2));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
}

TEST_F(CallersClockTest, JumpBetweenReadings_CountsFromTheNextReading) {
  clock_.Advance(absl::Hours(100));
  clock_.Jump(absl::Hours(5));
  EXPECT_EQ(Ahead(), absl::Hours(5));
}

TEST_F(CallersClockTest, JumpBack_IsBelievedAtOnce) {
  clock_.Jump(absl::Hours(5));
  EXPECT_EQ(Ahead(), absl::Hours(5));
  clock_.Jump(-absl::Hours(5) + absl::Milliseconds(3));
  EXPECT_EQ(Ahead(), absl::Milliseconds(3));
  clock_.Jump(-absl::Hours(9));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  clock_.Jump(absl::Hours(9));
  EXPECT_EQ(Ahead(), absl::Hours(9)) << "it may have been right before";
}

TEST(CallersClockWithoutTtlTest, JumpAhead_IsBelievedAfterADay) {
  fakes::ManualClock clock;
  CallersClock callers(clock, absl::ZeroDuration());
  clock.Jump(absl::Hours(1));
  EXPECT_LT(callers.Earlier(), clock.Now());
  clock.Advance(absl::Hours(24));
  EXPECT_EQ(callers.Earlier(), clock.Now());
}

}  // namespace
}  // namespace locus::internal
