// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/regroup.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FenceRow Row(uint32_t lo, uint32_t hi, uint32_t own_lo, uint32_t own_hi, uint64_t step) {
  return {lo, hi, own_lo, own_hi, step, 1, ""};
}

TEST(RecutTest, RangesInsideARow_LeaveItsOtherVnodes) {
  auto recut = RecutOf({Row(0, 1000, 0, 10000, 3)}, {{0, 99}, {200, 299}}, true);
  ASSERT_TRUE(recut.ok()) << recut.status();
  EXPECT_THAT(recut->removed, ElementsAre(Row(0, 1000, 0, 10000, 3)));
  EXPECT_THAT(recut->inserted,
              ElementsAre(Row(100, 199, 0, 10000, 3), Row(300, 1000, 0, 10000, 3)));
  EXPECT_EQ(recut->step, 3u);
}

TEST(RecutTest, RangeOverSeveralRows_TakesThemAll) {
  auto recut = RecutOf({Row(0, 49, 0, 10000, 3), Row(50, 120, 0, 10000, 9)}, {{10, 99}}, true);
  ASSERT_TRUE(recut.ok()) << recut.status();
  EXPECT_THAT(recut->inserted, ElementsAre(Row(0, 9, 0, 10000, 3), Row(100, 120, 0, 10000, 9)));
  EXPECT_EQ(recut->step, 9u);
}

TEST(RecutTest, SourceWithoutAllCohorts_IsRefused) {
  auto part = RecutOf({Row(0, 99, 500, 10000, 3)}, {{0, 99}}, true);
  EXPECT_THAT(std::string(part.status().message()), HasSubstr("[500, 10000) of vnodes 0-99"));
  auto gap = RecutOf({Row(0, 49, 0, 10000, 3), Row(51, 99, 0, 10000, 3)}, {{0, 99}}, true);
  EXPECT_THAT(std::string(gap.status().message()), HasSubstr("no row for vnode 50"));
}

TEST(RecutTest, TargetThatAcceptsSome_IsRefused) {
  EXPECT_FALSE(RecutOf({Row(0, 99, 0, 10000, 3)}, {{0, 99}}, false).ok());
  EXPECT_FALSE(RecutOf({Row(0, 99, 0, 1, 3)}, {{0, 99}}, false).ok());
  EXPECT_TRUE(RecutOf({}, {{0, 99}}, false).ok());
  auto recut = RecutOf({Row(0, 199, 10000, 10000, 3)}, {{0, 99}}, false);
  ASSERT_TRUE(recut.ok()) << recut.status();
  EXPECT_THAT(recut->inserted, ElementsAre(Row(100, 199, 10000, 10000, 3)));
}

}  // namespace
}  // namespace locus::internal
