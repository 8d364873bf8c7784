// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "src/engine/zookeeper/session.h"
#include "src/engine/zookeeper/workers.h"
#include "tests/engine/zookeeper/zookeeper_server.h"
#include "tests/support/child_process.h"
#include "tests/worker/worker_lease_store_contract.h"
#include "tests/worker/worker_lease_words.h"

namespace locus {
namespace {

using namespace worker_words;  // NOLINT(google-build-using-namespace)
using internal::ZookeeperWorkerLeaseStoreAccess;
using zookeeper::Change;
using zookeeper::Session;

std::unique_ptr<ZookeeperWorkerLeaseStore> MustOpen(const ZookeeperOptions& options,
                                                    Clock* clock = nullptr) {
  auto store = ZookeeperWorkerLeaseStoreAccess::Open(options, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Deletes a znode and all below it.
void DeleteTree(Session& session, const std::string& path) {
  auto children = session.Children(path, session.Deadline());
  ASSERT_TRUE(children.ok()) << children.status();
  if (!children->has_value()) return;
  for (const std::string& child : **children) DeleteTree(session, path + "/" + child);
  const Change gone{Change::Kind::kDelete, path, "", -1};
  ASSERT_TRUE(*session.Commit({&gone, 1}, session.Deadline()));
}

class ZookeeperUnderTest : public WorkerStoreUnderTest {
 public:
  std::unique_ptr<WorkerLeaseStore> Connect() override { return MustOpen(options_, &clock_); }
  void LoseAll() override { DeleteTree(*Session::Open(options_).value(), options_.prefix); }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  const ZookeeperOptions options_ = FreshZookeeperPrefix();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Zookeeper, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "zookeeper", [] { return std::make_unique<ZookeeperUnderTest>(); }}));

class ZookeeperWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  }
  std::string PathOf(const std::string& last) const {
    return options_.prefix + "/workers/orders/" + last;
  }
  std::optional<zookeeper::Znode> Raw(const std::string& last) {
    auto found = raw_->Get(PathOf(last), raw_->Deadline());
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::nullopt);
  }
  void SetRaw(const std::string& last, const std::string& value) {
    const Change change{Change::Kind::kSet, PathOf(last), value, -1};
    ASSERT_TRUE(*raw_->Commit({&change, 1}, raw_->Deadline()));
  }

  const ZookeeperOptions options_ = FreshZookeeperPrefix();
  std::unique_ptr<ZookeeperWorkerLeaseStore> store_ = MustOpen(options_);
  std::unique_ptr<Session> raw_ = Session::Open(options_).value();
};

TEST_F(ZookeeperWorkerTest, LeadersClock_DecidesAndIsCheckedBothWays) {
  const absl::Time before = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now()));
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  EXPECT_GE(grant.granted_at, before);
  EXPECT_LE(grant.granted_at, absl::Now());
  EXPECT_EQ(grant.ceiling, grant.granted_at + absl::Minutes(10) + absl::Seconds(10));
  for (absl::Duration off : {-absl::Seconds(12), absl::Seconds(12)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        store_->Acquire(SpaceName(), WishOf("b", absl::Now() + off)).status()));
  }
}

TEST_F(ZookeeperWorkerTest, EphemeralZnode_IsThereWhileHeld) {
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  ASSERT_TRUE(Raw("held/0000000000").has_value());
  EXPECT_NE(Raw("held/0000000000")->owner, 0);
  EXPECT_EQ(Raw("held/0000000000")->value, "{\"host\":\"a\"}");
  EXPECT_EQ(Raw("id/0000000000")->owner, 0) << "the record is persistent";
  MustRenew(*store_, grant, "a", absl::Now());
  EXPECT_EQ(Raw("held/0000000000")->version, 0) << "a renewal leaves it";
  ASSERT_TRUE(
      store_->Release(SpaceName(), {grant.worker, grant.token, absl::InfiniteFuture()}).ok());
  EXPECT_FALSE(Raw("held/0000000000").has_value());
  WorkerAcquire wish = WishOf("b", absl::Now());
  wish.start = 1;
  ASSERT_TRUE(store_->Acquire(SpaceName(), wish).ok());
  ASSERT_TRUE(Raw("held/0000000001").has_value());
  store_.reset();
  EXPECT_TRUE(WaitUntil([&] { return !Raw("held/0000000001").has_value(); }));
  EXPECT_TRUE(Raw("id/0000000001").has_value());
}

// A process that is stopped for longer than its session lasts. Its ephemeral znode goes; when it
// runs again, it has another session, renews the same lease and shows itself again.
TEST_F(ZookeeperWorkerTest, SessionThatExpired_IsReplacedAndTheLeaseStays) {
  struct Notes {
    std::atomic<uint64_t> renewals, token, sessions, lost;
  };
  auto* notes = static_cast<Notes*>(
      mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(notes, MAP_FAILED);
  // Forked before this process has a thread of the client library.
  store_.reset();
  raw_.reset();
  ChildProcess holder([&] {
    auto store = MustOpen(options_);
    WorkerGrant grant = MustAcquire(*store, "child", absl::Now());
    while (true) {
      auto renewed = store->Renew(SpaceName(), RenewalOf(grant, "child", absl::Now()));
      notes->lost += absl::IsAborted(renewed.status());
      if (!renewed.ok()) continue;
      grant = *renewed;
      notes->token = grant.token;
      notes->sessions = store->Stats().sessions;
      ++notes->renewals;
    }
    return 0;
  });
  store_ = MustOpen(options_);
  raw_ = Session::Open(options_).value();
  ASSERT_TRUE(WaitUntil([&] { return notes->renewals > 3; }));
  const uint64_t token = notes->token;
  ASSERT_TRUE(Raw("held/0000000000").has_value());
  const int64_t session = Raw("held/0000000000")->owner;
  holder.Kill(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return !Raw("held/0000000000").has_value(); }));
  EXPECT_NE(MustAcquire(*store_, "other", absl::Now()).worker, 0u) << "its ceiling counts";
  holder.Kill(SIGCONT);
  const uint64_t before = notes->renewals;
  ASSERT_TRUE(WaitUntil([&] { return notes->renewals > before + 3; }));
  EXPECT_EQ(notes->token, token);
  EXPECT_EQ(notes->lost, 0u);
  EXPECT_GE(notes->sessions, 2u);
  ASSERT_TRUE(Raw("held/0000000000").has_value());
  EXPECT_NE(Raw("held/0000000000")->owner, session);
  holder.Kill(SIGKILL);
  EXPECT_EQ(holder.Wait(), -SIGKILL);
  munmap(notes, sizeof(Notes));
}

TEST_F(ZookeeperWorkerTest, ManyHoldersAtTheSameStart_EachGetOneInTime) {
  constexpr int kHolders = 16;
  ZookeeperOptions patient = options_;
  patient.timeout = absl::Seconds(60);
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<WorkerGrant>> grants(kHolders);
  std::atomic<uint64_t> conflicts{0}, requests{0};
  for (int i = 0; i < kHolders; ++i) {
    threads.emplace_back([&, i] {
      auto store = MustOpen(patient);
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
}

// One handle, many threads: their calls do not take each other for a rewind.
TEST_F(ZookeeperWorkerTest, ManyThreadsOnOneHandle_NoticeNoLoss) {
  std::vector<std::thread> threads;
  std::atomic<int> failed{0}, noticed{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const std::string nonce = absl::StrCat("t", i);
      WorkerGrant grant = MustAcquire(*store_, nonce, absl::Now());
      for (int round = 0; round < 50; ++round) {
        auto renewed = store_->Renew(SpaceName(), RenewalOf(grant, nonce, absl::Now()));
        failed += !renewed.ok();
        if (!renewed.ok()) continue;
        grant = *renewed;
        noticed += grant.loss_noticed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(noticed, 0);
  EXPECT_EQ(store_->Show(SpaceName())->losses, 0u);
  EXPECT_EQ(store_->Stats().sessions, 1u);
}

TEST_F(ZookeeperWorkerTest, OtherUser_IsRefusedAndThePasswordIsNotShown) {
  ZookeeperOptions options = FreshZookeeperPrefix();
  options.user = "shop";
  options.password = "s3cret word";
  auto store = MustOpen(options);
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  MustAcquire(*store, "a", absl::Now());
  options.password = "wr0ng";
  for (const ZookeeperOptions& other : {options, [&] {
                                          ZookeeperOptions none = options;
                                          none.user = none.password = "";
                                          return none;
                                        }()}) {
    const absl::Status status =
        MustOpen(other)->Acquire(SpaceName(), WishOf("b", absl::Now())).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("wr0ng")));
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("password"));
  }
}

TEST_F(ZookeeperWorkerTest, SpoiltState_IsNamed) {
  const WorkerGrant grant = MustAcquire(*store_, "a", absl::Now());
  const std::string record = Raw("id/0000000000")->value;
  auto all = [&](auto expected) {
    EXPECT_TRUE(expected(store_->Acquire(SpaceName(), WishOf("b", absl::Now())).status()));
    EXPECT_TRUE(expected(store_->Renew(SpaceName(), RenewalOf(grant, "a", absl::Now())).status()));
    EXPECT_TRUE(expected(store_->Release(SpaceName(), {0, grant.token, absl::Now()})));
    EXPECT_TRUE(expected(store_->Show(SpaceName()).status())) << store_->Show(SpaceName()).status();
  };
  for (const char* text : {"", "x", "0 - - 1 1 a {}"}) {
    SetRaw("id/0000000000", text);
    all([](const absl::Status& status) { return absl::IsDataLoss(status); });
  }
  SetRaw("id/0000000000", record);
  SetRaw("space", "1 x");
  all([](const absl::Status& status) { return absl::IsDataLoss(status); });
  SetRaw("space", "2 - 1 1");
  all([](const absl::Status& status) { return absl::IsFailedPrecondition(status); });
  SetRaw("space", "1 - 1 1");
  const Change odd{Change::Kind::kCreate, PathOf("id/x"), "", -1};
  ASSERT_TRUE(*raw_->Commit({&odd, 1}, raw_->Deadline()));
  EXPECT_TRUE(absl::IsDataLoss(store_->Show(SpaceName()).status()));
}

TEST_F(ZookeeperWorkerTest, ForkedChild_IsRefused) {
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
  EXPECT_EQ(store_->Stats().sessions, 1u);
}

TEST(ZookeeperOptionsTest, ThatCannotBe_AreRefusedByName) {
  auto refusal = [](auto spoil, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    ZookeeperOptions options;
    options.hosts = {"127.0.0.1:2181"};
    spoil(options);
    const absl::Status status = ZookeeperWorkerLeaseStore::Open(options).status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& o) { o.hosts.clear(); }), HasSubstr("hosts"));
  for (const char* bad : {"", "host", "host:", "host:0", "host:65536", ":2181", "a,b:1", "a b:1"}) {
    EXPECT_THAT(refusal([&](auto& o) { o.hosts.push_back(bad); }), HasSubstr("host:port")) << bad;
  }
  for (const char* bad : {"", "/", "locus", "/a/", "/a//b", "/a/../b", "/a b"}) {
    EXPECT_THAT(refusal([&](auto& o) { o.prefix = bad; }), HasSubstr("prefix")) << bad;
  }
  EXPECT_THAT(refusal([](auto& o) { o.session_timeout = absl::ZeroDuration(); }),
              HasSubstr("session_timeout"));
  EXPECT_THAT(refusal([](auto& o) { o.timeout = absl::Hours(2); }), HasSubstr("timeout"));
  EXPECT_THAT(refusal([](auto& o) { o.password = "hunter2"; }), HasSubstr("user"));
  auto beyond = [](ZookeeperOptions& o) {
    o.user = "shop";
    o.password = "hunter2";
    o.hosts = {"127.0.0.1:2181", "zk1.example:2181"};
  };
  const std::string message = refusal(beyond, absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message, HasSubstr("zk1.example:2181"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("hunter2")));
  ZookeeperOptions trusting;
  beyond(trusting);
  trusting.password_in_plain_text = true;
  EXPECT_TRUE(trusting.Check().ok());
}

}  // namespace
}  // namespace locus
