// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/cluster/probe/plan.h"

namespace locus::holder_probe {
namespace {

using ::testing::HasSubstr;

const absl::Status kFailed = absl::UnavailableError("HTTP 503");

Lease LeaseOf(uint64_t worker, uint64_t token = 1) { return {SpaceName(), worker, token}; }

class PlanTest : public ::testing::Test {
 protected:
  static std::vector<Target> Targets(uint64_t first, uint64_t count) {
    std::vector<Target> targets;
    for (uint64_t i = 0; i < count; ++i) targets.push_back({LeaseOf(first + i), {}, false});
    return targets;
  }
  // The next probe, whenever it is due.
  Probe Await(Plan& plan) {
    while (true) {
      if (auto probe = plan.Next(now_)) return *probe;
      const absl::Duration due = plan.NextDue();
      EXPECT_LT(due, absl::InfiniteDuration());
      now_ = std::max(due, now_ + absl::Nanoseconds(1));
    }
  }

  PlanLimits limits_{absl::Seconds(10), 3, 64, 1000};
  absl::Duration now_ = absl::Hours(5);
};

TEST_F(PlanTest, HundredthFailureInARow_IsTheFirstThatCounts) {
  limits_.failures = 100;
  Plan plan(limits_, 1);
  plan.Update(Targets(7, 1), now_);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt);
  EXPECT_EQ(plan.Answered(Await(plan), absl::OkStatus(), now_), std::nullopt);
  for (int i = 0; i < 99; ++i) {
    EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt) << "begun anew: " << i;
  }
  const auto opinion = plan.Answered(Await(plan), kFailed, now_);
  ASSERT_TRUE(opinion);
  EXPECT_FALSE(opinion->healthy);
  EXPECT_EQ(opinion->lease, LeaseOf(7));
  EXPECT_EQ(opinion->why, "100 probes in a row failed: HTTP 503");
  plan.Told(*opinion, absl::OkStatus());
  EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt) << "the cluster knows";
  const auto better = plan.Answered(Await(plan), absl::OkStatus(), now_);
  ASSERT_TRUE(better);
  EXPECT_TRUE(better->healthy);
}

TEST_F(PlanTest, OpinionThatTheClusterDidNotTake_IsGivenAgain) {
  limits_.failures = 1;
  Plan plan(limits_, 1);
  plan.Update(Targets(7, 1), now_);
  auto opinion = plan.Answered(Await(plan), kFailed, now_);
  ASSERT_TRUE(opinion);
  EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt) << "it is under way";
  plan.Told(*opinion, absl::UnavailableError("no leader"));
  opinion = plan.Answered(Await(plan), kFailed, now_);
  ASSERT_TRUE(opinion);
  plan.Told(*opinion, absl::OkStatus());
  EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt);
}

// Another leader has given this verdict.
TEST_F(PlanTest, HolderThatIsUnhealthyAlready_BecomesHealthyByOneSuccess) {
  Plan plan(limits_, 1);
  std::vector<Target> targets = Targets(7, 1);
  targets[0].unhealthy = true;
  plan.Update(targets, now_);
  EXPECT_EQ(plan.Answered(Await(plan), kFailed, now_), std::nullopt);
  const auto opinion = plan.Answered(Await(plan), absl::OkStatus(), now_);
  ASSERT_TRUE(opinion);
  EXPECT_TRUE(opinion->healthy);
}

TEST_F(PlanTest, AnswerForALeaseThatIsGone_ChangesNothing) {
  limits_.failures = 1;
  limits_.at_once = 2;
  Plan plan(limits_, 1);
  plan.Update(Targets(7, 1), now_);
  const Probe probe = Await(plan);
  plan.Clear();
  EXPECT_EQ(plan.targets(), 0u);
  EXPECT_EQ(plan.under_way(), 1u) << "it still has its place";
  plan.Update({{LeaseOf(7, 2), {}, false}}, now_);
  EXPECT_EQ(plan.Answered(probe, kFailed, now_), std::nullopt);
  EXPECT_EQ(plan.under_way(), 0u);
  // The same lease, lost and found again, also counts as new.
  const Probe before = Await(plan);
  plan.Clear();
  plan.Update({{LeaseOf(7, 2), {}, false}}, now_);
  EXPECT_EQ(plan.Answered(before, kFailed, now_), std::nullopt);
  EXPECT_TRUE(plan.Answered(Await(plan), kFailed, now_));
}

TEST_F(PlanTest, ManyHolders_AreProbedEvenly_AndNoFasterThanAllowed) {
  limits_.per_second = 50;
  Plan plan(limits_, 1);
  plan.Update(Targets(0, 1000), now_);
  std::map<uint64_t, int> probed;
  std::deque<absl::Duration> last_second;
  for (int i = 0; i < 5000; ++i) {
    const Probe probe = Await(plan);
    ++probed[probe.lease.worker];
    last_second.push_back(now_);
    while (now_ - last_second.front() >= absl::Seconds(1)) last_second.pop_front();
    EXPECT_LE(last_second.size(), 50u);
    plan.Answered(probe, absl::OkStatus(), now_);
  }
  EXPECT_EQ(probed.size(), 1000u);
  for (const auto& [worker, count] : probed) {
    EXPECT_GE(count, 4) << worker;
    EXPECT_LE(count, 6) << worker;
  }
}

TEST_F(PlanTest, NewHolders_AreSpreadOverTheInterval) {
  Plan plan(limits_, 1);
  const absl::Duration begun = now_;
  plan.Update(Targets(0, 1000), now_);
  std::array<int, 10> in_each_second = {};
  for (int i = 0; i < 1000; ++i) {
    const Probe probe = Await(plan);
    ASSERT_LT(now_ - begun, limits_.interval + absl::Seconds(1)) << i;
    ++in_each_second[std::min<size_t>(static_cast<size_t>((now_ - begun) / absl::Seconds(1)), 9)];
    plan.Answered(probe, absl::OkStatus(), now_ + limits_.interval);
  }
  for (int count : in_each_second) {
    EXPECT_GT(count, 50);
    EXPECT_LT(count, 150);
  }
}

// A thousand holders take each probe to its end, five seconds; ten answer at once.
TEST_F(PlanTest, HoldersThatHang_DelayEachOtherOnly) {
  limits_.at_once = 16;
  Plan plan(limits_, 1);
  std::vector<Target> targets = Targets(0, 10);
  plan.Update(targets, now_);
  for (int i = 0; i < 10; ++i) plan.Answered(Await(plan), absl::OkStatus(), now_);
  for (const Target& hanging : Targets(100, 1000)) targets.push_back(hanging);
  plan.Update(targets, now_);
  std::map<uint64_t, absl::Duration> last;
  for (uint64_t i = 0; i < 10; ++i) last[i] = now_;
  absl::Duration longest;
  int hung = 0;
  std::deque<std::pair<absl::Duration, Probe>> hanging;
  const absl::Duration end = now_ + absl::Minutes(10);
  while (now_ < end) {
    while (!hanging.empty() && hanging.front().first <= now_) {
      plan.Answered(hanging.front().second, kFailed, now_);
      hanging.pop_front();
    }
    while (auto probe = plan.Next(now_)) {
      if (probe->lease.worker < 10) {
        longest = std::max(longest, now_ - last[probe->lease.worker]);
        last[probe->lease.worker] = now_;
        plan.Answered(*probe, absl::OkStatus(), now_);
      } else {
        hanging.emplace_back(now_ + absl::Seconds(5), *probe);
        ++hung;
        EXPECT_LE(hanging.size(), 8u);
      }
    }
    now_ += absl::Milliseconds(10);
  }
  EXPECT_LT(longest, absl::Seconds(12)) << "an interval, a tenth, and the step of this test";
  EXPECT_GT(hung, 900) << "they are probed all the same";
}

}  // namespace
}  // namespace locus::holder_probe
