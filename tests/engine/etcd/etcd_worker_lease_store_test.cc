// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "absl/strings/str_cat.h"
#include "src/engine/etcd/workers.h"
#include "src/worker/record_text.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/support/child_process.h"
#include "tests/worker/worker_lease_store_contract.h"
#include "tests/worker/worker_lease_words.h"

namespace locus {
namespace {

using namespace worker_words;  // NOLINT(google-build-using-namespace)

class EtcdUnderTest : public WorkerStoreUnderTest {
 public:
  std::unique_ptr<WorkerLeaseStore> Connect() override {
    auto store = etcd::WorkerStore::Open(options_, &clock_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  void LoseAll() override {
    auto connection = RawConnection(options_);
    etcd::Txn txn;
    txn.Delete(options_.prefix + "/", options_.prefix + "0");  // '0' comes after '/'
    auto answer = connection->Commit(txn, connection->Deadline());
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Etcd, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "etcd", [] { return std::make_unique<EtcdUnderTest>(); }}));

class EtcdWorkerTest : public ::testing::Test {
 protected:
  std::unique_ptr<EtcdWorkerLeaseStore> Open() {
    auto store = EtcdWorkerLeaseStore::Open(options_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  void SetUp() override {
    ASSERT_TRUE(store_->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  }
  std::string KeyOf(const std::string& last) const { return options_.prefix + "/workers/" + last; }
  // The value of a key; nullopt: it does not exist.
  std::optional<std::string> Raw(const std::string& last) {
    auto connection = RawConnection(options_);
    etcd::Txn txn;
    auto answer = connection->Commit(txn.Get(KeyOf(last)), connection->Deadline());
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok() || answer->ranges[0].empty()) return std::nullopt;
    return answer->ranges[0][0].value;
  }

  const EtcdOptions options_ = FreshEtcdPrefix();
  std::unique_ptr<EtcdWorkerLeaseStore> store_ = Open();
};

TEST_F(EtcdWorkerTest, RenewalIsOneRoundTrip_AnAcquireTwo) {
  WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  uint64_t before = store_->Stats().requests;
  for (int i = 0; i < 10; ++i) grant = MustRenew(*store_, grant, "a", absl::Now());
  EXPECT_EQ(store_->Stats().requests, before + 10);
  before = store_->Stats().requests;
  MustAcquire(*store_, "b", absl::Now());
  EXPECT_EQ(store_->Stats().requests, before + 2);
}

TEST_F(EtcdWorkerTest, RenewalAfterTheSpaceChanged_IsRepeatedAndKeepsTheChange) {
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  WorkerAcquire wish = WishOf("b", absl::Now());
  wish.term.ttl = absl::Hours(2);
  ASSERT_TRUE(Open()->Acquire(SpaceName(), wish).ok()) << "raises the longest lease";
  const uint64_t before = store_->Stats().conflicts;
  MustRenew(*store_, grant, "a", absl::Now());
  EXPECT_EQ(store_->Stats().conflicts, before + 1);
  EXPECT_NE(Raw("orders/space")->find(" 7210000 "), std::string::npos) << *Raw("orders/space");
}

// The server's clock is this host's. An ID is never granted before its ceiling has passed, and no
// ceiling is too low, although the clock is known in whole seconds only.
TEST_F(EtcdWorkerTest, ServersClock_IsTakenOnTheSafeSide) {
  for (int round = 0; round < 4; ++round) {
    WorkerRecord record;
    record.token = 7;
    record.ceiling = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now())) +
                     absl::Milliseconds(200 + 150 * round);
    record.nonce = "before";
    PutRaw(options_, KeyOf("orders/id/0000000000"), worker::TextOf(record));
    auto fresh = Open();  // knows the server's clock by one or two answers
    WorkerAcquire wish = WishOf(absl::StrCat("a", round), absl::Now());
    wish.range = {0, 0};
    absl::StatusOr<WorkerGrant> grant;
    absl::Time asked;
    ASSERT_TRUE(WaitUntil([&] {
      wish.caller_now = asked = absl::Now();
      grant = fresh->Acquire(SpaceName(), wish);
      return !absl::IsResourceExhausted(grant.status());
    }));
    ASSERT_TRUE(grant.ok()) << grant.status();
    EXPECT_GT(absl::Now(), record.ceiling) << "granted while somebody held it";
    EXPECT_EQ(grant->floor, record.ceiling);
    EXPECT_GE(grant->ceiling, asked + wish.term.ttl + wish.term.max_skew - absl::Milliseconds(1));
    EXPECT_LE(grant->granted_at, absl::Now() + absl::Seconds(2));
  }
}

TEST_F(EtcdWorkerTest, ServersClock_IsComparedWithTheCallersBothWays) {
  for (absl::Duration off : {-absl::Seconds(13), absl::Seconds(13)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        store_->Acquire(SpaceName(), WishOf("a", absl::Now() + off)).status()));
  }
  for (absl::Duration off : {-absl::Seconds(9), absl::Seconds(9)}) {
    const std::string nonce = off < absl::ZeroDuration() ? "slow" : "fast";
    EXPECT_TRUE(store_->Acquire(SpaceName(), WishOf(nonce, absl::Now() + off)).ok());
  }
}

TEST_F(EtcdWorkerTest, HoldersKey_IsThereWhileHeldAndGoesWithItsEtcdLease) {
  WorkerAcquire wish = WishOf("a", absl::Now());
  wish.term = {absl::Seconds(10), absl::ZeroDuration() + absl::Seconds(1)};
  const WorkerGrant grant = store_->Acquire(SpaceName(), wish).value();
  EXPECT_EQ(Raw("orders/held/0000000000"), wish.holder);
  ASSERT_TRUE(
      store_->Release(SpaceName(), {grant.worker, grant.token, absl::InfiniteFuture()}).ok());
  EXPECT_EQ(Raw("orders/held/0000000000"), std::nullopt) << "released";
  wish.nonce = "b";
  wish.start = 1;
  wish.caller_now = absl::Now();
  ASSERT_TRUE(store_->Acquire(SpaceName(), wish).ok());
  EXPECT_TRUE(Raw("orders/held/0000000001").has_value());
  store_.reset();  // its holder is dead
  EXPECT_TRUE(WaitUntil([&] { return !Raw("orders/held/0000000001").has_value(); }));
  EXPECT_TRUE(Raw("orders/id/0000000001").has_value()) << "the record stays";
}

// The etcd lease is revoked: holders keep working, and their keys come back.
TEST_F(EtcdWorkerTest, EtcdLeaseRevoked_HolderStays) {
  WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  auto connection = RawConnection(options_);
  auto leases =
      connection->Post("/v3/lease/leases", "{}", etcd::Repeat::kAllowed, connection->Deadline());
  ASSERT_TRUE(leases.ok()) << leases.status();
  // "leases":[{"ID":"7587…"},…]: all of this server are of tests.
  size_t at = 0;
  while ((at = leases->body.find("\"ID\":\"", at)) != std::string::npos) {
    at += 6;
    const std::string id = leases->body.substr(at, leases->body.find('"', at) - at);
    connection
        ->Post("/v3/lease/revoke", absl::StrCat("{\"ID\":\"", id, "\"}"), etcd::Repeat::kNever,
               connection->Deadline())
        .IgnoreError();
  }
  ASSERT_EQ(Raw("orders/held/0000000000"), std::nullopt);
  grant = MustRenew(*store_, grant, "a", absl::Now());
  WorkerRenew renewal = RenewalOf(grant, "a", absl::Now());
  renewal.holder = "{\"host\":\"renamed\"}";
  ASSERT_TRUE(store_->Renew(SpaceName(), renewal).ok()) << "puts the key with a new etcd lease";
  EXPECT_EQ(Raw("orders/held/0000000000"), renewal.holder);
}

// All begin at the same ID: the worst that there is. Each gets one, and none is starved.
TEST_F(EtcdWorkerTest, ManyHoldersAtTheSameStart_EachGetOneInTime) {
  constexpr int kHolders = 24;
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<WorkerGrant>> grants(kHolders);
  std::atomic<uint64_t> conflicts{0}, requests{0};
  EtcdOptions patient = options_;
  patient.call_timeout = patient.request_timeout = absl::Seconds(60);
  for (int i = 0; i < kHolders; ++i) {
    threads.emplace_back([&, i] {
      auto store = EtcdWorkerLeaseStore::Open(patient).value();
      WorkerAcquire wish = WishOf(absl::StrCat("h", i), absl::Now());
      wish.range = {0, 1023};
      grants[static_cast<size_t>(i)] = store->Acquire(SpaceName(), wish);
      conflicts += store->Stats().conflicts;
      requests += store->Stats().requests;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> workers;
  for (const auto& grant : grants) {
    ASSERT_TRUE(grant.ok()) << grant.status();
    workers.insert(grant->worker);
  }
  EXPECT_EQ(workers.size(), static_cast<size_t>(kHolders));
  std::cout << kHolders << " holders at one start: " << requests << " requests, " << conflicts
            << " conflicts\n";
  EXPECT_LT(conflicts, kHolders * kHolders);
}

TEST_F(EtcdWorkerTest, RangeOfManyHeld_IsReadInPages) {
  WorkerRecord record;
  record.token = 7;
  record.ceiling = absl::Now() + absl::Minutes(10);
  record.nonce = "x";
  record.holder = std::string(kMostHolderBytes, 'h');
  auto connection = RawConnection(options_);
  constexpr uint64_t kHeld = 700;
  for (uint64_t first = 0; first < kHeld; first += 100) {
    etcd::Txn txn;
    for (uint64_t id = first; id < first + 100; ++id) {
      txn.Put(KeyOf(absl::StrCat("orders/id/", absl::Dec(id, absl::kZeroPad10))),
              worker::TextOf(record));
    }
    ASSERT_TRUE(connection->Commit(txn, connection->Deadline()).ok());
  }
  WorkerAcquire wish = WishOf("a", absl::Now());
  wish.range = {0, kMostWorker};
  const uint64_t before = store_->Stats().requests;
  auto grant = store_->Acquire(SpaceName(), wish);
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->worker, kHeld);
  EXPECT_LE(store_->Stats().requests - before, 10u);
  EXPECT_EQ(store_->Show(SpaceName())->workers.size(), kHeld + 1);
}

TEST_F(EtcdWorkerTest, SpoiltState_IsNamed) {
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  const std::string record = *Raw("orders/id/0000000000"), space = *Raw("orders/space");
  auto all = [&](auto expected) {
    auto fresh = Open();
    EXPECT_TRUE(expected(fresh->Acquire(SpaceName(), WishOf("b", absl::Now())).status()));
    EXPECT_TRUE(expected(fresh->Renew(SpaceName(), RenewalOf(grant, "a", absl::Now())).status()));
    EXPECT_TRUE(expected(fresh->Show(SpaceName()).status())) << fresh->Show(SpaceName()).status();
  };
  for (const char* text : {"", "x", "0 - - 1 1 a {}"}) {
    PutRaw(options_, KeyOf("orders/id/0000000000"), text);
    all([](const absl::Status& status) { return absl::IsDataLoss(status); });
    EXPECT_TRUE(absl::IsDataLoss(store_->Release(SpaceName(), {0, grant.token, absl::Now()})));
  }
  PutRaw(options_, KeyOf("orders/id/0000000000"), record);
  PutRaw(options_, KeyOf("orders/id/0000000000x"), record);
  EXPECT_TRUE(absl::IsDataLoss(store_->Show(SpaceName()).status()));
  PutRaw(options_, KeyOf("orders/space"), "1 x 2 3");
  all([](const absl::Status& status) { return absl::IsDataLoss(status); });
  PutRaw(options_, KeyOf("orders/space"), "2" + space.substr(1));
  all([](const absl::Status& status) { return absl::IsFailedPrecondition(status); });
}

TEST_F(EtcdWorkerTest, ForkedChild_IsRefused) {
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  ChildProcess child([&] {
    auto refused = [](const absl::Status& status) { return absl::IsFailedPrecondition(status); };
    const bool all =
        refused(store_->Acquire(SpaceName(), WishOf("b", absl::Now())).status()) &&
        refused(store_->Renew(SpaceName(), RenewalOf(grant, "a", absl::Now())).status()) &&
        refused(store_->Release(SpaceName(), {grant.worker, grant.token, absl::Now()})) &&
        refused(store_->Show(SpaceName()).status()) &&
        refused(store_->Create(SpaceName(), {.first_ever = true}, absl::Now()));
    store_.reset();
    return all ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  MustRenew(*store_, grant, "a", absl::Now());
}

}  // namespace
}  // namespace locus
