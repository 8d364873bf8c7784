// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/plan.h"

#include <map>
#include <set>

#include "gtest/gtest.h"

namespace locus::proof {
namespace {

TEST(PlanTest, SameSeed_SamePlan) {
  for (uint64_t seed = 1; seed < 100; ++seed) EXPECT_EQ(PlanOf(seed).Text(), PlanOf(seed).Text());
  EXPECT_NE(PlanOf(1).Text(), PlanOf(2).Text());
}

TEST(PlanTest, SeedsOfCi_HaveEachFaultOnThreeAndOnFiveNodes) {
  std::map<int, std::set<Fault>> faults;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Plan plan = PlanOf(seed);
    for (const Step& step : plan.steps) faults[plan.nodes].insert(step.fault);
  }
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[3].size(), static_cast<size_t>(kFaults));
  EXPECT_EQ(faults[5].size(), static_cast<size_t>(kFaults));
}

TEST(PlanTest, Steps_AreInOrderAndEnd) {
  for (uint64_t seed = 1; seed < 500; ++seed) {
    const Plan plan = PlanOf(seed);
    EXPECT_GE(plan.steps.size(), 5u);
    absl::Duration last = absl::ZeroDuration();
    for (const Step& step : plan.steps) {
      EXPECT_GE(step.begin, last) << plan.Text();
      EXPECT_GE(step.end, step.begin) << plan.Text();
      last = step.begin;
    }
  }
}

// A cluster whose time an hour's error has set serves nobody for an hour.
TEST(PlanTest, WhileANodesClockIsOff_NoNodeStarts) {
  int off = 0;
  for (uint64_t seed = 1; seed < 500; ++seed) {
    const Plan plan = PlanOf(seed);
    for (const Step& clock : plan.steps) {
      if (clock.fault != Fault::kClockAhead && clock.fault != Fault::kClockBehind) continue;
      ++off;
      for (const Step& other : plan.steps) {
        if (&other == &clock || static_cast<int>(other.fault) >= kNodeFaults) continue;
        EXPECT_TRUE(other.end + absl::Seconds(5) <= clock.begin || other.begin > clock.end)
            << plan.Text();
      }
    }
  }
  EXPECT_GT(off, 100);
}

TEST(PlanTest, LongerPlan_HasMoreFaults) {
  EXPECT_GT(PlanOf(1, absl::Minutes(10)).steps.size(), 10 * PlanOf(1).steps.size());
}

}  // namespace
}  // namespace locus::proof
