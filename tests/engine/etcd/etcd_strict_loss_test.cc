// SPDX-License-Identifier: Apache-2.0
// Strict sequences while etcd loses what it stored, and while members die, stall and are cut off.
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locus/strict_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/etcd/strict.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/support/fault_proxy.h"

namespace locus {
namespace {

using Verdict = StrictGrant::Verdict;

class EtcdStrictLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    options_ = server_.options();
    options_.request_timeout = options_.call_timeout = absl::Seconds(30);
    set_options_.uids = 1'000'000;
    store_ = Open();
    ASSERT_TRUE(store_->Create(set_, set_options_, {.first_ever = true}).ok());
    MustTake(*store_, "before", 9);
  }
  std::unique_ptr<etcd::SectionStore> Open() {
    return etcd::SectionStore::Open(options_, &clock_).value();
  }
  static StrictOwner Owner(const std::string& name) { return {name, "", 1000}; }
  absl::StatusOr<StrictGrant> Take(StrictStore& store, const std::string& name,
                                   uint32_t section = 3, bool* noticed = nullptr) {
    auto reply = store.Take(set_, set_options_, {Owner(name), {{section, 0}}});
    if (!reply.ok()) return reply.status();
    if (noticed != nullptr) *noticed = reply->loss_noticed;
    return reply->items[0];
  }
  StrictGrant MustTake(StrictStore& store, const std::string& name, uint32_t section = 3) {
    auto grant = Take(store, name, section);
    EXPECT_TRUE(grant.ok() && grant->verdict == Verdict::kGranted) << grant.status();
    return grant.ok() ? *grant : StrictGrant();
  }
  absl::StatusOr<StrictExtended> Extend(StrictStore& store, const std::string& name,
                                        const StrictGrant& grant, bool* noticed = nullptr) {
    auto reply = store.Extend(set_, set_options_,
                              {Owner(name), {{grant.section, grant.token, grant.max_seq, 0}}});
    if (!reply.ok()) return reply.status();
    if (noticed != nullptr) *noticed = reply->loss_noticed;
    return reply->items[0];
  }
  uint64_t Losses() { return Open()->Show(set_)->losses; }
  // Writes that the others of this test do not see.
  void MakeRevisions() {
    for (int i = 0; i < 20; ++i) PutRaw(options_, "another application's", absl::StrCat(i));
  }
  // A call of somebody who knows of nothing, after the store lost a grant of section 3.
  void ExpectNoticed(StrictStore& store) {
    bool noticed = false;
    auto resting = Take(store, "other", 3, &noticed);
    ASSERT_TRUE(resting.ok()) << resting.status();
    EXPECT_TRUE(noticed);
    EXPECT_EQ(resting->verdict, Verdict::kResting);
    Take(store, "other", 3, &noticed).IgnoreError();
    EXPECT_FALSE(noticed) << "once";
    ExpectRaisedOnceItRested(store);
  }
  void ExpectRaisedOnceItRested(StrictStore& store) {
    clock_.Advance(set_options_.ttl + absl::Milliseconds(1));
    EXPECT_GE(MustTake(store, "other").start, kStrictLossMargin);
  }
  std::string snapshot() { return server_.directory() / "snapshot.db"; }

  EtcdServer server_;
  EtcdOptions options_;
  const SpaceName set_;
  StrictSetOptions set_options_;
  fakes::ManualClock clock_{absl::Now()};
  std::unique_ptr<etcd::SectionStore> store_;
};

TEST_F(EtcdStrictLossTest, KilledAndStartedAgain_LosesNothing) {
  const StrictGrant grant = MustTake(*store_, "a");
  server_.KillHard();
  const absl::Status down = Extend(*store_, "a", grant).status();
  EXPECT_TRUE(absl::IsUnavailable(down)) << down;
  ASSERT_TRUE(server_.Start());
  EXPECT_TRUE(Extend(*store_, "a", grant)->held);
  EXPECT_EQ(Take(*Open(), "b")->verdict, Verdict::kHeld);
  EXPECT_EQ(Losses(), 0u);
}

TEST_F(EtcdStrictLossTest, SnapshotRestored_IsNoticedByANewProcess) {
  MakeRevisions();
  ASSERT_TRUE(server_.SaveSnapshot(snapshot()));
  MustTake(*store_, "a");
  MakeRevisions();
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot()));
  ExpectNoticed(*Open());
}

TEST_F(EtcdStrictLossTest, SnapshotRestored_IsNoticedByTheOwnerThatLosesItsSection) {
  MakeRevisions();
  ASSERT_TRUE(server_.SaveSnapshot(snapshot()));
  const StrictGrant grant = MustTake(*store_, "a");
  MakeRevisions();
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot()));
  bool noticed = false;
  auto extended = Extend(*store_, "a", grant, &noticed);
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_TRUE(noticed);
  EXPECT_FALSE(extended->held) << "the store does not know of the grant";
  EXPECT_EQ(Take(*Open(), "b")->verdict, Verdict::kResting);
  ExpectRaisedOnceItRested(*Open());
}

TEST_F(EtcdStrictLossTest, SnapshotRestored_OwnersWithAKnownGrantStay) {
  const StrictGrant grant = MustTake(*store_, "a");
  MakeRevisions();
  ASSERT_TRUE(server_.SaveSnapshot(snapshot()));
  MakeRevisions();
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot(), "another-cluster"));
  bool noticed = false;
  auto extended = Extend(*store_, "a", grant, &noticed);
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_TRUE(noticed);
  EXPECT_TRUE(extended->held);
  EXPECT_GE(extended->max_seq, kStrictLossMargin);
}

TEST_F(EtcdStrictLossTest, OldDataDirectoryPutBack_IsNoticedByEarlierCallers) {
  ASSERT_TRUE(server_.KeepData());
  const StrictGrant grant = MustTake(*store_, "a");
  ASSERT_TRUE(server_.PutDataBack());
  bool noticed = false;
  EXPECT_FALSE(Extend(*store_, "a", grant, &noticed)->held);
  EXPECT_TRUE(noticed);
  EXPECT_EQ(Take(*Open(), "b")->verdict, Verdict::kResting);
  ExpectRaisedOnceItRested(*Open());
}

// Not covered (docs/use/strict.md): nothing distinguishes the copy from the original, and the new
// process knows nothing.
TEST_F(EtcdStrictLossTest, OldDataDirectoryPutBack_IsNotNoticedByANewProcessUntilDeclared) {
  ASSERT_TRUE(server_.KeepData());
  const StrictGrant grant = MustTake(*store_, "a");
  ASSERT_TRUE(server_.PutDataBack());
  auto fresh = Open();
  EXPECT_EQ(MustTake(*fresh, "b").start, grant.start) << "this is the hole";
  EXPECT_EQ(Losses(), 0u);
  ASSERT_TRUE(fresh->DeclareRestored(set_).ok());
  EXPECT_EQ(Take(*fresh, "c", 4)->verdict, Verdict::kResting);
  EXPECT_EQ(Losses(), 1u);
}

TEST_F(EtcdStrictLossTest, EmptiedCluster_IsNotFoundUntilCreatedThenALoss) {
  const StrictGrant grant = MustTake(*store_, "a");
  ASSERT_TRUE(server_.RestartEmpty());
  EXPECT_TRUE(absl::IsNotFound(Take(*store_, "a").status()));
  EXPECT_TRUE(absl::IsNotFound(Take(*Open(), "b").status()));
  ASSERT_TRUE(Open()->Create(set_, set_options_, {.first_ever = true}).ok());
  bool noticed = false;
  auto extended = Extend(*store_, "a", grant, &noticed);
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_FALSE(extended->held);
  EXPECT_TRUE(noticed);
  EXPECT_EQ(Take(*Open(), "b")->verdict, Verdict::kResting);
  ExpectRaisedOnceItRested(*Open());
}

// By a process that has no section to extend: it knew another life of the set.
TEST_F(EtcdStrictLossTest, EmptiedCluster_IsNoticedByCallersThatOnlyRead) {
  MustTake(*store_, "a");
  auto watcher = Open();
  EXPECT_EQ(Take(*watcher, "b")->verdict, Verdict::kHeld);
  ASSERT_TRUE(server_.RestartEmpty());
  ASSERT_TRUE(Open()->Create(set_, set_options_, {.first_ever = true}).ok());
  ExpectNoticed(*watcher);
}

// Not covered: no process that is alive ever knew the set.
TEST_F(EtcdStrictLossTest, EmptiedCluster_BeginsAnewForNewProcesses) {
  MustTake(*store_, "a");
  ASSERT_TRUE(server_.RestartEmpty());
  ASSERT_TRUE(Open()->Create(set_, set_options_, {.first_ever = true}).ok());
  EXPECT_EQ(MustTake(*Open(), "b").start, 0u) << "this is the hole";
}

TEST_F(EtcdStrictLossTest, SectionsDeletedByHand_AreNoticedByTheOwner) {
  const StrictGrant grant = MustTake(*store_, "a");
  ASSERT_TRUE(server_.Ctl("del --prefix locus/strict/orders/section/"));
  bool noticed = false;
  EXPECT_FALSE(Extend(*store_, "a", grant, &noticed)->held);
  EXPECT_TRUE(noticed);
}

TEST_F(EtcdStrictLossTest, Maintenance_IsNoLoss) {
  const StrictGrant grant = MustTake(*store_, "a");
  MakeRevisions();
  ASSERT_TRUE(server_.Ctl("compact 12"));
  ASSERT_TRUE(server_.Ctl("defrag"));
  EXPECT_TRUE(Extend(*store_, "a", grant)->held);
  EXPECT_EQ(Take(*Open(), "b")->verdict, Verdict::kHeld);
  EXPECT_EQ(Losses(), 0u);
}

// An owner at work: it keeps giving numbers while the store is away, and they keep rising after it
// is back.
class EtcdStrictOwnerTest : public EtcdStrictLossTest {
 protected:
  std::unique_ptr<StrictSequencer> OwnerAt(const EtcdOptions& options) {
    std::shared_ptr<StrictStore> store = EtcdStrictStore::Open(options).value();
    StrictSequencerOptions of_owner;
    of_owner.options = set_options_;
    of_owner.name = "owner";
    auto owner = StrictSequencer::Open(store, of_owner);
    EXPECT_TRUE(owner.ok()) << owner.status();
    auto taken = (*owner)->Take(std::vector<uint32_t>{3});
    EXPECT_TRUE(taken.ok() && taken->items[0].verdict == Verdict::kGranted) << taken.status();
    return *std::move(owner);
  }
  void ExpectGoesOn(StrictSequencer& owner) {
    auto number = owner.TryNext(300'000);
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_GT(*number, last_);
    last_ = *number;
  }
  bool RenewedAgain(StrictSequencer& owner) {
    const StrictSequencerStats before = owner.Stats();
    return WaitUntil([&] {
      const StrictSequencerStats now = owner.Stats();
      return now.extends - now.failures > before.extends - before.failures;
    });
  }
  static uint16_t PortOf(const std::string& endpoint) {
    return static_cast<uint16_t>(std::stoi(endpoint.substr(endpoint.find(':') + 1)));
  }
  uint64_t last_ = 0;
};

TEST_F(EtcdStrictOwnerTest, MemberStalled_OwnerKeepsAnswering) {
  EtcdOptions hasty = options_;
  hasty.request_timeout = hasty.call_timeout = absl::Seconds(1);
  auto owner = OwnerAt(hasty);
  ExpectGoesOn(*owner);
  server_.Stall();
  EXPECT_TRUE(absl::IsUnavailable(owner->Take(std::vector<uint32_t>{4}).status()));
  ExpectGoesOn(*owner);
  server_.Resume();
  EXPECT_TRUE(RenewedAgain(*owner));
  ExpectGoesOn(*owner);
}

TEST_F(EtcdStrictOwnerTest, CutFromTheStoreBeyondTheOwnership_AnswersNothingUntilTakenAgain) {
  set_options_.ttl = absl::Seconds(3);
  const SpaceName other = *SpaceName::Parse("short");
  FaultProxy proxy(PortOf(server_.endpoint(0)));
  EtcdOptions through = options_;
  through.endpoints = {absl::StrCat("127.0.0.1:", proxy.port())};
  through.request_timeout = through.call_timeout = absl::Seconds(1);
  std::shared_ptr<StrictStore> store = EtcdStrictStore::Open(through).value();
  ASSERT_TRUE(store->Create(other, set_options_, {.first_ever = true}).ok());
  StrictSequencerOptions of_owner;
  of_owner.set = other;
  of_owner.options = set_options_;
  of_owner.name = "cut";
  auto cut = StrictSequencer::Open(store, of_owner).value();
  ASSERT_TRUE(cut->Take(std::vector<uint32_t>{3}).ok());
  ExpectGoesOn(*cut);
  proxy.set_fault(FaultProxy::Fault::kDrop);
  ASSERT_TRUE(WaitUntil([&] { return !cut->TryNext(300'000).ok(); }));
  // Another one, which reaches the store, takes the section and begins above.
  std::shared_ptr<StrictStore> near = EtcdStrictStore::Open(options_).value();
  of_owner.name = "near";
  auto successor = StrictSequencer::Open(near, of_owner).value();
  ASSERT_TRUE(WaitUntil([&] {
    return successor->Take(std::vector<uint32_t>{3}).ok() && successor->Owned().size() == 1;
  }));
  ExpectGoesOn(*successor);
  proxy.set_fault(FaultProxy::Fault::kNone);
  ASSERT_TRUE(WaitUntil([&] { return cut->Owned().empty(); })) << "the store says so";
  EXPECT_FALSE(cut->TryNext(300'000).ok());
  ExpectGoesOn(*successor);
}

// The leader of three is killed again and again: two owners hand a section to and fro meanwhile.
TEST(EtcdStrictClusterTest, LeaderKilledWhileASectionIsHandedOver_NumbersRise) {
  EtcdServer server(3);
  ASSERT_TRUE(server.Start());
  StrictSetOptions set;
  set.uids = 1000;
  set.section_size = 1000;
  std::shared_ptr<StrictStore> store = EtcdStrictStore::Open(server.options()).value();
  ASSERT_TRUE(
      WaitUntil([&] { return store->Create(SpaceName(), set, {.first_ever = true}).ok(); }));
  std::unique_ptr<StrictSequencer> owners[2];
  for (int i = 0; i < 2; ++i) {
    StrictSequencerOptions options;
    options.options = set;
    options.name = absl::StrCat("o", i);
    owners[i] = StrictSequencer::Open(store, options).value();
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> numbers{0}, hand_overs{0};
  std::thread drawing([&] {
    uint64_t last = 0;
    const uint32_t section[] = {0};
    for (int i = 0; !stop; i = 1 - i) {
      for (int calls = 0; calls < 100; ++calls) {
        auto number = owners[i]->TryNext(7);
        if (!number.ok()) break;
        EXPECT_GT(*number, last);
        last = *number;
        ++numbers;
      }
      const bool left = owners[i]->HandOver(section, owners[1 - i]->owner().name).ok();
      hand_overs += owners[1 - i]->Take(section).ok() && left;
    }
  });
  auto goes_on = [&] {
    const uint64_t before = hand_overs;
    return WaitUntil([&] { return hand_overs > before + 5; });
  };
  EXPECT_TRUE(goes_on());
  for (int i = 0; i < 2; ++i) {
    int leader = -1;
    EXPECT_TRUE(WaitUntil([&] { return (leader = server.Leader()) >= 0; }));
    server.KillHard(leader);
    EXPECT_TRUE(goes_on());
    EXPECT_TRUE(server.StartMember(leader));
    EXPECT_TRUE(server.WaitForLeader());
  }
  stop = true;
  drawing.join();
  EXPECT_EQ(store->Show(SpaceName())->losses, 0u);
  std::cout << numbers << " numbers over " << hand_overs << " hand-overs\n";
}

}  // namespace
}  // namespace locus
