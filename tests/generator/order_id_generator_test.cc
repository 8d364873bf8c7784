// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id_generator.h"

#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "src/order/gene_lanes.h"
#include "tests/generator/generator_fixture.h"
#include "tests/generator/naive_generator.h"

namespace locus {
namespace {

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
  EXPECT_LT(stats.allocations, 40u);
  EXPECT_GT(stats.allocations, 4u);
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

// However many keys are hashed at once, which is chosen by measuring.
class GeneratorBatchTest : public GeneratorTest,
                           public ::testing::WithParamInterface<internal::GeneLanes> {
 protected:
  GeneratorBatchTest() { internal::UseGeneLanes(GetParam()); }
  ~GeneratorBatchTest() override { internal::UseGeneLanes(before_); }

 private:
  const internal::GeneLanes before_ = internal::GeneLanesInUse();
};
INSTANTIATE_TEST_SUITE_P(Lanes, GeneratorBatchTest,
                         ::testing::Values(internal::GeneLanes::kOne, internal::GeneLanes::kFour,
                                           internal::GeneLanes::kEight));

TEST_P(GeneratorBatchTest, FillsFromTheFrontAndSaysHowMany) {
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

TEST_F(GeneratorTest, BatchInBraces_IsOfBuyersAndMayBeEmpty) {
  auto generator = Make();
  EXPECT_EQ(generator->NextBatch({}, {}).value(), 0u);
  EXPECT_EQ(generator->NextBatch({}, {}, Soon()).value(), 0u);
  EXPECT_EQ(generator->NextBatch({}, {}, absl::Seconds(1)).value(), 0u);

  BuyerKey other = BuyerKey::Text("another buyer");
  Take(*generator, kBuyer);
  Take(*generator, other);
  OrderId ids[2];
  ASSERT_EQ(generator->NextBatch({kBuyer, other}, ids).value(), 2u);
  EXPECT_EQ(ids[0].gene(), ShardGene::Of(kBuyer));
  EXPECT_EQ(ids[1].gene(), ShardGene::Of(other));
  ASSERT_EQ(generator->NextBatch({other}, ids, absl::Seconds(1)).value(), 1u);
  EXPECT_EQ(ids[0].gene(), ShardGene::Of(other));
  ASSERT_EQ(generator->NextBatch({kBuyer, other}, ids, Soon()).value(), 2u);
  EXPECT_TRUE(absl::IsInvalidArgument(
      generator->NextBatch({kBuyer, other}, std::span(ids).first(1)).status()));
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

// The rate of the fastest vnode is not the rate of its section.
TEST_F(GeneratorTest, SlowVnodeContinues_AfterTheFastestHasStopped) {
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

TEST_F(GeneratorTest, WarmOnADeadStore_SaysWhy) {
  auto generator = Make();
  store_->FailWith(absl::UnavailableError("connection refused"));
  EXPECT_FALSE(generator->Warm(absl::ZeroDuration()).ok());
  executor_.RunReady();
  absl::Status status = generator->Warm(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(status.message(), "connection refused");
}

}  // namespace
}  // namespace locus
