// SPDX-License-Identifier: Apache-2.0
// Warm, first use, and what Stats counts.
#include <atomic>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "tests/generator/generator_fixture.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;
using fakes::ManualClock;

TEST_F(GeneratorTest, Warm_AllocatesForAllSectionsInOneCall) {
  options_.executor = nullptr;
  std::atomic<int> first_uses = 0;
  options_.on_event = [&](const GeneratorEvent& event) {
    if (event.kind == GeneratorEvent::Kind::kAllocated && event.ranges.size() != event.sections) {
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
  EXPECT_GE(stats.allocations, 256u);
  EXPECT_LE(stats.store_calls, 3u) << "the second one is for the next sequences";
  EXPECT_EQ(stats.waits, 1u) << "only Warm itself waited";
  EXPECT_EQ(stats.first_uses, 0u);
  EXPECT_EQ(stats.starved, 0u);
  EXPECT_EQ(first_uses, 0);
  EXPECT_EQ(stats.ids, 256u);
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration()).ok()) << "all have a segment";
}

// One call to a store asks for 1,024 sections at most.
TEST_F(GeneratorTest, WarmOfMoreSectionsThanACallTakes_ContinuesAtOnce) {
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

TEST_F(GeneratorTest, WarmForBuyers_AllocatesForTheirSectionsOnly) {
  auto generator = Make();
  std::vector<BuyerKey> buyers = {kBuyer};
  EXPECT_TRUE(absl::IsDeadlineExceeded(generator->Warm(absl::ZeroDuration(), buyers)));
  executor_.RunReady();
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration(), buyers).ok());
  EXPECT_TRUE(generator->TryNext(kBuyer).ok());
  EXPECT_LE(generator->Stats().allocations, 2u);
  EXPECT_TRUE(generator->Warm(absl::ZeroDuration(), std::span<const BuyerKey>()).ok());
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
  EXPECT_EQ(kinds[1], GeneratorEvent::Kind::kAllocated);
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
  EXPECT_GT(stats.allocations, 10u);
  EXPECT_EQ(stats.store_latency.total(), stats.store_calls);
  EXPECT_EQ(stats.stores[0].store_latency.total(), stats.store_calls);
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
