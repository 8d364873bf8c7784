// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/shard_writes.h"

#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

TEST(WriteWindowTest, Rates_AreOfTheWindow_AndOfShardsThatAnswered) {
  WriteWindow window;
  EXPECT_TRUE(window.IsDue(absl::ZeroDuration()));
  window.Add({{1, 1000}, {2, 5}, {3, 70}}, absl::Seconds(10));
  EXPECT_TRUE(window.Rates().per_second.empty());
  EXPECT_EQ(window.Rates().window, absl::ZeroDuration());
  EXPECT_FALSE(window.IsDue(absl::Seconds(14)));
  EXPECT_TRUE(window.IsDue(absl::Seconds(15)));
  // 2 does not answer, 3 was started again, 4 is new.
  window.Add({{1, 1050}, {3, 7}, {4, 9}}, absl::Seconds(20));
  const ShardWrites writes = window.Rates();
  EXPECT_EQ(writes.window, absl::Seconds(10));
  EXPECT_EQ(writes.per_second, (std::map<uint32_t, double>{{1, 5.0}}));
}

TEST(WriteWindowTest, CountsOfAnEarlierLook_AreForgotten) {
  WriteWindow window;
  window.Add({{1, 0}}, absl::ZeroDuration());
  window.Add({{1, 3000}}, WriteWindow::kWindow + absl::Seconds(1));
  EXPECT_TRUE(window.Rates().per_second.empty());
  window.Add({{1, 3010}}, WriteWindow::kWindow + absl::Seconds(6));
  EXPECT_EQ(window.Rates().per_second, (std::map<uint32_t, double>{{1, 2.0}}));
}

}  // namespace
}  // namespace locus::locusd
