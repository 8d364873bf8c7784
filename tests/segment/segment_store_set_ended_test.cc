// SPDX-License-Identifier: Apache-2.0
// Layouts that a later one ended, and what must not bring them back.
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"
#include "locus/segment_store_set.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {
namespace {

using Earlier = SegmentStoreSet::Earlier;

class SegmentStoreSetEndedTest : public ::testing::Test {
 protected:
  SegmentStoreSetEndedTest() {
    for (int i = 0; i < 4; ++i) stores_.push_back(std::make_shared<MemorySegmentStore>(clock_));
  }
  SegmentStoreSet Set(uint32_t layout, std::vector<size_t> members) {
    std::vector<SegmentStoreSet::Member> named;
    for (size_t i : members) {
      bool last = named.size() + 1 == members.size();
      auto end = static_cast<uint16_t>(last ? 255 : 256 * (named.size() + 1) / members.size() - 1);
      named.push_back({end, stores_[i], std::string(1, static_cast<char>('a' + i))});
    }
    return SegmentStoreSet::Create(named, layout).value();
  }
  absl::Status Establish(const SegmentStoreSet& set, Earlier earlier,
                         std::span<const std::shared_ptr<SegmentStore>> retired = {}) {
    return set.Establish(space_, SpaceOptions(), clock_.Now(), earlier, retired);
  }
  // Layout 2 in stores 0 and 1 has followed layout 1 in stores 0 to 2.
  void Replace() {
    ASSERT_TRUE(Establish(Set(1, {0, 1, 2}), Earlier::kNothingInUse).ok());
    std::vector<std::shared_ptr<SegmentStore>> retired = {stores_[2]};
    ASSERT_TRUE(Establish(Set(2, {0, 1}), Earlier::kEndEarlier, retired).ok());
  }
  void ExpectOver(const SegmentStoreSet& set) {
    for (Earlier earlier : {Earlier::kNothingInUse, Earlier::kEndEarlier}) {
      absl::Status status = Establish(set, earlier);
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    }
    OrderIdGenerator::Options options;
    options.clock = &clock_;
    options.create_space = true;
    EXPECT_FALSE(OrderIdGenerator::Create(set, options).ok());
  }

  fakes::ManualClock clock_;
  std::vector<std::shared_ptr<MemorySegmentStore>> stores_;
  SpaceName space_;
};

TEST_F(SegmentStoreSetEndedTest, RetiredMemberLostEverything_DoesNotBringItsLayoutBack) {
  Replace();
  stores_[2] = std::make_shared<MemorySegmentStore>(clock_);
  ExpectOver(Set(1, {0, 1, 2}));
}

TEST_F(SegmentStoreSetEndedTest, NewStoreBesideAMemberOfALaterLayout_IsRefused) {
  Replace();
  ExpectOver(Set(1, {3, 1, 2}));
  stores_[2] = std::make_shared<MemorySegmentStore>(clock_);
  ASSERT_TRUE(Establish(Set(4, {0, 1}), Earlier::kEndEarlier).ok());
  ExpectOver(Set(3, {0, 2}));
}

// --- Layouts that were not established in all their stores ---

// Answers nothing while it is `dead`; creates nothing while it is `full`.
class Server : public MemorySegmentStore {
 public:
  using MemorySegmentStore::MemorySegmentStore;
  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time now) override {
    if (full && space.str() == "orders-map1") return absl::UnavailableError("full");
    return MemorySegmentStore::Create(space, options, now);
  }
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    if (dead) return absl::UnavailableError("dead");
    return MemorySegmentStore::ReadOptions(space);
  }
  bool dead = false;
  bool full = false;
};

TEST_F(SegmentStoreSetEndedTest, EstablishCutOffAndAStoreDead_TheOthersDoNotBeginWithoutIt) {
  auto server = std::make_shared<Server>(clock_);
  stores_[1] = server;
  server->full = true;
  ASSERT_FALSE(Establish(Set(1, {0, 1}), Earlier::kNothingInUse).ok());
  server->dead = true;
  OrderIdGenerator::Options options;
  options.clock = &clock_;
  EXPECT_FALSE(OrderIdGenerator::Create(Set(1, {0, 1}), options).ok());
  // It would repeat IDs: under this number the same sections may be given to other stores.
  server->dead = server->full = false;
  EXPECT_TRUE(Establish(Set(1, {3, 1}), Earlier::kNothingInUse).ok());
  server->dead = true;
  EXPECT_FALSE(OrderIdGenerator::Create(Set(1, {0, 1}), options).ok());
  EXPECT_TRUE(OrderIdGenerator::Create(Set(1, {3, 1}), options).ok());
}

TEST_F(SegmentStoreSetEndedTest, EmptyMemberNotEstablishedAgainToTheEnd_AllocatesNothing) {
  fakes::ManualExecutor executor;
  OrderIdGenerator::Options options;
  options.clock = &clock_;
  options.executor = &executor;
  auto empty = stores_[0]->TakeBackup();
  ASSERT_TRUE(Establish(Set(1, {0}), Earlier::kNothingInUse).ok());
  auto generator = OrderIdGenerator::Create(Set(1, {0}), options).value();
  auto take = [&] {
    absl::StatusOr<OrderId> id;
    for (int i = 0; i < 20; ++i) {
      id = generator->TryNext(BuyerKey::Uint64(1));
      if (id.ok()) return true;
      executor.RunReady();
      clock_.Advance(absl::Seconds(10));
      executor.RunDelayed();
    }
    return false;
  };
  stores_[0]->PutBack(*empty, MemorySegmentStore::Rewind::kNewIdentity);
  EXPECT_FALSE(take());
  // The state after an interrupted Establish: the space exists, but is not yet above the earlier
  // allocations.
  SpaceName stored = Set(1, {0}).StoredSpace(space_).value();
  ASSERT_TRUE(stores_[0]->Create(stored, SpaceOptions(), clock_.Now()).ok());
  EXPECT_FALSE(take());
  ASSERT_TRUE(Establish(Set(1, {0}), Earlier::kNothingInUse).ok());
  EXPECT_TRUE(take());
}

// Another handle of the same store.
class Alias : public SegmentStore {
 public:
  explicit Alias(std::shared_ptr<SegmentStore> store) : store_(std::move(store)) {}
  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time now) override {
    return store_->Create(space, options, now);
  }
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    return store_->ReadOptions(space);
  }
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time now) override {
    return store_->Allocate(space, options, requests, now);
  }
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time now) override {
    return store_->Show(space, now);
  }
  absl::Status DeclareRestored(const SpaceName& space, absl::Time now) override {
    return store_->DeclareRestored(space, now);
  }
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time now) override {
    return store_->Raise(space, to, reach, now);
  }

 private:
  const std::shared_ptr<SegmentStore> store_;
};

TEST_F(SegmentStoreSetEndedTest, SameStoreTwice_IsRefusedBeforeAnythingEnds) {
  ASSERT_TRUE(stores_[0]->Create(space_, SpaceOptions(), clock_.Now()).ok());
  auto set = SegmentStoreSet::Create(
                 {{127, stores_[0], "a"}, {255, std::make_shared<Alias>(stores_[0]), "b"}})
                 .value();
  absl::Status status = set.Establish(space_, SpaceOptions(), clock_.Now(), Earlier::kEndEarlier);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_LT(stores_[0]->Show(space_, clock_.Now())->base, (uint64_t{1} << 56) - 1)
      << "its users continue";
}

TEST_F(SegmentStoreSetEndedTest, EndedInAllItsStores_IsFoundAsItIs) {
  Replace();
  EXPECT_TRUE(Establish(Set(1, {0, 1, 2}), Earlier::kNothingInUse).ok());
}

}  // namespace
}  // namespace locus
