// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/tick_clock.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = uint64_t{1} << 45;

// A counter of 2.5 ticks a ns, unless a test says otherwise.
class TickClockTest : public ::testing::Test {
 protected:
  TickClock::Sample Pass(int64_t ns, double ticks_a_ns = 2.5) {
    now_ns_ += ns;
    ticks_ += static_cast<uint64_t>(static_cast<double>(ns) * ticks_a_ns);
    return {now_ns_, ticks_, now_ns_ + 50};
  }
  TickClock::Sample Now() { return Pass(0); }
  void Measured() {
    for (int i = 0; i < 3; ++i) clock_.Observe(Pass(kSecond));
  }
  // How long before `deadline` the tick is, at 2.5 ticks a ns.
  int64_t Early(int64_t deadline_ns) {
    const uint64_t tick = clock_.TickOf(deadline_ns, Now());
    EXPECT_NE(tick, 0u);
    return deadline_ns - now_ns_ - static_cast<int64_t>(static_cast<double>(tick - ticks_) / 2.5);
  }

  TickClock clock_;
  int64_t now_ns_ = 1000 * kSecond;
  uint64_t ticks_ = kStart;
};

TEST_F(TickClockTest, GivesNoTick_BeforeTwoIntervalsAgree) {
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  clock_.Observe(Pass(kSecond));
  clock_.Observe(Pass(kSecond));
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  clock_.Observe(Pass(kSecond / 10));  // too short to count
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  clock_.Observe(Pass(kSecond));
  EXPECT_NE(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
}

TEST_F(TickClockTest, TickIsBeforeTheDeadline_ByMarginAndAllowance) {
  Measured();
  const int64_t early = Early(now_ns_ + 9 * kSecond);
  EXPECT_GE(early, (TickClock::kMarginNs * 997 + 9 * kSecond * 3) / 1000);
  EXPECT_LE(early, TickClock::kMarginNs + 9 * kSecond * 4 / 1000);
  EXPECT_EQ(clock_.TickOf(now_ns_ + TickClock::kMarginNs, Now()), 0u);
  EXPECT_EQ(clock_.TickOf(now_ns_ - kSecond, Now()), 0u);
}

TEST_F(TickClockTest, CounterWhoseRateChanges_IsNotUsed) {
  Measured();
  clock_.Observe(Pass(kSecond, 2.6));
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  clock_.Observe(Pass(kSecond, 2.6));
  EXPECT_NE(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
}

TEST_F(TickClockTest, SlewOfTheClock_IsCovered) {
  // The clock was slewed by 500 ppm one way, and is now slewed by as much the other way.
  for (int i = 0; i < 3; ++i) clock_.Observe(Pass(kSecond, 2.5 * 1.0005));
  EXPECT_GE(Early(now_ns_ + 9 * kSecond), 9 * kSecond / 1000);
}

TEST_F(TickClockTest, CounterThatStopped_OrRestarted_IsMeasuredAgain) {
  Measured();
  clock_.Observe(Pass(100 * kSecond, 0.001));  // suspended
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  Measured();
  EXPECT_NE(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  ticks_ = 17;
  clock_.Observe(Pass(kSecond));
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
  now_ns_ -= 10 * kSecond;  // which CLOCK_BOOTTIME does not
  clock_.Observe(Now());
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
}

TEST_F(TickClockTest, SampleHeldUpInTheMiddle_DoesNotCount) {
  clock_.Observe(Pass(kSecond));
  clock_.Observe(Pass(kSecond));
  TickClock::Sample slow = Pass(kSecond);
  slow.after_ns += kSecond;
  clock_.Observe(slow);
  EXPECT_EQ(clock_.TickOf(now_ns_ + kSecond, Now()), 0u);
}

TEST_F(TickClockTest, Before_IsTrueOnlyShortlyBeforeTheTick) {
  EXPECT_TRUE(TickClock::Before(kStart - 1, kStart));
  EXPECT_TRUE(TickClock::Before(kStart - TickClock::kLongestTicks, kStart));
  EXPECT_FALSE(TickClock::Before(kStart, kStart));
  EXPECT_FALSE(TickClock::Before(kStart + 1, kStart));
  EXPECT_FALSE(TickClock::Before(kStart - TickClock::kLongestTicks - 1, kStart));
  EXPECT_FALSE(TickClock::Before(17, kStart));  // began anew
  EXPECT_FALSE(TickClock::Before(kStart, 0));   // no tick
  EXPECT_FALSE(TickClock::Before(0, 0));        // no counter
  Measured();
  const uint64_t tick = clock_.TickOf(now_ns_ + 3600 * kSecond, Now());
  EXPECT_EQ(tick, ticks_ + TickClock::kLongestTicks);
  EXPECT_TRUE(TickClock::Before(ticks_, tick));
}

TEST(TicksTest, RiseWhereTheKernelTrustsThem) {
  if (!KernelTrustsTicks()) return;  // nothing is then made of them
  const uint64_t first = Ticks();
  EXPECT_GT(Ticks() - first, 0u);
  EXPECT_LT(Ticks() - first, TickClock::kLongestTicks);
}

}  // namespace
}  // namespace locus::internal
