// SPDX-License-Identifier: Apache-2.0
#include "routing/router/follow_rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source/table_place.h"

namespace locus {

using internal::FollowRules;
using internal::JudgeTable;
using internal::TableJudgement;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = RouterEvent::Kind;

const absl::Status kDown = absl::UnavailableError("down");
constexpr absl::Duration kNow = absl::Hours(1);
constexpr absl::Time kAt = absl::UnixEpoch();

std::vector<Kind> KindsOf(const FollowRules::Step& step) {
  std::vector<Kind> kinds;
  for (const RouterEvent& event : step.events) kinds.push_back(event.kind);
  return kinds;
}

TableJudgement Installed(uint64_t epoch) {
  return {TableJudgement::Kind::kInstall, epoch, absl::OkStatus()};
}
TableJudgement Confirmed(uint64_t epoch) {
  return {TableJudgement::Kind::kConfirm, epoch, absl::OkStatus()};
}
TableJudgement Refused(uint64_t epoch, const char* why = "why") {
  return {TableJudgement::Kind::kRefuse, epoch, absl::AbortedError(why)};
}

RouterStats StatsOf(const FollowRules& rules, uint64_t epoch, absl::Duration now = kNow) {
  RouterStats stats;
  rules.Fill(epoch, now, stats);
  return stats;
}

TEST(JudgeTableTest, Epochs_DecideAndContentOnlyWhereTheyAreEqual) {
  RoutingTable five = TableOfEpoch(5);
  EXPECT_EQ(JudgeTable(nullptr, five).kind, TableJudgement::Kind::kInstall);
  EXPECT_EQ(JudgeTable(&five, TableOfEpoch(6)).kind, TableJudgement::Kind::kInstall);
  EXPECT_EQ(JudgeTable(&five, five).kind, TableJudgement::Kind::kConfirm);
  TableJudgement older = JudgeTable(&five, TableOfEpoch(4));
  EXPECT_EQ(older.kind, TableJudgement::Kind::kRefuse);
  EXPECT_EQ(older.epoch, 4u);
  EXPECT_TRUE(absl::IsAborted(older.reason));
  RoutingTable other = RoutingTable::Make(5, five.shards(), five.ranges()).value();
  EXPECT_EQ(
      JudgeTable(&five, other).reason,
      absl::AbortedError("epoch 5 is in force with other contents: two tables were published under "
                         "one epoch; publish the right one under a greater epoch"));
}

TEST(FollowRulesTest, FailuresInARow_PauseLongerUpToTheLongest) {
  FollowRules rules(absl::Seconds(1));
  std::vector<int64_t> pauses;
  for (int i = 0; i < 7; ++i) {
    pauses.push_back(absl::ToInt64Milliseconds(rules.Failed(kDown, 0).pause));
  }
  EXPECT_THAT(pauses, ElementsAre(50, 100, 200, 400, 800, 1000, 1000));
  for (int i = 0; i < 100; ++i) rules.Failed(kDown, 0);
  EXPECT_EQ(rules.Failed(kDown, 0).pause, absl::Seconds(1));
}

TEST(FollowRulesTest, Pause_LosesUpToAHalfAtRandom) {
  FollowRules rules(absl::Seconds(1));
  EXPECT_EQ(rules.Failed(kDown, uint64_t{1} << 63).pause, absl::Milliseconds(37.5));
  absl::Duration least = rules.Failed(kDown, UINT64_MAX).pause;
  EXPECT_GE(least, absl::Milliseconds(50));
  EXPECT_LT(least, absl::Milliseconds(50) + absl::Nanoseconds(1));
}

TEST(FollowRulesTest, Recovered_TheNextFailurePausesShortAgain) {
  FollowRules rules(absl::Seconds(5));
  for (int i = 0; i < 5; ++i) rules.Failed(kDown, 0);
  rules.NoNews(false, kNow, 0);
  EXPECT_EQ(rules.Failed(kDown, 0).pause, FollowRules::kFirstPause);
}

TEST(FollowRulesTest, Failing_IsReportedOnceUntilItRecovers) {
  FollowRules rules(absl::Seconds(5));
  EXPECT_THAT(KindsOf(rules.Failed(kDown, 0)), ElementsAre(Kind::kSourceFailed));
  EXPECT_THAT(KindsOf(rules.Failed(kDown, 0)), IsEmpty());
  EXPECT_THAT(KindsOf(rules.Failed(absl::NotFoundError("none"), 0)), IsEmpty());
  EXPECT_EQ(StatsOf(rules, 1).source_error, absl::NotFoundError("none"));
  EXPECT_THAT(KindsOf(rules.NoNews(false, kNow, 0)), ElementsAre(Kind::kSourceRecovered));
  EXPECT_THAT(KindsOf(rules.NoNews(false, kNow, 0)), IsEmpty());
  EXPECT_THAT(KindsOf(rules.Failed(kDown, 0)), ElementsAre(Kind::kSourceFailed));
  EXPECT_THAT(KindsOf(rules.Offered("v1", Installed(2), kNow, kAt, 0)),
              ElementsAre(Kind::kSourceRecovered, Kind::kInstalled));
}

TEST(FollowRulesTest, EveryDocument_IsWhereTheNextQuestionBegins) {
  FollowRules rules(absl::Seconds(5));
  EXPECT_EQ(rules.known(), "");
  rules.Offered("v1", Installed(1), kNow, kAt, 0);
  EXPECT_EQ(rules.known(), "v1");
  rules.Offered("v2", Refused(1), kNow, kAt, 0);
  EXPECT_EQ(rules.known(), "v2");
  rules.Failed(kDown, 0);
  EXPECT_EQ(rules.known(), "v2");
  rules.Failed(absl::NotFoundError("emptied"), 0);
  EXPECT_EQ(rules.known(), "");
}

TEST(FollowRulesTest, Install_IsFollowedByNoPause) {
  FollowRules rules(absl::Seconds(5));
  for (uint64_t epoch = 1; epoch < 10; ++epoch) {
    FollowRules::Step step = rules.Offered("v", Installed(epoch), kNow, kAt, 0);
    EXPECT_EQ(step.pause, absl::ZeroDuration());
    EXPECT_TRUE(step.source_has_it_in_force);
    ASSERT_THAT(KindsOf(step), ElementsAre(Kind::kInstalled));
    EXPECT_EQ(step.events[0].epoch, epoch);
  }
}

TEST(FollowRulesTest, DocumentsWithoutUse_ArePausedAfterHoweverOftenTheVersionChanges) {
  FollowRules rules(absl::Seconds(1));
  EXPECT_EQ(rules.Offered("v1", Refused(1), kNow, kAt, 0).pause, absl::Milliseconds(50));
  EXPECT_EQ(rules.Offered("v2", Confirmed(1), kNow, kAt, 0).pause, absl::Milliseconds(100));
  EXPECT_EQ(rules.Offered("v3", Refused(1), kNow, kAt, 0).pause, absl::Milliseconds(200));
  rules.Offered("v4", Installed(2), kNow, kAt, 0);
  EXPECT_EQ(rules.Offered("v5", Refused(1), kNow, kAt, 0).pause, absl::Milliseconds(50));
}

TEST(FollowRulesTest, NoNewsBeforeItsTime_IsPausedAfter) {
  FollowRules rules(absl::Seconds(1));
  EXPECT_EQ(rules.NoNews(false, kNow, 0).pause, absl::ZeroDuration());
  EXPECT_EQ(rules.NoNews(true, kNow, 0).pause, absl::Milliseconds(50));
  EXPECT_EQ(rules.NoNews(true, kNow, 0).pause, absl::Milliseconds(100));
  EXPECT_EQ(rules.NoNews(false, kNow, 0).pause, absl::ZeroDuration());
}

TEST(FollowRulesTest, Age_RunsFromTheLastConfirmation) {
  FollowRules rules(absl::Seconds(5));
  EXPECT_EQ(StatsOf(rules, 1).age, absl::InfiniteDuration());
  rules.Offered("v1", Installed(1), kNow, kAt, 0);
  EXPECT_EQ(StatsOf(rules, 1, kNow + absl::Seconds(7)).age, absl::Seconds(7));
  rules.NoNews(false, kNow + absl::Seconds(10), 0);
  EXPECT_EQ(StatsOf(rules, 1, kNow + absl::Seconds(12)).age, absl::Seconds(2));
  rules.Failed(kDown, 0);
  EXPECT_EQ(StatsOf(rules, 1, kNow + absl::Seconds(12)).age, absl::Seconds(2));
  rules.Offered("v2", Confirmed(1), kNow + absl::Seconds(20), kAt, 0);
  EXPECT_EQ(StatsOf(rules, 1, kNow + absl::Seconds(20)).age, absl::ZeroDuration());
}

TEST(FollowRulesTest, NoNewsOfARefusedTable_ConfirmsNothing) {
  FollowRules rules(absl::Seconds(5));
  rules.BeganFromFile(9);
  FollowRules::Step step = rules.Offered("v1", Refused(3), kNow, kAt, 0);
  EXPECT_FALSE(step.source_has_it_in_force);
  step = rules.NoNews(false, kNow, 0);
  EXPECT_FALSE(step.source_has_it_in_force);
  RouterStats stats = StatsOf(rules, 9);
  EXPECT_TRUE(stats.from_last_good_file);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
}

TEST(FollowRulesTest, TableOfTheFile_IsSoUntilConfirmedOrOvertaken) {
  auto from_file = [](auto then, uint64_t epoch) {
    FollowRules rules(absl::Seconds(5));
    rules.BeganFromFile(9);
    EXPECT_TRUE(StatsOf(rules, 9).from_last_good_file);
    then(rules);
    return StatsOf(rules, epoch).from_last_good_file;
  };
  EXPECT_TRUE(from_file([](FollowRules& rules) { rules.Failed(kDown, 0); }, 9));
  EXPECT_FALSE(
      from_file([](FollowRules& rules) { rules.Offered("v", Confirmed(9), kNow, kAt, 0); }, 9));
  EXPECT_FALSE(
      from_file([](FollowRules& rules) { rules.Offered("v", Installed(10), kNow, kAt, 0); }, 10));
  EXPECT_FALSE(from_file([](FollowRules&) {}, 10)) << "another caller installed a newer one";
}

TEST(FollowRulesTest, EqualRefusalsInARow_AreCountedTogether) {
  FollowRules rules(absl::Seconds(5));
  rules.Offered("v1", Refused(1), kNow, kAt, 0);
  rules.Offered("v1", Refused(1), kNow, kAt + absl::Seconds(1), 0);
  rules.Offered("v2", Refused(1), kNow, kAt, 0);
  rules.Offered("v2", Refused(1, "another reason"), kNow, kAt, 0);
  rules.Offered("v1", Refused(1), kNow, kAt, 0);
  RouterStats stats = StatsOf(rules, 5);
  EXPECT_EQ(stats.refusals, 5u);
  ASSERT_EQ(stats.last_refusals.size(), 4u);
  EXPECT_EQ(stats.last_refusals[3].times, 2u);
  EXPECT_EQ(stats.last_refusals[3].at, kAt + absl::Seconds(1));
  EXPECT_EQ(stats.last_refusals[0].times, 1u);
  EXPECT_EQ(stats.last_refusals[1].reason, absl::AbortedError("another reason"));
}

TEST(FollowRulesTest, Refusals_TheLastEightAreKept) {
  FollowRules rules(absl::Seconds(5));
  for (uint64_t epoch = 1; epoch <= 20; ++epoch) {
    rules.Offered(absl::StrCat("v", epoch), Refused(epoch), kNow, kAt, 0);
  }
  RouterStats stats = StatsOf(rules, 30);
  EXPECT_EQ(stats.refusals, 20u);
  ASSERT_EQ(stats.last_refusals.size(), 8u);
  EXPECT_EQ(stats.last_refusals.front().epoch, 20u);
  EXPECT_EQ(stats.last_refusals.back().epoch, 13u);
}

}  // namespace
}  // namespace locus
