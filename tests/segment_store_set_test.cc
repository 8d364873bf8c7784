// SPDX-License-Identifier: Apache-2.0
#include "locus/segment_store_set.h"

#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/sqlite_fixture.h"

namespace locus {
namespace {

using testing::FaultySegmentStore;
using testing::ManualClock;
using testing::ManualExecutor;
using Earlier = SegmentStoreSet::Earlier;
using Member = SegmentStoreSet::Member;

constexpr uint64_t kEnded = (uint64_t{1} << 56) - 1;

// A buyer of each section, with the default sections of 256 vnodes.
BuyerKey BuyerOf(uint32_t section) {
  static const std::vector<BuyerKey> buyers = [] {
    std::vector<BuyerKey> found(256, BuyerKey::Uint64(0));
    std::set<uint32_t> missing;
    for (uint32_t i = 0; i < 256; ++i) missing.insert(i);
    for (uint64_t key = 0; !missing.empty(); ++key) {
      BuyerKey buyer = BuyerKey::Uint64(key);
      uint32_t of = ShardGene::Of(buyer).value() / 256u;
      if (missing.erase(of) > 0) found[of] = buyer;
    }
    return found;
  }();
  return buyers[section];
}

class SegmentStoreSetTest : public ::testing::Test {
 protected:
  SegmentStoreSetTest() {
    options_.clock = &clock_;
    options_.executor = &executor_;
    for (int i = 0; i < 4; ++i) stores_.push_back(std::make_shared<FaultySegmentStore>(clock_));
  }

  // Sections 0-99 in the first, 100-199 in the second, the rest in the third.
  SegmentStoreSet Thirds(uint32_t layout = 1) {
    return SegmentStoreSet::Create(
               {{99, stores_[0], "a"}, {199, stores_[1], "b"}, {255, stores_[2], "c"}}, layout)
        .value();
  }
  // The first two alone, elsewhere divided.
  SegmentStoreSet Halves(uint32_t layout) {
    return SegmentStoreSet::Create({{150, stores_[0], "a"}, {255, stores_[1], "b"}}, layout)
        .value();
  }
  absl::Status Establish(const SegmentStoreSet& set, Earlier earlier = Earlier::kNothingInUse,
                         std::span<const std::shared_ptr<SegmentStore>> retired = {}) {
    return set.Establish(space_, SpaceOptions(), clock_.Now(), earlier, retired);
  }
  absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Open(const SegmentStoreSet& set) {
    return OrderIdGenerator::Create(set, options_);
  }
  std::unique_ptr<OrderIdGenerator> OpenAlone(size_t store) {
    return OrderIdGenerator::Create(stores_[store], options_).value();
  }
  void PassTime(absl::Duration by = absl::Milliseconds(10)) {
    executor_.RunReady();
    clock_.Advance(by);
    executor_.RunDelayed();
  }
  absl::StatusOr<OrderId> TryTake(OrderIdGenerator& generator, BuyerKey buyer) {
    absl::StatusOr<OrderId> id;
    for (int i = 0; i < 100; ++i) {
      id = generator.TryNext(buyer);
      if (!absl::IsUnavailable(id.status())) return id;
      PassTime();
    }
    return id;
  }
  // Takes `count` of each of some sections; false: an ID came twice, or none did.
  ::testing::AssertionResult TakeAll(OrderIdGenerator& generator, int count = 200) {
    for (uint32_t section = 0; section < 256; section += 5) {
      for (int i = 0; i < count; ++i) {
        absl::StatusOr<OrderId> id = TryTake(generator, BuyerOf(section));
        if (!id.ok()) return ::testing::AssertionFailure() << section << ": " << id.status();
        if (!ids_.insert(*id).second) return ::testing::AssertionFailure() << *id << " twice";
      }
    }
    return ::testing::AssertionSuccess();
  }
  // Takes of a section in both for some days; whether an ID came twice.
  bool RepeatWithinDays(OrderIdGenerator& one, OrderIdGenerator& other, uint32_t section) {
    bool repeated = false;
    for (int day = 0; day < 3; ++day) {
      for (int i = 0; i < 1000; ++i) {
        repeated |= !ids_.insert(TryTake(one, BuyerOf(section)).value()).second;
        repeated |= !ids_.insert(TryTake(other, BuyerOf(section)).value()).second;
      }
      for (int hour = 0; hour < 24; ++hour) PassTime(absl::Hours(1));
    }
    return repeated;
  }
  uint64_t BaseOf(size_t store, const char* space) {
    return stores_[store]->Show(SpaceName::Parse(space).value(), clock_.Now())->base;
  }

  ManualClock clock_;
  ManualExecutor executor_;
  std::vector<std::shared_ptr<FaultySegmentStore>> stores_;
  OrderIdGenerator::Options options_;
  SpaceName space_;
  std::set<OrderId> ids_;
};

TEST_F(SegmentStoreSetTest, EachSection_IsLeasedFromItsStore) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto generator = Open(Thirds()).value();
  EXPECT_TRUE(TakeAll(*generator, 3));
  SpaceName stored = Thirds().StoredSpace(space_).value();
  EXPECT_EQ(stored.str(), "orders-set1");
  std::vector<std::pair<uint32_t, uint32_t>> ranges = {{0, 99}, {100, 199}, {200, 255}};
  for (size_t i = 0; i < 3; ++i) {
    SpaceView view = stores_[i]->Show(stored, clock_.Now()).value();
    EXPECT_FALSE(view.sections.empty());
    for (const auto& section : view.sections) {
      EXPECT_GE(section.section, ranges[i].first);
      EXPECT_LE(section.section, ranges[i].second);
    }
  }
}

TEST_F(SegmentStoreSetTest, Stats_AreKeptForEachStore) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto generator = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*generator, 3));
  stores_[1]->FailWith(absl::UnavailableError("no route"));
  ASSERT_FALSE(TryTake(*generator, BuyerOf(101)).ok());
  GeneratorStats stats = generator->Stats();
  ASSERT_EQ(stats.stores.size(), 3u);
  EXPECT_EQ(stats.stores[1].name, "b");
  EXPECT_EQ(stats.stores[1].first_section, 100u);
  EXPECT_EQ(stats.stores[1].last_section, 199u);
  EXPECT_EQ(stats.stores[1].last_error.message(), "no route");
  EXPECT_GT(stats.stores[1].store_failures, 0u);
  for (size_t i : {0, 2}) {
    EXPECT_TRUE(stats.stores[i].last_error.ok());
    EXPECT_EQ(stats.stores[i].store_failures, 0u);
    EXPECT_GT(stats.stores[i].leases, 0u);
  }
  EXPECT_EQ(stats.leases, stats.stores[0].leases + stats.stores[1].leases + stats.stores[2].leases);
  EXPECT_EQ(stats.last_store_error.message(), "no route");
}

// --- A store fails ---

TEST_F(SegmentStoreSetTest, DeadStore_StopsItsSectionsOnlyAndRecovers) {
  std::vector<std::string> failed;
  options_.on_event = [&](const GeneratorEvent& event) {
    if (event.kind == GeneratorEvent::Kind::kStoreFailed) failed.push_back(event.store);
  };
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto generator = Open(Thirds()).value();
  stores_[1]->FailWith(absl::UnavailableError("dead"));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(TryTake(*generator, BuyerOf(99)).ok());
    ASSERT_TRUE(TryTake(*generator, BuyerOf(200)).ok());
    ASSERT_TRUE(absl::IsUnavailable(generator->TryNext(BuyerOf(100)).status()));
    ASSERT_TRUE(absl::IsUnavailable(generator->TryNext(BuyerOf(199)).status()));
  }
  absl::Status status = generator->Next(BuyerOf(100), std::chrono::steady_clock::now()).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_EQ(status.message(), "store \"b\": dead");
  EXPECT_FALSE(failed.empty());
  EXPECT_EQ(std::set<std::string>(failed.begin(), failed.end()), (std::set<std::string>{"b"}));
  stores_[1]->Heal();
  PassTime(absl::Seconds(10));
  EXPECT_TRUE(TryTake(*generator, BuyerOf(100)).ok());
  EXPECT_TRUE(generator->Stats().last_store_error.ok());
}

TEST_F(SegmentStoreSetTest, StoreThatRefuses_IsToldToItsSectionsOnly) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto generator = Open(Thirds()).value();
  stores_[0]->FailWith(absl::FailedPreconditionError("read-only"));
  EXPECT_TRUE(absl::IsFailedPrecondition(TryTake(*generator, BuyerOf(0)).status()));
  absl::Status status = generator->Next(BuyerOf(0), std::chrono::steady_clock::now()).status();
  EXPECT_EQ(status.message(), "store \"a\": read-only");
  EXPECT_TRUE(TryTake(*generator, BuyerOf(100)).ok());
}

// A dead server answers nothing at all.
class Server : public FaultySegmentStore {
 public:
  explicit Server(Clock& clock) : FaultySegmentStore(clock) {}
  absl::StatusOr<SpaceOptions> Open(const SpaceName& space) override {
    if (dead) return absl::UnavailableError("dead");
    return FaultySegmentStore::Open(space);
  }
  bool dead = false;
};

TEST_F(SegmentStoreSetTest, StoreDeadAtTheStart_OthersServeAndItIsLookedAtLater) {
  auto server = std::make_shared<Server>(clock_);
  stores_[1] = server;
  ASSERT_TRUE(Establish(Thirds()).ok());
  server->dead = true;
  auto generator = Open(Thirds()).value();
  EXPECT_TRUE(TryTake(*generator, BuyerOf(0)).ok());
  EXPECT_TRUE(absl::IsUnavailable(TryTake(*generator, BuyerOf(100)).status()));
  EXPECT_EQ(server->calls(), 0) << "nothing is leased unseen";
  server->dead = false;
  PassTime(absl::Seconds(10));
  EXPECT_TRUE(TryTake(*generator, BuyerOf(100)).ok());
}

TEST_F(SegmentStoreSetTest, StoreDeadAtTheStartThatIsAnotherLayouts_IsRefusedOnceItAnswers) {
  auto server = std::make_shared<Server>(clock_);
  ASSERT_TRUE(Establish(SegmentStoreSet::Create({{255, server, "b"}}).value()).ok());
  server->dead = true;
  std::swap(stores_[1], stores_[3]);
  ASSERT_TRUE(Establish(Thirds()).ok());
  stores_[1].reset();
  auto wrong =
      SegmentStoreSet::Create({{99, stores_[0], "a"}, {199, server, "b"}, {255, stores_[2], "c"}})
          .value();
  auto generator = Open(wrong).value();
  server->dead = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryTake(*generator, BuyerOf(100)).status()));
  EXPECT_EQ(server->calls(), 0);
  EXPECT_TRUE(TryTake(*generator, BuyerOf(0)).ok());
}

TEST_F(SegmentStoreSetTest, AllStoresDeadAtTheStart_IsUnavailable) {
  class Dead : public MemorySegmentStore {
   public:
    absl::StatusOr<SpaceOptions> Open(const SpaceName&) override {
      return absl::UnavailableError("dead");
    }
  };
  auto set = SegmentStoreSet::Create({{255, std::make_shared<Dead>(), "a"}}).value();
  options_.create_space = true;
  EXPECT_TRUE(absl::IsUnavailable(Open(set).status()));
}

TEST_F(SegmentStoreSetTest, Batch_WakesEveryStoreItNeeds) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto generator = Open(Thirds()).value();
  std::vector<BuyerKey> buyers;
  for (uint32_t section = 0; section < 256; ++section) buyers.push_back(BuyerOf(section));
  std::vector<OrderId> ids(buyers.size());
  EXPECT_TRUE(absl::IsUnavailable(generator->NextBatch(buyers, ids).status()));
  executor_.RunReady();
  for (size_t i = 0; i < 3; ++i) EXPECT_LE(stores_[i]->calls(), 2);
  EXPECT_EQ(generator->NextBatch(buyers, ids).value(), buyers.size());
}

// --- Who may use what ---

TEST_F(SegmentStoreSetTest, OtherLayoutOfTheSameNumber_IsRefused) {
  ASSERT_TRUE(Establish(Thirds(1)).ok());
  auto c = [&](std::vector<Member> members) {
    return SegmentStoreSet::Create(std::move(members), 1).value();
  };
  for (const SegmentStoreSet& other :
       {Halves(1), c({{98, stores_[0], "a"}, {199, stores_[1], "b"}, {255, stores_[2], "c"}}),
        c({{99, stores_[1], "a"}, {199, stores_[0], "b"}, {255, stores_[2], "c"}}),
        c({{99, stores_[0], "A"}, {199, stores_[1], "b"}, {255, stores_[2], "c"}}),
        c({{99, stores_[0], "a"}, {199, stores_[3], "d"}, {255, stores_[2], "c"}}),
        c({{255, stores_[2], "c"}})}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Open(other).status()));
    for (Earlier earlier : {Earlier::kNothingInUse, Earlier::kEndEarlier}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(Establish(other, earlier)));
    }
  }
  auto generator = Open(Thirds(1)).value();
  EXPECT_TRUE(TakeAll(*generator, 3)) << "the refused ones changed nothing";
}

TEST_F(SegmentStoreSetTest, StoreOfASetUsedAlone_LeasesNothing) {
  options_.create_space = true;
  auto generator = Open(Thirds()).value();
  for (size_t i = 0; i < 3; ++i) {
    auto alone = OpenAlone(i);
    EXPECT_TRUE(absl::IsOutOfRange(TryTake(*alone, BuyerOf(0)).status()));
  }
  EXPECT_TRUE(TakeAll(*generator, 3));
}

TEST_F(SegmentStoreSetTest, CreateSpace_NeverEndsWhatIsInUse) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  ASSERT_TRUE(TakeAll(*alone, 100));
  absl::Status status = Open(Thirds()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(TakeAll(*alone, 1000)) << "goes on";
  auto set = Open(SegmentStoreSet::Create({{255, stores_[3], "d"}}).value()).value();
  ASSERT_TRUE(TryTake(*set, BuyerOf(0)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Open(SegmentStoreSet::Create({{255, stores_[3], "d"}}, 2).value()).status()));
}

TEST_F(SegmentStoreSetTest, MissingLayout_IsCreatedOnlyWhenAsked) {
  EXPECT_TRUE(absl::IsNotFound(Open(Thirds()).status()));
  options_.create_space = true;
  EXPECT_TRUE(Open(Thirds()).ok());
  options_.create_space = false;
  EXPECT_TRUE(Open(Thirds()).ok());
}

TEST_F(SegmentStoreSetTest, OptionsThatDiffer_AreRefused) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  SpaceOptions other;
  other.max_lead *= 2;
  options_.space_options = other;
  EXPECT_TRUE(absl::IsFailedPrecondition(Open(Thirds()).status()));
  other = SpaceOptions();
  other.section_size = 512;
  EXPECT_TRUE(absl::IsInvalidArgument(
      Thirds().Establish(space_, other, clock_.Now(), Earlier::kNothingInUse)));
}

// --- Layouts follow each other ---

TEST_F(SegmentStoreSetTest, StoreUsedAloneBecomesASet_NothingRepeatsAndTheOldOneEnds) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  ASSERT_TRUE(TakeAll(*alone));
  ASSERT_TRUE(Establish(Thirds(), Earlier::kEndEarlier).ok());
  auto set = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*set));
  absl::StatusOr<OrderId> id;
  while ((id = TryTake(*alone, BuyerOf(150))).ok()) {
    ASSERT_TRUE(ids_.insert(*id).second) << "what it still held";
  }
  EXPECT_TRUE(absl::IsOutOfRange(id.status())) << id.status();
  EXPECT_TRUE(TakeAll(*set));
}

TEST_F(SegmentStoreSetTest, SpaceRaisedFarAboveTheFloor_TheSetStartsAboveIt) {
  options_.create_space = true;
  auto alone = OpenAlone(0);
  uint64_t high = uint64_t{1} << 46;
  ASSERT_TRUE(stores_[0]->Raise(space_, high, clock_.Now()).ok());
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
      ASSERT_TRUE(ids_.insert(*id).second) << "what it still held";
    }
    ASSERT_TRUE(absl::IsOutOfRange(id.status())) << id.status();
  }
  EXPECT_TRUE(TakeAll(*second));
  EXPECT_TRUE(Establish(Thirds(1)).ok()) << "an old layout is found, and stays ended";
  EXPECT_TRUE(absl::IsOutOfRange(TryTake(*Open(Thirds(1)).value(), BuyerOf(0)).status()));
}

TEST_F(SegmentStoreSetTest, StoreLostForGood_ItsSectionsGoOnElsewhereWithoutARepeat) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  auto first = Open(Thirds()).value();
  ASSERT_TRUE(TakeAll(*first));
  // stores_[2] never answers again: it is neither a member nor retired.
  ASSERT_TRUE(Establish(Halves(2), Earlier::kEndEarlier).ok());
  auto second = Open(Halves(2)).value();
  EXPECT_TRUE(TakeAll(*second));
}

// What the documents warn of.
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
    absl::Status Raise(const SpaceName& s, uint64_t to, absl::Time now) override {
      return left_-- > 0 ? MemorySegmentStore::Raise(s, to, now) : absl::UnavailableError("cut");
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
    ASSERT_TRUE(one->Raise(space_, uint64_t{1} << 46, clock_.Now()).ok());
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

TEST_F(SegmentStoreSetTest, SetsThatCannotBe_AreRefused) {
  auto refused = [](std::vector<Member> members, uint32_t layout = 1) {
    return absl::IsInvalidArgument(SegmentStoreSet::Create(std::move(members), layout).status());
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{255, nullptr, "a"}}));
  EXPECT_TRUE(refused({{255, stores_[0], ""}}));
  EXPECT_TRUE(refused({{255, stores_[0], "a\nb"}}));
  EXPECT_TRUE(refused({{255, stores_[0], std::string(65, 'a')}}));
  EXPECT_TRUE(refused({{99, stores_[0], "a"}, {99, stores_[1], "b"}}));
  EXPECT_TRUE(refused({{99, stores_[0], "a"}, {255, stores_[0], "b"}}));
  EXPECT_TRUE(refused({{99, stores_[0], "a"}, {255, stores_[1], "a"}}));
  EXPECT_TRUE(refused({{255, stores_[0], "a"}}, 0));
  EXPECT_TRUE(refused({{255, stores_[0], "a"}}, 1000));
  auto short_of = SegmentStoreSet::Create({{254, stores_[0], "a"}}).value();
  EXPECT_TRUE(absl::IsInvalidArgument(Establish(short_of)));
  SpaceName longest = SpaceName::Parse(std::string(60, 'x')).value();
  EXPECT_TRUE(absl::IsInvalidArgument(Thirds().StoredSpace(longest).status()));
}

// Stores hold it: a set of another version of locus must be known again.
TEST_F(SegmentStoreSetTest, MapInTheStore_IsFrozen) {
  ASSERT_TRUE(Establish(Thirds()).ok());
  SpaceOptions map = stores_[1]->Open(SpaceName::Parse("orders-map1").value()).value();
  EXPECT_EQ(map.section_size, 256u);
  EXPECT_EQ(absl::ToUnixSeconds(map.floor_epoch), 362924836);
  EXPECT_EQ(map.floor_rate, 141318u);
  EXPECT_EQ(map.max_lead, 13602816u);
}

// --- Real files ---

TEST_F(SegmentStoreSetTest, SqliteFiles_OneGoneStopsItsSectionsOnlyAndComesBack) {
  TemporaryDirectory directory;
  std::vector<std::string> paths = {directory / "a.db", directory / "b.db", directory / "c.db"};
  auto open = [&] {
    return SegmentStoreSet::Create({{99, MustOpen(paths[0]), "a"},
                                    {199, MustOpen(paths[1]), "b"},
                                    {255, MustOpen(paths[2]), "c"}})
        .value();
  };
  options_.create_space = true;
  auto generator = Open(open()).value();
  ASSERT_TRUE(TakeAll(*generator, 3));
  std::filesystem::rename(paths[1], paths[1] + ".lost");
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(ids_.insert(TryTake(*generator, BuyerOf(3)).value()).second);
    ASSERT_TRUE(ids_.insert(TryTake(*generator, BuyerOf(203)).value()).second);
  }
  absl::StatusOr<OrderId> id;
  while ((id = TryTake(*generator, BuyerOf(103))).ok()) ASSERT_TRUE(ids_.insert(*id).second);
  EXPECT_TRUE(absl::IsFailedPrecondition(id.status())) << id.status();
  std::filesystem::rename(paths[1] + ".lost", paths[1]);
  PassTime(absl::Seconds(10));
  EXPECT_TRUE(TakeAll(*generator, 100));
  generator.reset();
  options_.create_space = false;
  auto again = Open(open());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(TakeAll(**again, 100));
}

// --- Threads ---

TEST(SegmentStoreSetThreads, StalledStore_DelaysNoOther) {
  std::vector<std::shared_ptr<FaultySegmentStore>> stores;
  for (int i = 0; i < 3; ++i) stores.push_back(std::make_shared<FaultySegmentStore>());
  auto set =
      SegmentStoreSet::Create({{99, stores[0], "a"}, {199, stores[1], "b"}, {255, stores[2], "c"}})
          .value();
  OrderIdGenerator::Options options;
  options.create_space = true;
  auto generator = OrderIdGenerator::Create(set, options).value();
  auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(20); };
  stores[1]->Stall();
  EXPECT_FALSE(generator->TryNext(BuyerOf(100)).ok());
  while (stores[1]->blocked() == 0) std::this_thread::yield();
  std::set<OrderId> ids;
  for (int i = 0; i < 20000; ++i) {
    for (uint32_t section : {50, 250}) {
      absl::StatusOr<OrderId> id = generator->Next(BuyerOf(section), soon());
      ASSERT_TRUE(id.ok()) << id.status();
      ASSERT_TRUE(ids.insert(*id).second);
    }
  }
  EXPECT_EQ(stores[1]->blocked(), 1) << "all the while";
  GeneratorStats stats = generator->Stats();
  EXPECT_GT(stats.stores[1].stalled, absl::ZeroDuration());
  EXPECT_EQ(stats.stores[1].leases, 0u);
  EXPECT_GT(stats.stores[0].leases, 3u);
  stores[1]->Heal();
  EXPECT_TRUE(generator->Next(BuyerOf(100), soon()).ok());
  EXPECT_EQ(generator->Stats().stores[1].stalled, absl::ZeroDuration());
}

}  // namespace
}  // namespace locus
