// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id_generator.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/generator/naive_generator.h"

namespace locus {
namespace {

using testing::FaultySegmentStore;
using testing::ManualClock;
using testing::ManualExecutor;

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest() : store_(std::make_shared<FaultySegmentStore>(clock_)) {
    options_.clock = &clock_;
    options_.executor = &executor_;
    options_.create_space = true;
  }
  std::unique_ptr<OrderIdGenerator> Make() {
    return OrderIdGenerator::Create(store_, options_).value();
  }
  // Takes one, running the loader where needed.
  OrderId Take(OrderIdGenerator& generator, BuyerKey buyer) {
    for (int i = 0; i < 100; ++i) {
      absl::StatusOr<OrderId> id = generator.TryNext(buyer);
      if (id.ok()) return *id;
      EXPECT_TRUE(absl::IsUnavailable(id.status())) << id.status();
      executor_.RunReady();
      clock_.Advance(absl::Milliseconds(10));
      executor_.RunDelayed();
    }
    ADD_FAILURE() << "no ID after 100 attempts";
    return OrderId();
  }

  ManualClock clock_;
  ManualExecutor executor_;
  std::shared_ptr<FaultySegmentStore> store_;
  OrderIdGenerator::Options options_;
};

const BuyerKey kBuyer = BuyerKey::Uint64(17850);

TEST_F(GeneratorTest, FirstCall_IsUnavailableWithoutAMessageAndSetsOffLoading) {
  auto generator = Make();
  absl::Status status = generator->TryNext(kBuyer).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(status.message().empty());
  EXPECT_EQ(store_->calls(), 0);
  EXPECT_GE(executor_.RunReady(), 1);
  EXPECT_GE(store_->calls(), 1);
  EXPECT_TRUE(generator->TryNext(kBuyer).ok());
}

TEST_F(GeneratorTest, Ids_CarryTheGeneAndRise) {
  auto generator = Make();
  OrderId last = Take(*generator, kBuyer);
  EXPECT_EQ(last.gene(), ShardGene::Of(kBuyer));
  for (int i = 0; i < 10000; ++i) {
    OrderId id = Take(*generator, kBuyer);
    ASSERT_GT(id, last);
    ASSERT_EQ(id.gene(), last.gene());
    last = id;
  }
}

TEST_F(GeneratorTest, SegmentsOfAHotSection_GrowEightfoldAtMostAndAreFewer) {
  auto generator = Make();
  for (int i = 0; i < 200000; ++i) Take(*generator, kBuyer);
  GeneratorStats stats = generator->Stats();
  EXPECT_LT(stats.leases, 40u);
  EXPECT_GT(stats.leases, 4u);
  EXPECT_GT(stats.autonomy, absl::ZeroDuration());
  EXPECT_TRUE(stats.last_store_error.ok());
}

TEST_F(GeneratorTest, TwoGenerators_NeverShareAnId) {
  auto one = Make(), other = Make();
  std::set<OrderId> ids;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(ids.insert(Take(i % 3 == 0 ? *one : *other, kBuyer)).second);
  }
}

TEST_F(GeneratorTest, AgainstTheNaiveTwin_OnRandomHistories_NoIdComesTwice) {
  auto fast = Make();
  NaiveGenerator naive(*store_, SpaceName(), 256);
  std::mt19937_64 random(11);
  std::set<OrderId> ids;
  std::map<std::pair<bool, uint16_t>, OrderId> last;
  for (int i = 0; i < 20000; ++i) {
    BuyerKey buyer = BuyerKey::Uint64(random() % 50);
    ShardGene gene = ShardGene::Of(buyer);
    bool is_fast = random() % 2 == 0;
    OrderId id = is_fast ? Take(*fast, buyer) : naive.Next(gene, clock_.Now()).value();
    ASSERT_TRUE(ids.insert(id).second) << id;
    ASSERT_EQ(id.gene(), gene);
    OrderId& before = last[{is_fast, gene.value()}];
    ASSERT_LT(before, id);
    before = id;
    if (random() % 100 == 0) clock_.Advance(absl::Seconds(random() % 2000));
  }
}

TEST_F(GeneratorTest, StoreDown_IdsGoOnForTheHorizonThenAreUnavailable) {
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

TEST_F(GeneratorTest, WrongClock_GetsNoLease) {
  auto generator = Make();
  Take(*generator, kBuyer);
  ManualClock wrong(clock_.Now() + absl::Hours(1));
  options_.clock = &wrong;
  auto other = Make();
  EXPECT_FALSE(other->TryNext(kBuyer).ok());
  executor_.RunReady();
  EXPECT_TRUE(absl::IsFailedPrecondition(other->TryNext(kBuyer).status()));
}

TEST_F(GeneratorTest, NarrowSequencesUsedUp_IsOutOfRangeWithoutWide) {
  auto generator = Make();
  ASSERT_TRUE(store_
                  ->Raise(SpaceName(), OrderId::kMaxNarrowSequence - 100, RaiseReach::kAnywhere,
                          clock_.Now())
                  .ok());
  absl::StatusOr<OrderId> id = Take(*generator, kBuyer);
  int count = 0;
  OrderId last;
  while (true) {
    id = generator->TryNext(kBuyer);
    if (absl::IsUnavailable(id.status())) {
      executor_.RunReady();
      clock_.Advance(absl::Milliseconds(10));
      executor_.RunDelayed();
      continue;
    }
    if (!id.ok()) break;
    last = *id;
    ASSERT_LT(++count, 1000);
  }
  EXPECT_EQ(id.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(last.sequence(), OrderId::kMaxNarrowSequence);
  int calls = store_->calls();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(generator->TryNext(kBuyer).ok());
  executor_.RunReady();
  EXPECT_EQ(store_->calls(), calls) << "nothing more is leased";
}

TEST_F(GeneratorTest, NarrowSequencesUsedUp_GoOnWideWhenAsked) {
  options_.wide = true;
  auto generator = Make();
  ASSERT_TRUE(store_
                  ->Raise(SpaceName(), OrderId::kMaxNarrowSequence - 100, RaiseReach::kAnywhere,
                          clock_.Now())
                  .ok());
  OrderId last = Take(*generator, kBuyer);
  EXPECT_FALSE(last.is_wide());
  for (int i = 0; i < 1000; ++i) {
    OrderId id = Take(*generator, kBuyer);
    ASSERT_LT(last, id);
    last = id;
  }
  EXPECT_TRUE(last.is_wide());
  EXPECT_EQ(last.gene(), ShardGene::Of(kBuyer));
}

TEST_F(GeneratorTest, WideSequencesUsedUp_IsOutOfRange) {
  options_.wide = true;
  auto generator = Make();
  ASSERT_TRUE(
      store_->Raise(SpaceName(), OrderId::kMaxSequence - 63, RaiseReach::kAnywhere, clock_.Now())
          .ok());
  OrderId last;
  for (int i = 0; i < 64; ++i) last = Take(*generator, kBuyer);
  EXPECT_EQ(last.sequence(), OrderId::kMaxSequence);
  EXPECT_EQ(generator->TryNext(kBuyer).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(GeneratorTest, LeadUsedUp_WaitsForTheFloor) {
  SpaceOptions space;
  space.max_lead = 8192;
  options_.space_options = space;
  std::vector<GeneratorEvent::Kind> events;
  options_.on_event = [&](const GeneratorEvent& event) { events.push_back(event.kind); };
  auto generator = Make();
  clock_.Advance(absl::Seconds(200));  // past the jump of creation
  for (int i = 0; i < 9000; ++i) Take(*generator, kBuyer);
  EXPECT_NE(std::count(events.begin(), events.end(), GeneratorEvent::Kind::kLeadUsedUp), 0);
  EXPECT_NE(std::count(events.begin(), events.end(), GeneratorEvent::Kind::kLeased), 0);
  EXPECT_NE(std::count(events.begin(), events.end(), GeneratorEvent::Kind::kStarved), 0);
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

TEST_F(GeneratorTest, Batch_FillsFromTheFrontAndSaysHowMany) {
  auto generator = Make();
  std::vector<BuyerKey> buyers;
  for (uint64_t i = 0; i < 3000; ++i) buyers.push_back(BuyerKey::Uint64(i * 7919));
  std::vector<OrderId> ids(buyers.size());
  EXPECT_TRUE(absl::IsUnavailable(generator->NextBatch(buyers, ids).status()));
  executor_.RunReady();
  EXPECT_LE(store_->calls(), 2) << "one transaction for all sections, one for their next ones";
  EXPECT_EQ(generator->NextBatch(buyers, ids).value(), buyers.size());
  for (size_t i = 0; i < buyers.size(); ++i) EXPECT_EQ(ids[i].gene(), ShardGene::Of(buyers[i]));
  EXPECT_EQ(std::set<OrderId>(ids.begin(), ids.end()).size(), ids.size());

  store_->FailWith(absl::UnavailableError("down"));
  std::vector<BuyerKey> same(1000, kBuyer);
  size_t filled = generator->NextBatch(same, ids).value();
  EXPECT_GT(filled, 0u);
  EXPECT_LT(filled, 1000u);
  EXPECT_TRUE(absl::IsInvalidArgument(generator->NextBatch(buyers, {}).status()));
  EXPECT_EQ(generator->NextBatch(std::span<const BuyerKey>(), {}).value(), 0u);
}

TEST_F(GeneratorTest, OptionsThatDifferFromTheStores_AreRefused) {
  Make();
  SpaceOptions other;
  other.section_size = 64;
  options_.space_options = other;
  EXPECT_TRUE(absl::IsFailedPrecondition(OrderIdGenerator::Create(store_, options_).status()));
  options_.space_options.reset();
  options_.horizon = absl::Milliseconds(1);
  EXPECT_TRUE(absl::IsInvalidArgument(OrderIdGenerator::Create(store_, options_).status()));
}

TEST_F(GeneratorTest, MissingSpace_IsCreatedOnlyWhenAsked) {
  options_.create_space = false;
  EXPECT_TRUE(absl::IsNotFound(OrderIdGenerator::Create(store_, options_).status()));
}

TEST_F(GeneratorTest, SequencesUsedUpByOthers_AreOutOfRange) {
  options_.wide = true;
  auto generator = Make();
  ASSERT_TRUE(
      store_->Raise(SpaceName(), OrderId::kMaxSequence, RaiseReach::kAnywhere, clock_.Now()).ok());
  EXPECT_TRUE(absl::IsUnavailable(generator->TryNext(kBuyer).status()));
  executor_.RunReady();
  EXPECT_TRUE(absl::IsOutOfRange(generator->TryNext(kBuyer).status()));
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

// What the fastest vnode does is not what its section does.
TEST_F(GeneratorTest, SlowVnodeGoesOn_AfterTheFastestHasStopped) {
  BuyerKey fast = BuyerKey::Uint64(0), slow = BuyerKey::Uint64(0);
  auto section = [](BuyerKey buyer) { return ShardGene::Of(buyer).value() / 256; };
  for (uint64_t i = 1; section(slow) != section(fast) || ShardGene::Of(slow) == ShardGene::Of(fast);
       ++i) {
    slow = BuyerKey::Uint64(i);
  }
  options_.horizon = absl::Seconds(80);
  auto generator = Make();
  for (int i = 0; i < 30; ++i) Take(*generator, fast);
  for (int i = 0; i < 25; ++i) {
    Take(*generator, slow);
    clock_.Advance(absl::Seconds(10));
    executor_.RunDelayed();
    executor_.RunReady();
    if (i < 1) continue;
    EXPECT_TRUE(generator->TryNext(slow).ok()) << "after " << i << " ticks";
  }
}

// A store of a user's own that grants less, or what it granted before.
class LyingStore : public FaultySegmentStore {
 public:
  explicit LyingStore(Clock& clock) : FaultySegmentStore(clock) {}
  absl::StatusOr<LeaseReply> Lease(const SpaceName& space, const SpaceOptions& options,
                                   std::span<const LeaseRequest> requests,
                                   absl::Time now) override {
    auto reply = FaultySegmentStore::Lease(space, options, requests, now);
    if (reply.ok()) spoil(*reply);
    return reply;
  }
  std::function<void(LeaseReply&)> spoil;
};

TEST_F(GeneratorTest, GrantsThatCannotBe_AreNotUsed) {
  for (auto spoil : std::vector<std::function<void(LeaseReply&)>>{
           [](LeaseReply& reply) { reply.grants.clear(); },
           [](LeaseReply& reply) { reply.grants[0].segment.first += 1; },
           [](LeaseReply& reply) { reply.grants[0].segment.length = 192; },
           [](LeaseReply& reply) { reply.grants[0].segment.first = ~uint64_t{63}; }}) {
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

TEST_F(GeneratorTest, Genes_AreTheVnodesOfTheirBuyers) {
  auto generator = Make();
  OrderId of_buyer = Take(*generator, kBuyer);
  absl::StatusOr<OrderId> of_gene = generator->TryNext(ShardGene::Of(kBuyer));
  ASSERT_TRUE(of_gene.ok());
  EXPECT_EQ(of_gene->gene(), of_buyer.gene());
  EXPECT_EQ(of_gene->sequence(), of_buyer.sequence() + 1);
  std::vector<ShardGene> genes(100, of_buyer.gene());
  std::vector<OrderId> ids(100);
  ASSERT_TRUE(generator->NextBatch(genes, ids).ok());
  EXPECT_EQ(ids[0].sequence(), of_gene->sequence() + 1);
  std::vector<OrderId> few(99);
  EXPECT_TRUE(absl::IsInvalidArgument(generator->NextBatch(genes, few).status()));
}

TEST_F(GeneratorTest, NextWithATimeout_WaitsForTheStoreOrSaysWhy) {
  options_.executor = nullptr;
  auto generator = Make();
  EXPECT_TRUE(generator->Next(kBuyer, absl::Seconds(20)).ok());
  EXPECT_TRUE(generator->Next(ShardGene::Of(kBuyer), absl::InfiniteDuration()).ok());
  std::vector<ShardGene> genes = {ShardGene::FromUint16(uint16_t{40000}),
                                  ShardGene::FromUint16(uint16_t{50000})};
  std::vector<OrderId> ids(2);
  EXPECT_EQ(generator->NextBatch(genes, ids, absl::Seconds(20)).value(), 2u);
  store_->FailWith(absl::UnavailableError("down"));
  absl::Status late = generator->Next(ShardGene(), absl::ZeroDuration()).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
}

TEST_F(GeneratorTest, NextPastTheLastSequence_SaysWhatAndWhere) {
  options_.executor = nullptr;
  auto generator = Make();
  ASSERT_TRUE(
      store_
          ->Raise(SpaceName(), OrderId::kMaxNarrowSequence + 1, RaiseReach::kAnywhere, clock_.Now())
          .ok());
  ShardGene gene = ShardGene::FromUint16(uint16_t{515});
  absl::Status status = generator->Next(gene, absl::Seconds(20)).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  std::string message(status.message());
  EXPECT_NE(message.find("space orders, vnode 515 of section 2"), std::string::npos) << message;
  EXPECT_NE(message.find("140737488355327 (2^47 - 1)"), std::string::npos) << message;
  EXPECT_NE(message.find("Options::wide"), std::string::npos) << message;
}

TEST_F(GeneratorTest, Warm_LeasesForAllSectionsInOneCall) {
  options_.executor = nullptr;
  std::atomic<int> first_uses = 0;
  options_.on_event = [&](const GeneratorEvent& event) {
    if (event.kind == GeneratorEvent::Kind::kLeased && event.ranges.size() != event.sections) {
      ADD_FAILURE() << "ranges are missing";
    }
    first_uses += event.kind == GeneratorEvent::Kind::kFirstUse;
  };
  auto generator = Make();
  ASSERT_TRUE(generator->Warm(absl::Seconds(60)).ok());
  for (uint32_t gene = 0; gene < 65536; gene += 256) {
    ASSERT_TRUE(generator->TryNext(ShardGene::FromUint16(static_cast<uint16_t>(gene))).ok());
  }
  GeneratorStats stats = generator->Stats();
  EXPECT_GE(stats.leases, 256u);
  EXPECT_LE(stats.store_calls, 3u) << "the second one is for what comes next";
  EXPECT_EQ(stats.waits, 1u) << "only Warm itself waited";
  EXPECT_EQ(stats.first_uses, 0u);
  EXPECT_EQ(stats.starved, 0u);
  EXPECT_EQ(first_uses, 0);
  EXPECT_EQ(stats.ids, 256u);
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration()).ok()) << "all have a segment";
}

// One call to a store asks for 1,024 sections at most.
TEST_F(GeneratorTest, WarmOfMoreSectionsThanACallTakes_GoesOnAtOnce) {
  options_.space_options = SpaceOptions{.section_size = 32};
  auto generator = Make();
  EXPECT_FALSE(generator->Warm(absl::ZeroDuration()).ok());
  // Time stands still: nothing that is due later runs.
  executor_.RunReady();
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration()).ok());
  for (uint32_t gene = 0; gene < 65536; gene += 32) {
    ASSERT_TRUE(generator->TryNext(ShardGene::FromUint16(static_cast<uint16_t>(gene))).ok())
        << gene;
  }
}

TEST_F(GeneratorTest, WarmForBuyers_LeasesForTheirSectionsOnly) {
  auto generator = Make();
  std::vector<BuyerKey> buyers = {kBuyer};
  EXPECT_TRUE(absl::IsDeadlineExceeded(generator->Warm(absl::ZeroDuration(), buyers)));
  executor_.RunReady();
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration(), buyers).ok());
  EXPECT_TRUE(generator->TryNext(kBuyer).ok());
  EXPECT_LE(generator->Stats().leases, 2u);
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration(), std::span<const BuyerKey>()).ok());
}

TEST_F(GeneratorTest, WarmOnADeadStore_SaysWhy) {
  auto generator = Make();
  store_->FailWith(absl::UnavailableError("connection refused"));
  EXPECT_FALSE(generator->Warm(absl::ZeroDuration()).ok());
  executor_.RunReady();
  absl::Status status = generator->Warm(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(status.message(), "connection refused");
}

TEST_F(GeneratorTest, FirstUse_IsNotStarving) {
  std::vector<GeneratorEvent::Kind> kinds;
  std::vector<GeneratorEvent::Range> ranges;
  options_.on_event = [&](const GeneratorEvent& event) {
    kinds.push_back(event.kind);
    ranges.insert(ranges.end(), event.ranges.begin(), event.ranges.end());
  };
  auto generator = Make();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(generator->TryNext(kBuyer).ok());
  executor_.RunReady();
  OrderId id = generator->TryNext(kBuyer).value();
  GeneratorStats stats = generator->Stats();
  EXPECT_EQ(stats.first_uses, 1u);
  EXPECT_EQ(stats.starved, 0u);
  EXPECT_EQ(stats.ids, 1u);
  ASSERT_GE(kinds.size(), 2u);
  EXPECT_EQ(kinds[0], GeneratorEvent::Kind::kFirstUse);
  EXPECT_EQ(kinds[1], GeneratorEvent::Kind::kLeased);
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges[0].section, id.gene().value() / 256);
  EXPECT_EQ(ranges[0].segment.first, id.sequence());
}

TEST_F(GeneratorTest, Stats_CountEveryIdAcrossSegments) {
  auto generator = Make();
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) Take(*generator, BuyerKey::Uint64(random() % 40));
  GeneratorStats stats = generator->Stats();
  EXPECT_EQ(stats.ids, 20000u);
  EXPECT_GT(stats.leases, 10u);
  EXPECT_EQ(stats.lease_latency.total(), stats.store_calls);
  EXPECT_EQ(stats.stores[0].lease_latency.total(), stats.store_calls);
}

TEST_F(GeneratorTest, Stats_ShowHowFarTheStoresClockIsAhead) {
  ManualClock ahead(clock_.Now() + absl::Seconds(20));
  options_.clock = &clock_;
  store_ = std::make_shared<FaultySegmentStore>(ahead);
  auto generator = Make();
  Take(*generator, kBuyer);
  absl::Duration offset = generator->Stats().clock_offset;
  EXPECT_GT(offset, absl::Seconds(19));
  EXPECT_LT(offset, absl::Seconds(21));
}

}  // namespace
}  // namespace locus
