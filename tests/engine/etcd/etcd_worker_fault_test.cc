// SPDX-License-Identifier: Apache-2.0
// Worker leases while etcd loses what it stored, and while members die, stall and are repaired.
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/etcd/workers.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/worker/worker_lease_words.h"

namespace locus {
namespace {

using namespace worker_words;  // NOLINT(google-build-using-namespace)

class EtcdWorkerLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    options_ = server_.options();
    store_ = Open();
    ASSERT_TRUE(store_->Create(SpaceName(), {.first_ever = true}, now()).ok());
    MustAcquire(*store_, "before", now());
    Tick();
  }
  std::unique_ptr<etcd::WorkerStore> Open() {
    return etcd::WorkerStore::Open(options_, &clock_).value();
  }
  absl::Time now() { return clock_.Now(); }
  void Tick() { clock_.Advance(absl::Seconds(1)); }
  // Writes that the others of this test do not see.
  void MakeRevisions() {
    for (int i = 0; i < 20; ++i) PutRaw(options_, "another application's", absl::StrCat(i));
  }
  void ExpectNoticed(WorkerLeaseStore& store, const WorkerGrant& lost, const std::string& nonce) {
    const absl::Status status = store.Acquire(SpaceName(), WishOf("other", now())).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_GE(store.Show(SpaceName())->losses, 1u) << "stored by the call that was refused";
    EXPECT_GE(store.Show(SpaceName())->rest_until, lost.ceiling);
    EXPECT_EQ(MustRenew(store, lost, nonce, now()).token, lost.token) << "the holder goes on";
    EXPECT_TRUE(absl::IsUnavailable(store.Acquire(SpaceName(), WishOf("other", now())).status()));
  }
  std::string snapshot() { return server_.directory() / "snapshot.db"; }

  EtcdServer server_;
  EtcdOptions options_;
  fakes::ManualClock clock_{absl::Now()};
  std::unique_ptr<etcd::WorkerStore> store_;
};

TEST_F(EtcdWorkerLossTest, KilledAndStartedAgain_LosesNothing) {
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  server_.KillHard();
  EXPECT_TRUE(
      absl::IsUnavailable(store_->Renew(SpaceName(), RenewalOf(grant, "a", now())).status()));
  ASSERT_TRUE(server_.Start());
  EXPECT_FALSE(MustRenew(*store_, grant, "a", now()).loss_noticed);
  EXPECT_NE(MustAcquire(*Open(), "b", now()).worker, grant.worker);
  EXPECT_EQ(store_->Show(SpaceName())->losses, 0u);
}

TEST_F(EtcdWorkerLossTest, SnapshotRestored_IsNoticedByANewProcess) {
  MakeRevisions();
  ASSERT_TRUE(server_.SaveSnapshot(snapshot()));
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  MakeRevisions();
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot()));
  ExpectNoticed(*Open(), grant, "a");
  EXPECT_EQ(store_->Show(SpaceName())->losses, 2u) << "the cluster's, and the forgotten lease";
}

TEST_F(EtcdWorkerLossTest, SnapshotRestored_IsNoticedByTheHolderFirst) {
  MakeRevisions();
  ASSERT_TRUE(server_.SaveSnapshot(snapshot()));
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  MakeRevisions();
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot()));
  const WorkerGrant renewed = MustRenew(*store_, grant, "a", now());
  EXPECT_TRUE(renewed.loss_noticed);
  EXPECT_EQ(renewed.token, grant.token);
  ExpectNoticed(*Open(), renewed, "a");
}

TEST_F(EtcdWorkerLossTest, EmptiedCluster_IsNotFoundUntilAHolderRenews) {
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  ASSERT_TRUE(server_.RestartEmpty());
  EXPECT_TRUE(absl::IsNotFound(Open()->Acquire(SpaceName(), WishOf("b", now())).status()));
  const WorkerGrant renewed = MustRenew(*store_, grant, "a", now());
  EXPECT_TRUE(renewed.loss_noticed);
  ExpectNoticed(*Open(), renewed, "a");
}

TEST_F(EtcdWorkerLossTest, OldDataDirectoryPutBack_IsNoticedByTheHolder) {
  ASSERT_TRUE(server_.KeepData());
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  ASSERT_TRUE(server_.PutDataBack());
  EXPECT_TRUE(MustRenew(*store_, grant, "a", now()).loss_noticed);
  EXPECT_TRUE(absl::IsUnavailable(Open()->Acquire(SpaceName(), WishOf("b", now())).status()));
}

// Not covered (docs/run/engines-etcd.md): nothing distinguishes the copy from the original, and
// the new process knows nothing.
TEST_F(EtcdWorkerLossTest, OldDataDirectoryPutBack_IsNotNoticedByANewProcessUntilDeclared) {
  ASSERT_TRUE(server_.KeepData());
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  ASSERT_TRUE(server_.PutDataBack());
  Tick();
  auto fresh = Open();
  EXPECT_EQ(MustAcquire(*fresh, "b", now()).worker, grant.worker) << "this is the hole";
  EXPECT_TRUE(absl::IsAborted(store_->Renew(SpaceName(), RenewalOf(grant, "a", now())).status()));
  EXPECT_EQ(fresh->Show(SpaceName())->losses, 1u) << "noticed by the holder that lost its ID";
  ASSERT_TRUE(
      fresh->Create(SpaceName(), {.lost = true, .longest_ttl = absl::Minutes(10)}, now()).ok());
  EXPECT_TRUE(absl::IsUnavailable(fresh->Acquire(SpaceName(), WishOf("c", now())).status()));
}

TEST_F(EtcdWorkerLossTest, RecordDeletedByHand_IsNoticedByItsHolder) {
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  ASSERT_TRUE(server_.Ctl("del --prefix locus/workers/orders/id/"));
  EXPECT_TRUE(MustRenew(*store_, grant, "a", now()).loss_noticed);
}

TEST_F(EtcdWorkerLossTest, Maintenance_IsNoLoss) {
  const WorkerGrant grant = MustAcquire(*store_, "a", now());
  MakeRevisions();
  ASSERT_TRUE(server_.Ctl("compact 12"));
  ASSERT_TRUE(server_.Ctl("defrag"));
  EXPECT_FALSE(MustRenew(*store_, grant, "a", now()).loss_noticed);
  EXPECT_FALSE(MustAcquire(*Open(), "b", now()).loss_noticed);
  EXPECT_EQ(store_->Show(SpaceName())->losses, 0u);
}

// Holders acquire, renew and release in threads, each with a connection of its own, noting what
// they hold.
class EtcdWorkerClusterTest : public ::testing::Test {
 protected:
  static constexpr int kHolders = 6;  // of four IDs

  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    auto store = EtcdWorkerLeaseStore::Open(server_.options()).value();
    ASSERT_TRUE(WaitUntil(
        [&] { return store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok(); }));
    for (int i = 0; i < kHolders; ++i) threads_.emplace_back([this, i] { Hold(i); });
  }
  void TearDown() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(shared_, 0);
    std::cout << grants_ << " grants, " << renewals_ << " renewals, " << failures_
              << " calls failed\n";
  }
  bool GoOn() {
    const uint64_t grants = grants_, renewals = renewals_;
    return WaitUntil([&] { return grants_ > grants + 20 && renewals_ > renewals + 20; });
  }
  void Hold(int holder) {
    auto store = EtcdWorkerLeaseStore::Open(server_.options()).value();
    for (int round = 0; !stop_; ++round) {
      const std::string nonce = absl::StrCat(holder, "-", round);
      WorkerAcquire wish = WishOf(nonce, absl::Now());
      wish.range = {0, 3};
      wish.term = {absl::Seconds(10), absl::Seconds(2)};
      wish.start = static_cast<uint64_t>(round) % 4;
      auto grant = store->Acquire(SpaceName(), wish);
      if (!grant.ok()) {
        failures_ += !absl::IsResourceExhausted(grant.status());
        continue;
      }
      ++grants_;
      shared_ += ++holders_[grant->worker] != 1;
      for (int i = 0; i < 3; ++i) {
        WorkerRenew renewal = RenewalOf(*grant, nonce, absl::Now());
        renewal.term = wish.term;
        auto renewed = store->Renew(SpaceName(), renewal);
        EXPECT_FALSE(absl::IsAborted(renewed.status())) << renewed.status();
        if (!renewed.ok()) {
          ++failures_;
          continue;
        }
        EXPECT_FALSE(renewed->loss_noticed);
        ++renewals_;
        grant = renewed;
      }
      --holders_[grant->worker];
      store->Release(SpaceName(), {grant->worker, grant->token, absl::Now()}).IgnoreError();
    }
  }

  EtcdServer server_{3};
  std::atomic<bool> stop_{false};
  std::atomic<int> shared_{0};
  std::atomic<uint64_t> grants_{0}, renewals_{0}, failures_{0};
  std::atomic<int> holders_[4] = {};
  std::vector<std::thread> threads_;
};

TEST_F(EtcdWorkerClusterTest, LeaderKilledAgainAndAgain_NoIdHasTwoHolders) {
  ASSERT_TRUE(GoOn());
  for (int i = 0; i < 3; ++i) {
    int leader = -1;
    ASSERT_TRUE(WaitUntil([&] { return (leader = server_.Leader()) >= 0; }));
    server_.KillHard(leader);
    ASSERT_TRUE(GoOn());
    ASSERT_TRUE(server_.StartMember(leader));
    ASSERT_TRUE(server_.WaitForLeader());
  }
  ASSERT_TRUE(GoOn());
}

TEST_F(EtcdWorkerClusterTest, MembersStalledInTurn_NoIdHasTwoHolders) {
  ASSERT_TRUE(GoOn());
  for (int member = 0; member < 3; ++member) {
    server_.Stall(member);
    EXPECT_TRUE(GoOn());
    server_.Resume(member);
    ASSERT_TRUE(server_.WaitForLeader());
  }
  ASSERT_TRUE(server_.Ctl("compact 50"));
  ASSERT_TRUE(GoOn());
}

}  // namespace
}  // namespace locus
