// SPDX-License-Identifier: Apache-2.0
// Sequences that are used up: of a vnode, of a section's lead, of a space.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "tests/generator/generator_fixture.h"

namespace locus {
namespace {

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
  EXPECT_EQ(store_->calls(), calls) << "nothing more is allocated";
}

TEST_F(GeneratorTest, NarrowSequencesUsedUp_ContinueWideWhenAsked) {
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
  EXPECT_NE(std::count(events.begin(), events.end(), GeneratorEvent::Kind::kAllocated), 0);
  EXPECT_NE(std::count(events.begin(), events.end(), GeneratorEvent::Kind::kStarved), 0);
}

// A space that is new, or noticed a loss, has its base above the floor: until time has reached it,
// what is used up does not come back.
TEST_F(GeneratorTest, HeadroomBelowBase_GrowsOnlyOnceTheFloorIsThere) {
  SpaceOptions space;
  space.max_lead = 8192;  // 0.5 s
  options_.space_options = space;
  auto generator = Make();
  int taken = 0;
  for (int misses = 0; misses < 100;) {
    if (generator->TryNext(kBuyer).ok()) {
      ++taken;
      continue;
    }
    ++misses;
    executor_.RunReady();
    clock_.Advance(absl::Milliseconds(10));
    executor_.RunDelayed();
  }
  EXPECT_GE(taken, 7000);
  EXPECT_LE(taken, 8192);
  EXPECT_LT(generator->Stats().stores[0].headroom, 0.02);
  clock_.Advance(absl::Seconds(60));
  EXPECT_LT(generator->Stats().stores[0].headroom, 0.02);
  clock_.Advance(absl::Seconds(61));
  EXPECT_EQ(generator->Stats().stores[0].headroom, 1);
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

TEST_F(GeneratorTest, NextPastTheLastSequence_NamesTheVnodeAndTheLimit) {
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

}  // namespace
}  // namespace locus
