// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/strict/history.h"

#include <random>

#include "gtest/gtest.h"

namespace locus::strict {
namespace {

TEST(HistoryTest, CallsOneAfterAnother_MustRise) {
  std::vector<Drawn> history = {{7, 1, 0, 10}, {7, 2, 11, 20}};
  EXPECT_EQ(CheckHistory(history).order, "");
  history = {{7, 2, 0, 10}, {7, 1, 11, 20}};
  EXPECT_EQ(CheckHistory(history).order,
            "uid 7: 1 (called 11, answered 20) after 2 (called 0, answered 10)");
}

TEST(HistoryTest, CallsAtOnce_MayComeInAnyOrder) {
  std::vector<Drawn> history = {{7, 2, 0, 10}, {7, 1, 10, 20}};
  EXPECT_EQ(CheckHistory(history).order, "");
}

TEST(HistoryTest, OtherUids_DoNotMatter) {
  std::vector<Drawn> history = {{7, 2, 0, 10}, {8, 1, 11, 20}, {9, 1, 11, 20}};
  const Flaws flaws = CheckHistory(history);
  EXPECT_EQ(flaws.order, "");
  EXPECT_EQ(flaws.repeated, "");
}

TEST(HistoryTest, RepeatedNumber_IsReported) {
  std::vector<Drawn> history = {{7, 5, 0, 10}, {7, 6, 1, 9}, {7, 5, 3, 12}};
  EXPECT_EQ(CheckHistory(history).repeated,
            "uid 7: 5 (called 0, answered 10) and 5 (called 3, answered 12)");
}

TEST(HistoryTest, NumbersOfOneAnswer_AreComparedByTheirEnds) {
  std::vector<Drawn> history = {{7, 1, 0, 10, 5}, {7, 6, 11, 20, 5}, {7, 11, 21, 30}};
  Flaws flaws = CheckHistory(history);
  EXPECT_EQ(flaws.order + flaws.repeated, "");
  history = {{7, 1, 0, 10, 5}, {7, 3, 11, 20}};
  flaws = CheckHistory(history);
  EXPECT_EQ(flaws.order, "uid 7: 3 (called 11, answered 20) after 1 to 5 (called 0, answered 10)");
  EXPECT_EQ(flaws.repeated, "uid 7: 1 to 5 (called 0, answered 10) and 3 (called 11, answered 20)");
  // At once: the order says nothing, but 9 is given out twice, under what comes between.
  history = {{7, 1, 0, 10, 20}, {7, 21, 1, 11}, {7, 9, 2, 12}};
  flaws = CheckHistory(history);
  EXPECT_EQ(flaws.order, "");
  EXPECT_NE(flaws.repeated, "");
}

// The same by comparing each call with each other one.
bool NaiveOrderHolds(const std::vector<Drawn>& history) {
  for (const Drawn& one : history) {
    for (const Drawn& other : history) {
      if (one.uid == other.uid && one.answered < other.called && other.number <= one.number) {
        return false;
      }
    }
  }
  return true;
}

TEST(HistoryTest, RandomHistories_AreJudgedAsByTheNaiveTwin) {
  std::mt19937_64 random(1);
  size_t bad = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Drawn> history;
    for (uint64_t i = 0; i < 12; ++i) {
      const auto called = static_cast<int64_t>(i * 5 + random() % 10);
      const auto answered = called + static_cast<int64_t>(random() % 20);
      history.push_back({random() % 2, i * 4 + random() % 12, called, answered});
    }
    const bool holds = NaiveOrderHolds(history);
    bad += !holds;
    ASSERT_EQ(CheckHistory(history).order.empty(), holds) << "round " << round;
  }
  EXPECT_GT(bad, 300u);
  EXPECT_LT(bad, 2700u);
}

}  // namespace
}  // namespace locus::strict
