// SPDX-License-Identifier: Apache-2.0
// A generator whose store fails, refuses, loses allocations or grants wrong segments.
#include <functional>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "tests/generator/generator_fixture.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;
using fakes::ManualClock;

TEST_F(GeneratorTest, StoreDown_IdsContinueForTheHorizonThenAreUnavailable) {
  options_.horizon = absl::Seconds(100);
  auto generator = Make();
  // 1,000 a second, until segments have adapted.
  auto second = [&] {
    for (int i = 0; i < 100; ++i) Take(*generator, kBuyer);
    clock_.Advance(absl::Milliseconds(100));
    executor_.RunDelayed();
  };
  for (int i = 0; i < 5000; ++i) second();
  EXPECT_GE(generator->Stats().autonomy, absl::Seconds(100));
  store_->FailWith(absl::UnavailableError("the store is down"));
  absl::Duration went_on;
  while (generator->TryNext(kBuyer).ok()) {
    for (int i = 0; i < 99 && generator->TryNext(kBuyer).ok(); ++i) {
    }
    clock_.Advance(absl::Milliseconds(100));
    executor_.RunDelayed();
    went_on += absl::Milliseconds(100);
    ASSERT_LT(went_on, absl::Seconds(1000));
  }
  EXPECT_GE(went_on, absl::Seconds(100));
  EXPECT_TRUE(absl::IsUnavailable(generator->TryNext(kBuyer).status()));
  EXPECT_EQ(generator->Stats().last_store_error.message(), "the store is down");
  store_->Heal();
  clock_.Advance(absl::Seconds(10));
  executor_.RunDelayed();
  Take(*generator, kBuyer);
}

TEST_F(GeneratorTest, QuietProcess_DropsSegmentsOlderThanTwoHorizons) {
  auto generator = Make();
  OrderId before = Take(*generator, kBuyer);
  for (int i = 0; i < 40; ++i) {
    clock_.Advance(absl::Minutes(1));
    executor_.RunDelayed();
  }
  EXPECT_GE(generator->Stats().dropped, 1u);
  clock_.Advance(absl::Hours(24));
  OrderId after = Take(*generator, kBuyer);
  EXPECT_GE(after.sequence(), before.sequence() + 16384 * 3600 * 24 - (1 << 25));
}

TEST_F(GeneratorTest, StoreRefuses_CallersHearFailedPreconditionUntilItIsRepaired) {
  auto generator = Make();
  store_->FailWith(absl::FailedPreconditionError("this clock is wrong"));
  EXPECT_TRUE(absl::IsUnavailable(generator->TryNext(kBuyer).status()));
  executor_.RunReady();
  EXPECT_TRUE(absl::IsFailedPrecondition(generator->TryNext(kBuyer).status()));
  absl::Status status = generator->Next(kBuyer, Soon()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "this clock is wrong");
  store_->Heal();
  clock_.Advance(absl::Seconds(10));
  executor_.RunDelayed();
  EXPECT_TRUE(generator->TryNext(kBuyer).ok());
}

TEST_F(GeneratorTest, WrongClock_GetsNoSegment) {
  auto generator = Make();
  Take(*generator, kBuyer);
  ManualClock wrong(clock_.Now() + absl::Hours(1));
  options_.clock = &wrong;
  auto other = Make();
  EXPECT_FALSE(other->TryNext(kBuyer).ok());
  executor_.RunReady();
  EXPECT_TRUE(absl::IsFailedPrecondition(other->TryNext(kBuyer).status()));
}

TEST_F(GeneratorTest, StoreLost_IsNoticedAndNothingRepeats) {
  auto generator = Make();
  store_->Remember();
  std::set<OrderId> ids;
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(ids.insert(Take(*generator, kBuyer)).second);
  store_->PutBack(MemorySegmentStore::Rewind::kSilent);
  for (int i = 0; i < 30000; ++i) ASSERT_TRUE(ids.insert(Take(*generator, kBuyer)).second);
  EXPECT_EQ(generator->Stats().losses, 1u);
}

TEST_F(GeneratorTest, LostAnswers_SkipSequencesButNeverRepeat) {
  auto generator = Make();
  std::set<OrderId> ids;
  for (int i = 0; i < 5000; ++i) {
    if (i % 100 == 0) store_->LoseAnswersWith(absl::UnavailableError("timeout"));
    absl::StatusOr<OrderId> id = generator->TryNext(kBuyer);
    if (id.ok()) {
      EXPECT_TRUE(ids.insert(*id).second);
    }
    executor_.RunReady();
    store_->Heal();
    clock_.Advance(absl::Milliseconds(100));
    executor_.RunDelayed();
  }
  EXPECT_GT(ids.size(), 3000u);
}

TEST_F(GeneratorTest, PolledDuringAnOutage_DoesNotWakeTheLoaderEachTime) {
  auto generator = Make();
  store_->FailWith(absl::UnavailableError("down"));
  int ran = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(generator->TryNext(kBuyer).ok());
    ran += executor_.RunReady();
  }
  EXPECT_LT(ran, 5);
  EXPECT_LT(generator->Stats().starved, 5u);
  EXPECT_EQ(store_->calls(), 1);
}

TEST_F(GeneratorTest, WokenAgainAndAgain_KeepsFewTimers) {
  options_.horizon = absl::Hours(1);
  auto generator = Make();
  for (uint64_t i = 0; i < 2000; ++i) Take(*generator, BuyerKey::Uint64(i));
  for (int i = 0; i < 20; ++i) executor_.RunDelayed();
  EXPECT_LT(executor_.delayed(), 10u);
}

// A user's own store, whose replies a test spoils.
class LyingStore : public FaultySegmentStore {
 public:
  explicit LyingStore(Clock& clock) : FaultySegmentStore(clock) {}
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time now) override {
    auto reply = FaultySegmentStore::Allocate(space, options, requests, now);
    if (reply.ok()) spoil(*reply);
    return reply;
  }
  std::function<void(SegmentReply&)> spoil;
};

TEST_F(GeneratorTest, GrantsThatCannotBe_AreNotUsed) {
  for (auto spoil : std::vector<std::function<void(SegmentReply&)>>{
           [](SegmentReply& reply) { reply.grants.clear(); },
           [](SegmentReply& reply) { reply.grants[0].segment.first += 1; },
           [](SegmentReply& reply) { reply.grants[0].segment.length = 192; },
           [](SegmentReply& reply) { reply.grants[0].segment.first = ~uint64_t{63}; }}) {
    auto lying = std::make_shared<LyingStore>(clock_);
    lying->spoil = spoil;
    auto generator = OrderIdGenerator::Create(lying, options_).value();
    EXPECT_FALSE(generator->TryNext(kBuyer).ok());
    executor_.RunReady();
    EXPECT_TRUE(absl::IsFailedPrecondition(generator->TryNext(kBuyer).status()));
  }
}

TEST_F(GeneratorTest, DestroyedWithTasksPending_TheyDoNothing) {
  auto generator = Make();
  EXPECT_FALSE(generator->TryNext(kBuyer).ok());
  generator.reset();
  executor_.RunReady();
  EXPECT_EQ(store_->calls(), 0);
}

}  // namespace
}  // namespace locus
