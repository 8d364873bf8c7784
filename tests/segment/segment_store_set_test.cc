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
#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/segment/segment_store_set_fixture.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;
using Earlier = SegmentStoreSet::Earlier;
using Member = SegmentStoreSet::Member;

TEST_F(SegmentStoreSetTest, EachSection_IsAllocatedFromItsStore) {
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
    EXPECT_GT(stats.stores[i].allocations, 0u);
  }
  EXPECT_EQ(stats.allocations, stats.stores[0].allocations + stats.stores[1].allocations +
                                   stats.stores[2].allocations);
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

TEST_F(SegmentStoreSetTest, StoreThatRefuses_ConcernsItsSectionsOnly) {
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
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    if (dead) return absl::UnavailableError("dead");
    return FaultySegmentStore::ReadOptions(space);
  }
  bool dead = false;
};

TEST_F(SegmentStoreSetTest, StoreDeadAtTheStart_OthersServeAndItIsCheckedLater) {
  auto server = std::make_shared<Server>(clock_);
  stores_[1] = server;
  ASSERT_TRUE(Establish(Thirds()).ok());
  server->dead = true;
  auto generator = Open(Thirds()).value();
  EXPECT_TRUE(TryTake(*generator, BuyerOf(0)).ok());
  EXPECT_TRUE(absl::IsUnavailable(TryTake(*generator, BuyerOf(100)).status()));
  EXPECT_EQ(server->calls(), 0) << "nothing is allocated unseen";
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
    absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName&) override {
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

TEST_F(SegmentStoreSetTest, StoreOfASetUsedAlone_AllocatesNothing) {
  options_.create_space = true;
  auto generator = Open(Thirds()).value();
  for (size_t i = 0; i < 3; ++i) {
    auto alone = OpenAlone(i);
    EXPECT_TRUE(absl::IsOutOfRange(TryTake(*alone, BuyerOf(0)).status()));
  }
  EXPECT_TRUE(TakeAll(*generator, 3));
}

TEST_F(SegmentStoreSetTest, CreateSpace_NeverEndsALayoutInUse) {
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

TEST_F(SegmentStoreSetTest, ImpossibleSets_AreRefused) {
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
  SpaceOptions map = stores_[1]->ReadOptions(SpaceName::Parse("orders-map1").value()).value();
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
  EXPECT_EQ(stats.stores[1].allocations, 0u);
  EXPECT_GT(stats.stores[0].allocations, 3u);
  stores[1]->Heal();
  EXPECT_TRUE(generator->Next(BuyerOf(100), soon()).ok());
  // Unless it is just being asked again.
  while (generator->Stats().stores[1].stalled > absl::ZeroDuration()) std::this_thread::yield();
}

}  // namespace
}  // namespace locus
