// SPDX-License-Identifier: Apache-2.0
#include "src/worker/worker_rules.h"

#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::worker {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const absl::Duration kWhole = absl::Minutes(10) + absl::Seconds(10);

WorkerAcquire Wish(const std::string& nonce) {
  WorkerAcquire wish;
  wish.nonce = nonce;
  wish.caller_now = kNow;
  return wish;
}

WorkerRecord Record(uint64_t worker, uint64_t token, absl::Time floor, absl::Time ceiling,
                    const std::string& nonce) {
  WorkerRecord record;
  record.worker = worker;
  record.token = token;
  record.floor = floor;
  record.ceiling = ceiling;
  record.nonce = nonce;
  return record;
}

WorkerRenew Renewal(uint64_t token, absl::Time ceiling, const std::string& nonce) {
  WorkerRenew renewal;
  renewal.worker = 7;
  renewal.token = token;
  renewal.ceiling = ceiling;
  renewal.nonce = nonce;
  renewal.caller_now = kNow;
  return renewal;
}

TEST(WorkerRulesTest, Acquire_AfterAForgottenToken_StillGetsAGreaterOne) {
  // The store has forgotten all: the token is not below the clock, which was the least of the
  // token before.
  const Outcome first = PlanAcquire({}, nullptr, 7, Wish("a"), kNow);
  const Outcome later = PlanAcquire({}, nullptr, 7, Wish("b"), kNow + absl::Milliseconds(1));
  EXPECT_LT(first.grant.token, later.grant.token);
}

TEST(WorkerRulesTest, Acquire_WithTheClockSetBack_GetsAGreaterTokenAndTheFloor) {
  const Outcome first = PlanAcquire({}, nullptr, 7, Wish("a"), kNow);
  WorkerRecord released = *first.record;
  released.nonce.clear();
  released.ceiling = kNow - absl::Hours(2);
  const Outcome later = PlanAcquire({}, &released, 7, Wish("b"), kNow - absl::Hours(1));
  EXPECT_GT(later.grant.token, first.grant.token);
  EXPECT_EQ(later.grant.floor, released.ceiling);
}

TEST(WorkerRulesTest, Acquire_AfterARest_HasItsEndAsTheFloor) {
  Space space;
  PlanCreate(space, true, {.longest_ttl = absl::Minutes(1)}, kNow);
  const absl::Time end = kNow + absl::Minutes(2);  // the ttl, and the greatest difference of clocks
  const absl::Status rests = PlanAcquire(space, nullptr, 7, Wish("a"), end).status;
  EXPECT_EQ(rests.code(), StatusCode::kUnavailable) << rests;
  EXPECT_EQ(RestLeft(rests), absl::ZeroDuration()) << rests;
  const Outcome outcome = PlanAcquire(space, nullptr, 7, Wish("a"), end + absl::Milliseconds(1));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.grant.floor, end);
}

TEST(WorkerRulesTest, CreatedSpace_RestsForTheLongestTtlUnlessItIsTheFirstEver) {
  Space first, anew;
  EXPECT_TRUE(PlanCreate(first, true, {.first_ever = true}, kNow));
  EXPECT_EQ(first, Space());
  EXPECT_TRUE(PlanCreate(anew, true, {}, kNow));
  EXPECT_EQ(anew.rest_until, kNow + absl::Hours(24) + absl::Minutes(1));
  EXPECT_FALSE(PlanCreate(anew, false, {}, kNow)) << "it exists";
  const absl::Status rests =
      PlanAcquire(anew, nullptr, 7, Wish("a"), kNow + absl::Milliseconds(1500)).status;
  EXPECT_EQ(RestLeft(rests), absl::Hours(24) + absl::Minutes(1) - absl::Milliseconds(1500));
  EXPECT_EQ(RestLeft(absl::UnavailableError("no leader")), std::nullopt);
  EXPECT_TRUE(PlanCreate(anew, false, {.first_ever = true}, kNow));
  EXPECT_EQ(anew, Space());
  EXPECT_EQ(Check(WorkerSpacePast{.first_ever = true, .lost = true}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Check(WorkerSpacePast{.longest_ttl = absl::Hours(25)}).code(),
            StatusCode::kInvalidArgument);
}

TEST(WorkerRulesTest, SpaceThatNoticedALoss_RestsThoughItIsCalledTheFirstEver) {
  Space space;
  PlanCreate(space, true, {}, kNow);
  PlanRenew(&space, nullptr, Renewal(10, kNow, "a"), kNow);
  NoteLoss(space, WorkerLeaseTerm(), kNow);
  const Space before = space;
  EXPECT_FALSE(PlanCreate(space, false, {.first_ever = true}, kNow));
  EXPECT_EQ(space, before);
}

TEST(WorkerRulesTest, LossWithoutATerm_RestsForTheLongestLeaseKnown) {
  Space space;
  space.longest = absl::Seconds(30);
  NoteLoss(space, kNow);
  EXPECT_EQ(space.rest_until, kNow + absl::Seconds(30));
  Space unknown;
  NoteLoss(unknown, kNow);
  EXPECT_EQ(unknown.rest_until, kNow + absl::Hours(24) + absl::Minutes(1));
}

TEST(WorkerRulesTest, Acquire_StoresTheLongestTerm_ForALossToWaitOut) {
  WorkerAcquire wish = Wish("a");
  wish.term.ttl = absl::Hours(1);
  const Outcome outcome = PlanAcquire({}, nullptr, 7, wish, kNow);
  ASSERT_TRUE(outcome.space.has_value());
  Space space = *outcome.space;
  NoteLoss(space, WorkerLeaseTerm(), kNow);
  EXPECT_EQ(space.rest_until, kNow + absl::Hours(1) + absl::Seconds(10));
  EXPECT_EQ(space.losses, 1u);
}

TEST(WorkerRulesTest, Renew_WhereTheIdWentToAnotherTooEarly_IsLostAndNoticed) {
  // The other's floor is below the caller's ceiling: the caller's lease had been forgotten.
  const WorkerRecord other = Record(7, 20, kNow - absl::Hours(1), kNow + kWhole, "b");
  const Outcome outcome = PlanRenew(nullptr, &other, Renewal(10, kNow, "a"), kNow);
  EXPECT_EQ(outcome.status.code(), StatusCode::kAborted);
  EXPECT_FALSE(outcome.record.has_value()) << "the other one keeps the ID";
  ASSERT_TRUE(outcome.space.has_value());
  EXPECT_EQ(outcome.space->losses, 1u);
  EXPECT_GE(outcome.space->rest_until, kNow + kWhole);
}

TEST(WorkerRulesTest, Renew_WhereTheIdWentToAnotherInTime_IsLostOnly) {
  const WorkerRecord other = Record(7, 20, kNow - absl::Hours(1), kNow + kWhole, "b");
  const Outcome outcome = PlanRenew(nullptr, &other, Renewal(10, kNow - absl::Hours(1), "a"), kNow);
  EXPECT_EQ(outcome.status.code(), StatusCode::kAborted);
  EXPECT_FALSE(outcome.space.has_value());
}

TEST(WorkerRulesTest, Renew_WithATokenThatTheStoreDoesNotKnow_TakesTheIdOverUnlessItEnded) {
  const WorkerRecord older = Record(7, 5, kNow - absl::Hours(2), kNow + kWhole, "x");
  const Outcome goes_on = PlanRenew(nullptr, &older, Renewal(10, kNow + kWhole, "a"), kNow);
  ASSERT_TRUE(goes_on.status.ok()) << goes_on.status;
  EXPECT_EQ(goes_on.record->token, 10u);
  EXPECT_EQ(goes_on.record->nonce, "a");
  EXPECT_TRUE(goes_on.grant.loss_noticed);
  const Outcome ended =
      PlanRenew(nullptr, &older, Renewal(10, kNow - absl::Milliseconds(1), "a"), kNow);
  EXPECT_EQ(ended.status.code(), StatusCode::kAborted);
  EXPECT_FALSE(ended.record.has_value());
}

TEST(WorkerRulesTest, Release_OfAForgottenLease_ChangesNothing) {
  EXPECT_TRUE(PlanRelease(nullptr, {7, 10, kNow}).status.ok());
  EXPECT_FALSE(PlanRelease(nullptr, {7, 10, kNow}).record.has_value());
}

TEST(WorkerRulesTest, Release_OfAFirstLeaseThatMadeNothing_HasNoCeiling) {
  WorkerRecord record;
  record.worker = 7;
  record.token = 10;
  record.floor = absl::InfinitePast();
  record.ceiling = kNow;
  record.nonce = "a";
  EXPECT_EQ(PlanRelease(&record, {7, 10, absl::InfinitePast()}).record->ceiling,
            absl::InfinitePast());
}

TEST(WorkerRulesTest, Check_CeilingThatWasNeverGranted_IsRefused) {
  const WorkerRenew renewal = Renewal(10, kNow + absl::Hours(60), "a");
  EXPECT_EQ(Check(renewal).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Check(renewal).message()), HasSubstr("ceiling"));
}

TEST(WorkerRulesTest, Check_TermsInPartsOfMilliseconds_AreRefused) {
  WorkerAcquire wish = Wish("a");
  wish.term.ttl = absl::Seconds(10) + absl::Nanoseconds(1);
  EXPECT_EQ(Check(wish).code(), StatusCode::kInvalidArgument);
}

// FindFree beside a search that looks at every ID in turn.
TEST(WorkerRulesTest, FindFree_RandomRecords_AgreesWithANaiveSearch) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    WorkerAcquire wish = Wish("me");
    wish.range = {random() % 4, 4 + random() % 5};
    wish.start = wish.range.first + random() % wish.range.size();
    if (random() % 2 == 0) wish.preferred = wish.range.first + random() % wish.range.size();
    std::map<uint64_t, WorkerRecord> records;
    for (uint64_t worker = 0; worker < 12; ++worker) {
      if (random() % 4 == 0) continue;
      const bool held = random() % 4 != 0;
      records[worker] = Record(worker, 1, kNow - kWhole,
                               held ? kNow + absl::Seconds(worker) : kNow - absl::Seconds(1),
                               random() % 16 == 0  ? "me"
                               : random() % 2 == 0 ? "other"
                                                   : "");
    }
    auto scan = [&records](uint64_t first, uint64_t last, const Visit& visit) {
      for (auto it = records.lower_bound(first); it != records.end() && it->first <= last; ++it) {
        if (!visit(it->second)) break;
      }
      return absl::OkStatus();
    };
    std::optional<uint64_t> naive;
    auto consider = [&](uint64_t worker) {
      auto it = records.find(worker);
      if (!naive && IsFree(it == records.end() ? nullptr : &it->second, wish, kNow)) {
        naive = worker;
      }
    };
    if (wish.preferred) consider(*wish.preferred);
    for (uint64_t i = 0; i < wish.range.size(); ++i) {
      consider(wish.range.first + (wish.start - wish.range.first + i) % wish.range.size());
    }
    auto found = FindFree(SpaceName(), wish, kNow, scan);
    ASSERT_EQ(found.ok(), naive.has_value()) << "round " << round;
    if (!naive) {
      EXPECT_EQ(found.status().code(), StatusCode::kResourceExhausted);
      continue;
    }
    EXPECT_EQ(found->worker, *naive) << "round " << round;
    EXPECT_EQ(found->record.has_value(), records.count(*naive) == 1) << "round " << round;
  }
}

}  // namespace
}  // namespace locus::worker
