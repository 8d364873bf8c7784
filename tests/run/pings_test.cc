// SPDX-License-Identifier: Apache-2.0
#include "migration/run/pings.h"

#include "gtest/gtest.h"

namespace locus::mysql {
namespace {

using TimePoint = Pings::TimePoint;
using Ms = std::chrono::milliseconds;

TEST(PingsTest, StreamThatStops_IsInfinitelyLateAtOnce) {
  Pings pings;
  TimePoint now{};
  now += std::chrono::hours(1);
  EXPECT_EQ(pings.Lag(now), absl::InfiniteDuration()) << "nothing has passed yet";
  pings.Sent(1, now);
  pings.Passed(1, now + Ms(20));
  EXPECT_EQ(pings.Lag(now + Ms(20)), absl::Milliseconds(20));
  EXPECT_EQ(pings.Lag(now + Ms(9000)), absl::Milliseconds(20)) << "none is on its way";
  pings.Sent(2, now + Ms(9000));
  EXPECT_EQ(pings.Lag(now + Ms(9400)), absl::Milliseconds(400));
  EXPECT_EQ(pings.Lag(now + Ms(9501)), absl::InfiniteDuration());
  pings.Passed(2, now + Ms(9600));
  EXPECT_EQ(pings.Lag(now + Ms(9600)), absl::Milliseconds(600));
  EXPECT_EQ(pings.passed_sent(), now + Ms(9000));
}

TEST(PingsTest, StreamThatIsLateButMoves_HasItsLag) {
  Pings pings;
  TimePoint now{};
  now += std::chrono::hours(1);
  constexpr int kBehind = 30;  // pings
  for (int i = 0; i < 100; ++i, now += Ms(100)) {
    pings.Sent(static_cast<uint64_t>(i + 1), now);
    if (i < kBehind) continue;
    pings.Passed(static_cast<uint64_t>(i + 1 - kBehind), now);
    EXPECT_EQ(pings.Lag(now), absl::Seconds(3));
  }
  // A batch of it takes twice as long as it is late.
  EXPECT_NE(pings.Lag(now + Ms(5800)), absl::InfiniteDuration());
  EXPECT_EQ(pings.Lag(now + Ms(6000)), absl::InfiniteDuration());
}

}  // namespace
}  // namespace locus::mysql
