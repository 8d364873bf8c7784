// SPDX-License-Identifier: Apache-2.0
#include "tests/support/taken_ranges.h"

#include "gtest/gtest.h"

namespace locus {
namespace {

TEST(TakenRangesTest, NumbersTwiceOrFalling_AreFound) {
  EXPECT_EQ(FlawOf({}), "");
  EXPECT_EQ(FlawOf({{0, 1, 1, 1}, {2, 3, 2, 2}}), "");
  EXPECT_EQ(FlawOf({{0, 3, 2, 2}, {1, 2, 1, 1}}), "") << "at the same time";
  EXPECT_EQ(FlawOf({{0, 1, 1, 1}, {2, 3, 1, 1}}), "1 came twice");
  EXPECT_EQ(FlawOf({{0, 1, 1, 9}, {2, 3, 9, 12}}), "9 came twice");
  EXPECT_EQ(FlawOf({{0, 1, 2, 2}, {2, 3, 1, 1}}), "a call that began after 2 was taken got less");
  EXPECT_EQ(FlawOf({{0, 1, 5, 5}, {2, 9, 1, 1}, {3, 4, 6, 6}}),
            "a call that began after 5 was taken got less");
}

}  // namespace
}  // namespace locus
