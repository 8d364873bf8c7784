// SPDX-License-Identifier: Apache-2.0
#include "src/worker/renewal.h"

#include <algorithm>
#include <array>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::worker {
namespace {

using ::testing::HasSubstr;
using Act = Renewal::Act;
using Answer = Renewal::Answer;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Time kNow = absl::FromUnixSeconds(1767225600);
constexpr absl::Duration kBoot = absl::Hours(3);
constexpr uint64_t kMostRandom = ~uint64_t{0};

WorkerGrant Grant(absl::Duration ahead = absl::Minutes(10)) {
  WorkerGrant grant;
  grant.worker = 5;
  grant.token = 77;
  grant.ceiling = kNow + ahead;
  return grant;
}
Renewal Held(absl::Duration ttl = absl::Minutes(10), uint64_t random = kMostRandom) {
  return Renewal({.ttl = ttl}, Grant(), kBoot, random);
}

TEST(RenewalTest, UsableFor_IsTheFormulaOfTheContract) {
  for (absl::Duration ttl : {10 * kSecond, 60 * kSecond, absl::Hours(24)}) {
    const double expected = (1 - 1e-3) * ((absl::ToDoubleSeconds(ttl) - 1.0) / (1 + 1e-3) - 0.5);
    EXPECT_NEAR(absl::ToDoubleSeconds(UsableFor(ttl)), expected, 1e-6);
  }
  EXPECT_GT(UsableFor(10 * kSecond), 2 * RenewalInterval(10 * kSecond));
}

TEST(RenewalTest, Interval_IsTheLeastOfAThirdAndTenSeconds) {
  EXPECT_EQ(RenewalInterval(absl::Seconds(12)), absl::Seconds(4));
  EXPECT_EQ(RenewalInterval(absl::Seconds(30)), absl::Seconds(10));
  EXPECT_EQ(RenewalInterval(absl::Hours(24)), absl::Seconds(10));
}

TEST(RenewalTest, ManyStartedTogether_RenewSpread) {
  constexpr int kHolders = 1024;
  std::array<int, 10> in_second{};
  for (uint64_t i = 0; i < kHolders; ++i) {
    Renewal each = Held(absl::Minutes(10), i * (kMostRandom / kHolders));
    ++in_second[static_cast<size_t>(each.Look(kBoot).wait / kSecond)];
  }
  EXPECT_EQ(in_second[0], 0) << "not at once";
  for (size_t second = 1; second < in_second.size(); ++second) {
    EXPECT_NEAR(in_second[second], kHolders / 9, 3) << second;
  }
}

TEST(RenewalTest, Renewed_CountsFromWhenItWasSent) {
  Renewal lease = Held();
  EXPECT_EQ(lease.Look(kBoot + 5 * kSecond).act, Act::kWait);
  EXPECT_EQ(lease.Look(kBoot + 10 * kSecond).act, Act::kRenew);
  lease.Sent(kBoot + 11 * kSecond);
  EXPECT_EQ(lease.Look(kBoot + 12 * kSecond).act, Act::kWait) << "one is under way";
  EXPECT_EQ(lease.Answered(kBoot + 31 * kSecond, Grant(absl::Minutes(11)), kMostRandom),
            Answer::kRenewed);
  EXPECT_EQ(lease.deadline(), kBoot + 11 * kSecond + UsableFor(absl::Minutes(10)));
  EXPECT_EQ(lease.grant().ceiling, kNow + absl::Minutes(11));
  EXPECT_EQ(lease.Look(kBoot + 31 * kSecond).act, Act::kRenew) << "10 s after it was sent";
}

TEST(RenewalTest, AnswerWithALowerCeiling_LowersNothing) {
  Renewal lease = Held();
  lease.Sent(kBoot + 10 * kSecond);
  EXPECT_EQ(lease.Answered(kBoot + 11 * kSecond, Grant(absl::Minutes(1)), 0), Answer::kRenewed);
  EXPECT_EQ(lease.grant().ceiling, Grant().ceiling);
}

TEST(RenewalTest, AnswerAfterTheDeadline_IsALoss) {
  Renewal lease = Held();
  lease.Sent(kBoot + 10 * kSecond);
  EXPECT_EQ(lease.Answered(lease.deadline(), Grant(absl::Hours(1)), 0), Answer::kLost);
  EXPECT_FALSE(lease.held(kBoot)) << "for good";
  EXPECT_EQ(lease.grant().ceiling, Grant().ceiling);
  EXPECT_TRUE(absl::IsDeadlineExceeded(lease.loss())) << lease.loss();
  EXPECT_EQ(lease.Look(kBoot + absl::Hours(1)).act, Act::kWait) << "a loss comes once";
}

TEST(RenewalTest, AnswerAfterALoss_IsIgnored) {
  Renewal lease = Held();
  lease.Sent(kBoot + 10 * kSecond);
  EXPECT_EQ(lease.Look(lease.deadline()).act, Act::kLost);
  EXPECT_EQ(lease.Look(lease.deadline()).act, Act::kWait) << "a loss comes once";
  EXPECT_EQ(lease.Answered(lease.deadline() + kSecond, Grant(absl::Hours(1)), 0), Answer::kIgnored);
  EXPECT_FALSE(lease.held(kBoot + 11 * kSecond));
}

TEST(RenewalTest, Aborted_IsLostAtOnce) {
  Renewal lease = Held();
  lease.Sent(kBoot + 10 * kSecond);
  EXPECT_EQ(lease.Answered(kBoot + 10 * kSecond, absl::AbortedError("another holder"), 0),
            Answer::kLost);
  EXPECT_FALSE(lease.held(kBoot + 10 * kSecond));
  EXPECT_EQ(lease.loss(), absl::AbortedError("another holder"));
}

TEST(RenewalTest, OtherErrors_AreTriedAgainUntilTheDeadline) {
  for (absl::Status error :
       {absl::UnavailableError("x"), absl::FailedPreconditionError("x"), absl::NotFoundError("x"),
        absl::DataLossError("x"), absl::InvalidArgumentError("x")}) {
    Renewal lease = Held(absl::Seconds(30));
    const absl::Duration end = lease.deadline();
    absl::Duration now = kBoot;
    std::vector<absl::Duration> tries;
    for (Renewal::Turn turn = lease.Look(now); turn.act != Act::kLost; turn = lease.Look(now)) {
      if (turn.act == Act::kRenew) {
        tries.push_back(now);
        lease.Sent(now);
        ASSERT_EQ(lease.Answered(now, error, kMostRandom / 2), Answer::kFailed);
      } else {
        ASSERT_GT(turn.wait, absl::ZeroDuration());
        now += turn.wait;
      }
    }
    EXPECT_EQ(now, end);
    EXPECT_GE(tries.size(), 8u);
    EXPECT_LE(tries.size(), 20u) << "the pauses double";
    EXPECT_LE(end - tries.back(), kSecond) << "a store that comes back late is found";
    EXPECT_THAT(lease.loss().message(), HasSubstr(error.ToString())) << lease.loss();
    EXPECT_THAT(lease.loss().message(), HasSubstr("worker 5, token 77")) << lease.loss();
  }
}

TEST(RenewalTest, AnswerOfAnotherLease_IsAFailure) {
  WorkerGrant other = Grant(absl::Hours(1));
  ++other.token;
  Renewal lease = Held();
  lease.Sent(kBoot + 10 * kSecond);
  EXPECT_EQ(lease.Answered(kBoot + 10 * kSecond, other, 0), Answer::kFailed);
  EXPECT_TRUE(absl::IsDataLoss(lease.last())) << lease.last();
  EXPECT_EQ(lease.grant().ceiling, Grant().ceiling);
  other = Grant();
  ++other.worker;
  lease.Sent(kBoot + 11 * kSecond);
  EXPECT_EQ(lease.Answered(kBoot + 11 * kSecond, other, 0), Answer::kFailed);
}

TEST(RenewalTest, Unhealthy_IsLostAtTheDeadline) {
  Renewal lease = Held(absl::Seconds(30));
  const absl::Duration end = lease.deadline();
  absl::Duration now = kBoot;
  int asked = 0;
  for (Renewal::Turn turn = lease.Look(now); turn.act != Act::kLost; turn = lease.Look(now)) {
    if (turn.act == Act::kRenew) {
      lease.Unhealthy(now, kMostRandom);
      ++asked;
    } else {
      now += turn.wait;
    }
  }
  EXPECT_EQ(now, end);
  EXPECT_GT(asked, 5) << "so that it continues once it is healthy again";
  EXPECT_THAT(lease.loss().message(), HasSubstr("not healthy")) << lease.loss();
}

TEST(RenewalTest, AfterEnd_NothingIsRenewedOrLost) {
  Renewal lease = Held();
  EXPECT_TRUE(lease.End());
  EXPECT_FALSE(lease.held(kBoot));
  EXPECT_EQ(lease.Look(kBoot + 11 * kSecond).act, Act::kWait);
  EXPECT_EQ(lease.Look(kBoot + absl::Hours(1)).act, Act::kWait);
  EXPECT_TRUE(lease.loss().ok());
  Renewal lost = Held();
  EXPECT_EQ(lost.Look(lost.deadline()).act, Act::kLost);
  EXPECT_FALSE(lost.End());
}

}  // namespace
}  // namespace locus::worker
