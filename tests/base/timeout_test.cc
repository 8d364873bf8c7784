// SPDX-License-Identifier: Apache-2.0
#include "locus/timeout.h"

#include "gtest/gtest.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

absl::Duration Of(Timeout timeout) { return timeout; }

TEST(TimeoutTest, EachKindOfDuration_IsTheSameTime) {
  EXPECT_EQ(Of(absl::Seconds(2)), absl::Seconds(2));
  EXPECT_EQ(Of(absl::InfiniteDuration()), absl::InfiniteDuration());
  EXPECT_EQ(Of(2s), absl::Seconds(2));
  EXPECT_EQ(Of(50ms), absl::Milliseconds(50));
  EXPECT_EQ(Of(3ns), absl::Nanoseconds(3));
  EXPECT_EQ(Of(-1min), -absl::Minutes(1));
  EXPECT_EQ(Of(std::chrono::duration<double>(0.25)), absl::Milliseconds(250));
  EXPECT_GT(Of(std::chrono::hours::max()), absl::Hours(100 * 365 * 24)) << "no overflow";
}

}  // namespace
}  // namespace locus
