// SPDX-License-Identifier: Apache-2.0
// How layouts of stores follow each other.
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "tests/segment/segment_store_set_fixture.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;
using Earlier = SegmentStoreSet::Earlier;

constexpr uint64_t kEnded = (uint64_t{1} << 56) - 1;

TEST_F(SegmentStoreSetTest, StoreUsedAloneBecomesASet_NothingRepeatsAndTheOldOneEnds) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  ASSERT_TRUE(TakeAll(*alone));
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  auto set = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*set));
  absl::StatusOr<OrderId> id;
  while ((id = TryTake(*alone, BuyerOf(150))).ok()) {
    ASSERT_TRUE(ids_.insert(*id).second) << "the rest of its segment";
  }
  EXPECT_TRUE(absl::IsOutOfRange(id.status())) << id.status();
  EXPECT_TRUE(TakeAll(*set));
}

TEST_F(SegmentStoreSetTest, SpaceRaisedFarAboveTheFloor_TheSetStartsAboveIt) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  uint64_t high = uint64_t{1} << 46;
  ASSERT_TRUE(stores_[0]->Raise(space_, high, RaiseReach::kAnywhere, clock_.Now()).ok());
  ASSERT_TRUE(TakeAll(*alone));
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  auto set = Open(Thirds()).value();
  EXPECT_TRUE(TakeAll(*set));
  EXPECT_GT(BaseOf(1, "orders-set1"), high);
}

TEST_F(SegmentStoreSetTest, SectionsMoveToOtherStores_NothingRepeats) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto first = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*first));
  std::vector<std::shared_ptr<SegmentStore>> retired = {stores_[2]};
  ASSERT_TRUE(Establish(Halves(2), Earlier::kEndEarlier, retired).ok());
  auto second = Open(Halves(2)).value();
  ASSERT_TRUE(TakeAll(*second));
  for (size_t i = 0; i < 3; ++i) EXPECT_GE(BaseOf(i, "orders-set1"), kEnded);
  for (uint32_t section = 0; section < 256; section += 5) {
    absl::StatusOr<OrderId> id;
    while ((id = TryTake(*first, BuyerOf(section))).ok()) {
      ASSERT_TRUE(ids_.insert(*id).second) << "the rest of its segment";
    }
    ASSERT_TRUE(absl::IsOutOfRange(id.status())) << id.status();
  }
  EXPECT_TRUE(TakeAll(*second));
  EXPECT_TRUE(Establish(Thirds(1)).ok()) << "an old layout is found, and stays ended";
  EXPECT_TRUE(absl::IsOutOfRange(TryTake(*Open(Thirds(1)).value(), BuyerOf(0)).status()));
}

TEST_F(SegmentStoreSetTest, StoreLostForGood_ItsSectionsContinueElsewhereWithoutARepeat) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto first = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*first));
  // stores_[2] never answers again: it is neither a member nor retired.
  ASSERT_TRUE(Establish(Halves(2), Earlier::kEndEarlier).ok());
  auto second = Open(Halves(2)).value();
  EXPECT_TRUE(TakeAll(*second));
}

// The case that docs/run/operations.md warns of.
TEST_F(SegmentStoreSetTest, StoreInUseThatIsNeitherMemberNorRetired_MayRepeat) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto first = Open(Thirds()).value();
  ASSERT_TRUE(Establish(Halves(2), Earlier::kEndEarlier).ok());
  auto second = Open(Halves(2)).value();
  EXPECT_TRUE(RepeatWithinDays(*first, *second, 250));
}

TEST_F(SegmentStoreSetTest, MemberPutBackToBeforeTheLayoutUnderAnEarlierProcess_MayRepeat) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  ASSERT_TRUE(TakeAll(*alone, 3));
  stores_[0]->Remember();
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  auto set = Open(Thirds()).value();
  stores_[0]->PutBack(MemorySegmentStore::Rewind::kNewIdentity);
  EXPECT_TRUE(RepeatWithinDays(*alone, *set, 150));
}

TEST_F(SegmentStoreSetTest, MemberPutBackToBeforeTheLayout_EstablishedAgainEndsTheEarlierOne) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  ASSERT_TRUE(TakeAll(*alone, 3));
  stores_[0]->Remember();
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  ASSERT_TRUE(TakeAll(*Open(Thirds()).value(), 3));
  stores_[0]->PutBack(MemorySegmentStore::Rewind::kNewIdentity);
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  EXPECT_TRUE(TakeAll(*Open(Thirds()).value(), 100));
  EXPECT_GE(BaseOf(0, "orders"), kEnded);
}

TEST_F(SegmentStoreSetTest, MemberThatLostEverything_IsRefusedUntilEstablishedAgain) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  stores_[1]->Remember();
  auto empty = std::make_shared<FaultySegmentStore>(clock_);
  auto generator = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*generator));
  generator.reset();
  stores_[1] = empty;
  EXPECT_TRUE(absl::IsNotFound(Open(Thirds()).status()));
  ASSERT_TRUE(Establish(Thirds()).ok());
  generator = Open(Thirds()).value();
  EXPECT_TRUE(TakeAll(*generator));
}

// Fails at each of its calls in turn: the next attempt finishes, and nothing repeats.
TEST_F(SegmentStoreSetTest, EstablishInterruptedAnywhere_IsFinishedByTheNext) {
  class Failing : public MemorySegmentStore {
   public:
    Failing(Clock& clock, int& left) : MemorySegmentStore(clock), left_(left) {}
    absl::Status Create(const SpaceName& s, const SpaceOptions& o, absl::Time now) override {
      return left_-- > 0 ? MemorySegmentStore::Create(s, o, now) : absl::UnavailableError("cut");
    }
    absl::StatusOr<BaseRaise> Raise(const SpaceName& s, uint64_t to, RaiseReach reach,
                                    absl::Time now) override {
      if (left_-- > 0) return MemorySegmentStore::Raise(s, to, reach, now);
      return absl::UnavailableError("cut");
    }

   private:
    int& left_;
  };
  bool finished = false;
  for (int cut = 0; !finished; ++cut) {
    ASSERT_LT(cut, 100);
    ids_.clear();
    int left = 1 << 20;
    auto one = std::make_shared<Failing>(clock_, left);
    auto two = std::make_shared<Failing>(clock_, left);
    options_.create_space = true;
    auto alone = OrderIdGenerator::Create(one, options_).value();
    options_.create_space = false;
    ASSERT_TRUE(one->Raise(space_, uint64_t{1} << 46, RaiseReach::kAnywhere, clock_.Now()).ok());
    ASSERT_TRUE(TakeAll(*alone, 3));
    auto set = SegmentStoreSet::Create({{127, one, "a"}, {255, two, "b"}}).value();
    left = cut;
    finished = Establish(set, Earlier::kEndEarlier).ok();
    left = 1 << 20;
    if (!finished) {
      EXPECT_TRUE(absl::IsNotFound(Open(set).status())) << "not usable yet";
    }
    for (int i = 0; i < 70; ++i) {
      auto id = TryTake(*alone, BuyerOf(200));
      if (id.ok()) {
        ASSERT_TRUE(ids_.insert(*id).second);
      }
    }
    ASSERT_TRUE(Establish(set, Earlier::kEndEarlier).ok());
    auto generator = Open(set).value();
    ASSERT_TRUE(TakeAll(*generator, 3)) << "cut after " << cut;
    EXPECT_TRUE(absl::IsOutOfRange(TryTake(*alone, BuyerOf(1)).status()));
  }
}

}  // namespace
}  // namespace locus
