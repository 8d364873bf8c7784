// SPDX-License-Identifier: Apache-2.0
// The store loses a space, and an operator creates it again with other options while generators
// run.
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;
using fakes::ManualClock;
using fakes::ManualExecutor;

constexpr int kBuyers = 40;
constexpr uint32_t kSmallSection = 64;

class SpaceCreatedAgainTest : public ::testing::Test {
 protected:
  SpaceCreatedAgainTest() : store_(std::make_shared<FaultySegmentStore>(clock_)) {
    store_->Remember();  // empty
  }

  std::unique_ptr<OrderIdGenerator> Make(const SpaceOptions& space) {
    OrderIdGenerator::Options options;
    options.clock = &clock_;
    options.executor = &executor_;
    options.create_space = true;
    options.space_options = space;
    return OrderIdGenerator::Create(store_, options).value();
  }
  // Takes one ID, running the loader where needed; the status with which it ends.
  absl::Status Take(OrderIdGenerator& generator, BuyerKey buyer) {
    for (int i = 0; i < 100; ++i) {
      absl::StatusOr<OrderId> id = generator.TryNext(buyer);
      if (id.ok()) {
        EXPECT_TRUE(ids_.insert(*id).second) << *id << " was handed out twice";
        return absl::OkStatus();
      }
      if (!absl::IsUnavailable(id.status())) return id.status();
      executor_.RunReady();
      clock_.Advance(absl::Milliseconds(10));
      executor_.RunDelayed();
    }
    return absl::DeadlineExceededError("no ID after 100 attempts");
  }
  BuyerKey RandomBuyer() { return BuyerKey::Uint64(random_() % kBuyers); }

  ManualClock clock_;
  ManualExecutor executor_;
  std::shared_ptr<FaultySegmentStore> store_;
  std::mt19937_64 random_{7};
  std::set<OrderId> ids_;
};

TEST_F(SpaceCreatedAgainTest, OtherOptionsUnderRunningGenerators_NoIdTwice) {
  for (auto change : std::vector<std::function<void(SpaceOptions&)>>{
           [](SpaceOptions& o) { o.section_size = kSmallSection; },
           [](SpaceOptions& o) { o.section_size = 1024; },
           [](SpaceOptions& o) { o.floor_rate *= 2; }, [](SpaceOptions& o) { o.max_lead *= 2; }}) {
    SpaceOptions before, after;
    change(after);
    store_->PutBack(MemorySegmentStore::Rewind::kNewIdentity);
    clock_.Advance(absl::Hours(2));  // the floor has passed the last base
    auto old_one = Make(before);
    for (int i = 0; i < 5000; ++i) ASSERT_TRUE(Take(*old_one, RandomBuyer()).ok());
    clock_.Advance(absl::Hours(2));

    store_->PutBack(MemorySegmentStore::Rewind::kNewIdentity);
    auto new_one = Make(after);
    absl::Status refused;
    for (int i = 0; i < 200000 && refused.ok(); ++i) {
      BuyerKey buyer = RandomBuyer();
      ASSERT_TRUE(Take(*new_one, buyer).ok());
      refused = Take(*old_one, buyer);
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_NE(old_one->Stats().last_store_error.message().find("created again"),
              absl::string_view::npos);
    // A process that is started now takes the space as it is.
    auto restarted = Make(after);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Take(*restarted, RandomBuyer()).ok());
  }
  std::cout << ids_.size() << " order IDs\n";
}

}  // namespace
}  // namespace locus
