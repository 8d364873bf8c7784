// SPDX-License-Identifier: Apache-2.0
// Histories that are right, and each way in which one can be broken.
#include "apps/proof/lease/invariant.h"

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/snowflake_layout.h"

namespace locus::proof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = RecordedCall::Kind;

constexpr char kSpace[] = "ids";

int64_t Id(int64_t ms, int64_t worker, int64_t sequence) {
  return (ms - absl::ToUnixMillis(kSnowflakeEpoch)) << 22 | worker << 12 | sequence;
}
constexpr int64_t kNow = 1'750'000'000'000;

RecordedCall Granted(uint64_t worker, uint64_t token, int64_t floor, int64_t ceiling,
                     Kind kind = Kind::kAcquire) {
  RecordedCall call;
  call.kind = kind;
  call.space = kSpace;
  call.answer.emplace().grant = {worker,
                                 token,
                                 absl::FromUnixMillis(floor),
                                 absl::FromUnixMillis(ceiling),
                                 absl::FromUnixMillis(floor),
                                 false};
  return call;
}
RecordedCall Released(uint64_t worker, uint64_t token, int64_t last_used) {
  RecordedCall call;
  call.kind = Kind::kRelease;
  call.space = kSpace;
  call.worker = worker;
  call.token = token;
  call.last_used = absl::FromUnixMillis(last_used);
  return call;
}

class InvariantTest : public ::testing::Test {
 protected:
  // Client 1 has worker 5 under token 10, and client 2 after it.
  void SetUp() override {
    invariant_.Add(1, {Granted(5, 10, kNow, kNow + 100)}, kSpace);
    invariant_.Add(2, {Granted(5, 20, kNow + 100, kNow + 200)}, kSpace);
  }
  void Made(uint32_t client, uint64_t token, int64_t ms, int64_t sequence, uint64_t count,
            int64_t worker = 5) {
    const IdRun run{Id(ms, worker, sequence), token, count};
    invariant_.Add(client, {&run, 1});
  }
  Invariant invariant_;
};

TEST_F(InvariantTest, RightHistory_NothingIsWrong) {
  Made(1, 10, kNow + 1, 0, 4096);
  Made(1, 10, kNow + 100, 0, 10);
  Made(1, 10, kNow + 100, 10, 10);
  Made(2, 20, kNow + 101, 4095, 1);
  Made(2, 20, kNow + 101, 0, 4095);
  EXPECT_THAT(invariant_.Violations(), IsEmpty());
  EXPECT_EQ(invariant_.ids(), 4096u + 20 + 4096);
  EXPECT_EQ(invariant_.leases(), 2u);
}

TEST_F(InvariantTest, OneIdTwice_IsFoundWhereverItLies) {
  Made(1, 10, kNow + 1, 0, 100);
  Made(1, 10, kNow + 1, 99, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("is among")));
}

TEST_F(InvariantTest, OneIdTwiceInALongRunBehindAShortOne_IsFound) {
  Made(1, 10, kNow + 1, 0, 100);
  Made(1, 10, kNow + 1, 10, 1);
  Made(1, 10, kNow + 1, 50, 1);
  EXPECT_EQ(invariant_.Violations().size(), 2u);
}

TEST_F(InvariantTest, TimeAboveTheCeiling_IsFound) {
  Made(2, 20, kNow + 201, 0, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("is not within its lease")));
}

TEST_F(InvariantTest, TimeAtTheFloor_IsFound) {
  Made(1, 10, kNow, 0, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("is not within its lease")));
}

TEST_F(InvariantTest, RenewedCeiling_AllowsLaterTimes) {
  invariant_.Add(2, {Granted(5, 20, kNow + 100, kNow + 300, Kind::kRenew)}, kSpace);
  Made(2, 20, kNow + 300, 0, 1);
  EXPECT_THAT(invariant_.Violations(), IsEmpty());
}

TEST_F(InvariantTest, IdUnderATokenOfAnotherClient_IsFound) {
  Made(2, 10, kNow + 1, 0, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("without a lease")));
}

TEST_F(InvariantTest, IdOfAnotherWorker_IsFound) {
  Made(1, 10, kNow + 1, 0, 1, 6);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("without a lease")));
}

TEST_F(InvariantTest, EarlierTokenUsedLaterTimes_IsFound) {
  invariant_.Add(1, {Granted(5, 10, kNow, kNow + 150, Kind::kRenew)}, kSpace);
  Made(1, 10, kNow + 150, 0, 1);
  Made(2, 20, kNow + 150, 1, 1);
  EXPECT_THAT(invariant_.Violations(),
              ElementsAre(HasSubstr("could use times up to"), HasSubstr("of an earlier token")));
}

TEST_F(InvariantTest, FloorBelowTheCeilingBefore_IsFoundAlsoWithoutIds) {
  invariant_.Add(3, {Granted(5, 30, kNow + 199, kNow + 300)}, kSpace);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("could use times up to")));
}

TEST_F(InvariantTest, ReleasedLease_AllowsAFloorAtItsLastTime) {
  invariant_.Add(2, {Granted(5, 20, kNow + 100, kNow + 200), Released(5, 20, kNow + 120)}, kSpace);
  invariant_.Add(3, {Granted(5, 30, kNow + 120, kNow + 300)}, kSpace);
  EXPECT_THAT(invariant_.Violations(), IsEmpty());
  Made(2, 20, kNow + 121, 0, 1);
  Made(3, 30, kNow + 121, 1, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("of an earlier token")));
}

TEST_F(InvariantTest, TokenOfTwoClients_IsFound) {
  invariant_.Add(3, {Granted(5, 20, kNow + 100, kNow + 200)}, kSpace);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("to client 2 and to client 3")));
}

TEST_F(InvariantTest, IdWithoutAToken_NeedsAnyLeaseOfItsClient) {
  Made(1, 0, kNow + 100, 0, 1);
  EXPECT_THAT(invariant_.Violations(), IsEmpty());
  Made(1, 0, kNow + 101, 0, 1);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("without a lease")));
}

TEST_F(InvariantTest, RunOverTheEndOfAMillisecond_IsFound) {
  Made(1, 10, kNow + 1, 4095, 2);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("cannot be")));
}

TEST_F(InvariantTest, LossThatAStoreNotices_IsFound) {
  RecordedCall call = Granted(6, 30, kNow, kNow + 10);
  call.answer->grant->loss_noticed = true;
  invariant_.Add(1, {call}, kSpace);
  EXPECT_THAT(invariant_.Violations(), ElementsAre(HasSubstr("has lost leases")));
}

TEST_F(InvariantTest, OtherSpaces_AreNotLookedAt) {
  RecordedCall call = Granted(5, 20, kNow, kNow + 1000);
  call.space = "other";
  invariant_.Add(7, {call}, kSpace);
  EXPECT_THAT(invariant_.Violations(), IsEmpty());
}

// Runs at random against a set of all numbers.
TEST(InvariantTwinTest, RepetitionsAtRandom_AreFoundAsByASet) {
  int repeated = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    Invariant invariant;
    invariant.Add(1, {Granted(1, 1, kNow, kNow + 100), Granted(2, 1, kNow, kNow + 100)}, kSpace);
    std::set<int64_t> seen;
    bool twice = false;
    const uint64_t runs = 1 + random() % 12;
    for (uint64_t i = 0; i < runs; ++i) {
      const IdRun run{Id(kNow + 1 + random() % 2, 1 + random() % 2, random() % 60), 1,
                      1 + random() % 8};
      invariant.Add(1, {&run, 1});
      for (uint64_t k = 0; k < run.count; ++k) {
        twice |= !seen.insert(run.first + static_cast<int64_t>(k)).second;
      }
    }
    EXPECT_EQ(!invariant.Violations().empty(), twice) << "seed " << seed;
    repeated += twice ? 1 : 0;
  }
  EXPECT_GT(repeated, 200);
  EXPECT_LT(repeated, 1800);
}

}  // namespace
}  // namespace locus::proof
