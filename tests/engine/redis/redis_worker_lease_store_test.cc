// SPDX-License-Identifier: Apache-2.0
// Worker leases on real servers: the contract, then the ways Redis can lose what was leased.
#include <sys/mman.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/engine/redis/workers.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/child_process.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {

using internal::RedisWorkerLeaseStoreAccess;

namespace {

constexpr char kKey[] = "locus:workers:{orders}";

RedisServer& SharedServer() {
  static auto* server = new RedisServer();
  static bool stops = std::atexit([] { delete server; }) == 0;
  EXPECT_TRUE(stops);
  return *server;
}

std::unique_ptr<RedisWorkerLeaseStore> Open(const RedisOptions& server, Clock* clock) {
  auto store = RedisWorkerLeaseStoreAccess::Open(server, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

class RedisUnderTest : public WorkerStoreUnderTest {
 public:
  RedisUnderTest() { EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK"); }
  std::unique_ptr<WorkerLeaseStore> Connect() override {
    return Open(SharedServer().options(), &clock_);
  }
  void LoseAll() override { EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK"); }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Redis, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "redis", [] { return std::make_unique<RedisUnderTest>(); }}));

WorkerAcquire Wish(const std::string& nonce, absl::Time now) {
  WorkerAcquire wish;
  wish.range = {0, 7};
  wish.nonce = nonce;
  wish.caller_now = now;
  return wish;
}

WorkerRenew RenewalOf(const WorkerGrant& grant, const std::string& nonce, absl::Time now) {
  WorkerRenew renewal;
  renewal.worker = grant.worker;
  renewal.token = grant.token;
  renewal.ceiling = grant.ceiling;
  renewal.nonce = nonce;
  renewal.caller_now = now;
  return renewal;
}

class RedisWorkerTest : public ::testing::Test {
 protected:
  std::unique_ptr<RedisWorkerLeaseStore> Open(const RedisServer& server) {
    return locus::Open(server.options(), &clock_);
  }
  std::unique_ptr<RedisWorkerLeaseStore> Open() { return Open(server_); }
  std::unique_ptr<RedisWorkerLeaseStore> OpenWithSpace() {
    auto store = Open();
    EXPECT_TRUE(store->Create(space_, {.first_ever = true}, now()).ok());
    return store;
  }
  absl::StatusOr<WorkerGrant> TryAcquire(WorkerLeaseStore& store, const std::string& nonce) {
    return store.Acquire(space_, Wish(nonce, now()));
  }
  WorkerGrant Acquire(WorkerLeaseStore& store, const std::string& nonce) {
    auto grant = TryAcquire(store, nonce);
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.value_or(WorkerGrant());
  }
  absl::StatusOr<WorkerGrant> Renew(WorkerLeaseStore& store, const WorkerGrant& grant,
                                    const std::string& nonce) {
    return store.Renew(space_, RenewalOf(grant, nonce, now()));
  }
  // The store has forgotten `lost`, whose holder is alive. No other holder gets its ID while that
  // may be so; the holder, if it renews, keeps it.
  void ExpectLossNoticed(WorkerLeaseStore& store, const WorkerGrant& lost,
                         const std::string& nonce) {
    const absl::Status status = TryAcquire(store, "other").status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(store.Show(space_)->losses, 1u) << "stored by the call that was refused";
    EXPECT_GE(store.Show(space_)->rest_until, lost.ceiling);
    auto renewed = Renew(store, lost, nonce);
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_EQ(renewed->token, lost.token);
    clock_.Advance(store.Show(space_)->rest_until - now() + absl::Milliseconds(1));
    const WorkerGrant next = Acquire(store, "later");
    EXPECT_NE(next.worker, renewed->ceiling >= now() ? lost.worker : 99);
    EXPECT_GE(next.floor, lost.ceiling);
    EXPECT_GT(next.token, lost.token);
  }
  absl::Time now() { return clock_.Now(); }

  RedisServer server_;
  fakes::ManualClock clock_;
  SpaceName space_;
};

TEST_F(RedisWorkerTest, WithoutAClockOfTests_TheServersTimeCounts) {
  auto store = RedisWorkerLeaseStore::Open(server_.options()).value();
  const absl::Time wall = absl::Now();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, wall).ok());
  auto grant = store->Acquire(space_, Wish("a", wall));
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_LT(absl::AbsDuration(grant->granted_at - wall), absl::Seconds(30));
  EXPECT_EQ(grant->granted_at, absl::FromUnixMillis(absl::ToUnixMillis(grant->granted_at)));
  for (absl::Duration off : {-absl::Minutes(2), absl::Minutes(2)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(store->Acquire(space_, Wish("b", wall + off)).status()));
  }
}

TEST_F(RedisWorkerTest, EachCall_IsOneScript) {
  auto store = OpenWithSpace();
  Acquire(*store, "warm");
  const WorkerGrant grant = Acquire(*store, "a");
  ASSERT_TRUE(Renew(*store, grant, "a").ok());
  const uint64_t calls = store->Stats().calls;
  Acquire(*store, "b");
  ASSERT_TRUE(Renew(*store, grant, "a").ok());
  EXPECT_EQ(store->Stats().calls, calls + 2);
}

TEST_F(RedisWorkerTest, FlushAll_GrantsNothingUntilAHolderRenewsOrItIsCreated) {
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  ASSERT_EQ(server_.Ask("FLUSHALL"), "OK");
  EXPECT_TRUE(absl::IsNotFound(TryAcquire(*store, "b").status()));
  EXPECT_EQ(server_.Ask("DBSIZE"), "0") << "an acquire creates nothing";
  auto renewed = Renew(*store, grant, "a");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(renewed->loss_noticed);
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
}

TEST_F(RedisWorkerTest, RestartFromAnOlderDump_IsALoss) {
  auto store = OpenWithSpace();
  Acquire(*store, "saved");
  ASSERT_EQ(server_.Ask("SAVE"), "OK");
  const WorkerGrant grant = Acquire(*store, "a");
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  ExpectLossNoticed(*Open(), grant, "a");
}

TEST_F(RedisWorkerTest, RestartWithAllData_CountsAsALossAndHoldersStay) {
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  ASSERT_EQ(server_.Ask("SAVE"), "OK");
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  store = Open();
  auto renewed = Renew(*store, grant, "a");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(renewed->loss_noticed);
  EXPECT_FALSE(Renew(*store, *renewed, "a")->loss_noticed) << "once";
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
  // An acquire that is sent again is answered also now.
  EXPECT_EQ(Acquire(*store, "a").token, grant.token);
}

TEST_F(RedisWorkerTest, RestartWithoutPersistence_IsNotFoundUntilAHolderRenews) {
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  store = Open();
  EXPECT_TRUE(absl::IsNotFound(TryAcquire(*store, "b").status()));
  EXPECT_TRUE(Renew(*store, grant, "a")->loss_noticed);
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
}

TEST_F(RedisWorkerTest, FailoverToALaggingReplica_IsALoss) {
  RedisServer replica;
  auto store = OpenWithSpace();
  Acquire(*store, "replicated");
  ASSERT_TRUE(Replicate(server_, replica));
  CutOff(replica);
  const WorkerGrant grant = Acquire(*store, "a");
  server_.KillHard();
  replica.Ask("REPLICAOF NO ONE");
  ExpectLossNoticed(*Open(replica), grant, "a");
}

TEST_F(RedisWorkerTest, MasterThatWasAReplicaMeanwhile_IsALossOnTheOldConnectionToo) {
  RedisServer other;
  auto store = OpenWithSpace();
  Acquire(*store, "replicated");
  ASSERT_TRUE(Replicate(server_, other));
  CutOff(other);
  const WorkerGrant grant = Acquire(*store, "a");
  other.Ask("REPLICAOF NO ONE");
  ASSERT_TRUE(Replicate(other, server_));
  server_.Ask("REPLICAOF NO ONE");
  ExpectLossNoticed(*store, grant, "a");
}

TEST_F(RedisWorkerTest, WritableReplicaUnderAnOldConnection_GrantsAndReleasesNothing) {
  RedisServer other;
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  ASSERT_TRUE(Replicate(server_, other));
  other.Ask("REPLICAOF NO ONE");
  server_.Ask("CONFIG SET replica-read-only no");
  ASSERT_TRUE(Replicate(other, server_));
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()) ||
              absl::IsFailedPrecondition(TryAcquire(*store, "b").status()));
  EXPECT_FALSE(Renew(*store, grant, "a").ok());
  EXPECT_FALSE(store->Release(space_, {grant.worker, grant.token, now()}).ok());
}

TEST_F(RedisWorkerTest, ReplicaThatAttaches_IsNoLoss) {
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  RedisServer replica;
  ASSERT_TRUE(Replicate(server_, replica));
  EXPECT_FALSE(Renew(*store, grant, "a")->loss_noticed);
  Acquire(*store, "b");
}

TEST_F(RedisWorkerTest, LongerLease_LengthensTheRestAfterALoss) {
  auto store = OpenWithSpace();
  WorkerAcquire wish = Wish("a", now());
  wish.term.ttl = absl::Hours(3);
  const WorkerGrant grant = store->Acquire(space_, wish).value();
  ASSERT_EQ(server_.Ask("SAVE"), "OK");
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  store = Open();
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
  EXPECT_GE(store->Show(space_)->rest_until, grant.ceiling);
}

// Not covered (docs/run/engines-redis.md): a rewind that leaves the same master.
TEST_F(RedisWorkerTest, RewindUnderTheSameMaster_IsNoticedOnlyByTheHoldersRenewal) {
  auto store = OpenWithSpace();
  Acquire(*store, "before");
  server_.Ask(absl::StrCat("COPY ", kKey, " old"));
  const WorkerGrant grant = Acquire(*store, "a");
  server_.Ask(absl::StrCat("RENAME old ", kKey));
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(Acquire(*store, "b").worker, grant.worker) << "this is the hole";
  EXPECT_TRUE(absl::IsAborted(Renew(*store, grant, "a").status()));
  EXPECT_EQ(store->Show(space_)->losses, 1u) << "and this is how it is noticed";
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "c").status()));
}

// Not covered: an old master that still grants, once the new one has waited.
TEST_F(RedisWorkerTest, TwoMasters_GrantOneIdTwiceOnceTheNewOneHasRested) {
  RedisServer replica;
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  ASSERT_TRUE(Replicate(server_, replica));
  replica.Ask("REPLICAOF NO ONE");
  auto other = Open(replica);
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*other, "b").status()));
  WorkerGrant held = grant;
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(absl::Minutes(5));
    auto renewed = Renew(*store, held, "a");
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    held = *renewed;
  }
  EXPECT_EQ(Acquire(*other, "b").worker, grant.worker) << "this is the hole";
  EXPECT_GE(held.ceiling, now());
}

TEST_F(RedisWorkerTest, Facts_AreThoseOfTheConfiguration) {
  const WorkerStoreFacts one = Open()->facts();
  EXPECT_EQ(one.engine, "redis");
  EXPECT_FALSE(one.durable);
  EXPECT_TRUE(one.notices_loss);
  RedisSentinel sentinel(server_);
  RedisOptions options;
  options.addresses = {{"127.0.0.1", sentinel.port()}};
  options.master_name = "orders";
  EXPECT_FALSE(locus::Open(options, &clock_)->facts().notices_loss);
}

TEST_F(RedisWorkerTest, MasterKilledUnderSentinels_SuccessorRestsAndTheHolderStays) {
  RedisServer replica;
  RedisSentinel sentinel(server_);
  RedisOptions options;
  options.addresses = {{"127.0.0.1", sentinel.port()}};
  options.master_name = "orders";
  options.timeout = options.connect_timeout = absl::Seconds(5);
  auto store = locus::Open(options, &clock_);
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, now()).ok());
  ASSERT_TRUE(Replicate(server_, replica));
  ASSERT_TRUE(WaitUntil([&] {  // the sentinel knows the replica
    return AskRedis(sentinel.port(), {"SENTINEL", "replicas", "orders"})
               .find(absl::StrCat(replica.port())) != std::string::npos;
  }));
  const WorkerGrant grant = Acquire(*store, "a");
  server_.KillHard();
  absl::StatusOr<WorkerGrant> renewed;
  ASSERT_TRUE(WaitUntil([&] {
    renewed = Renew(*store, grant, "a");
    EXPECT_TRUE(renewed.ok() || absl::IsUnavailable(renewed.status())) << renewed.status();
    return renewed.ok();
  }));
  EXPECT_TRUE(renewed->loss_noticed);
  EXPECT_EQ(renewed->token, grant.token);
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "b").status()));
}

TEST_F(RedisWorkerTest, StalledServer_IsUnavailableInTimeAndTheNonceFindsTheLease) {
  RedisOptions options = server_.options();
  options.timeout = options.connect_timeout = absl::Seconds(1);
  auto store = locus::Open(options, &clock_);
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, now()).ok());
  Acquire(*store, "warm");
  server_.Stall();
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(TryAcquire(*store, "a").status()));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  server_.Resume();
  absl::StatusOr<WorkerGrant> grant;
  ASSERT_TRUE(WaitUntil([&] { return (grant = TryAcquire(*store, "a")).ok(); }));
  // However often it was carried out, it holds one ID.
  ASSERT_TRUE(WaitUntil([&] { return store->Show(space_).ok(); }));
  EXPECT_EQ(store->Show(space_)->workers.size(), 2u);
}

TEST_F(RedisWorkerTest, SpoiltState_IsNamed) {
  auto store = OpenWithSpace();
  const WorkerGrant grant = Acquire(*store, "a");
  auto set = [&](const std::string& field, const std::string& value) {
    server_.AskWords({"HSET", kKey, field, value});
  };
  set("schema", "2");
  EXPECT_TRUE(absl::IsFailedPrecondition(TryAcquire(*store, "b").status()));
  set("schema", "1");
  for (const char* record : {"", "x", "9007199254740992 - - 1 1 a {}", "0 - - 1 1 a {}",
                             "1 - 9999999999999999 1 1 a {}", "1 - 1e3 1 1 a {}"}) {
    set("0", record);
    EXPECT_TRUE(absl::IsDataLoss(TryAcquire(*store, "b").status())) << record;
    EXPECT_TRUE(absl::IsDataLoss(Renew(*store, grant, "a").status())) << record;
    EXPECT_TRUE(absl::IsDataLoss(store->Release(space_, {0, grant.token, now()}))) << record;
    EXPECT_TRUE(absl::IsDataLoss(store->Show(space_).status())) << record;
  }
  set("rest_until", "soon");
  EXPECT_TRUE(absl::IsDataLoss(TryAcquire(*store, "b").status()));
  server_.Ask(absl::StrCat("DEL ", kKey));
  set("other", "x");
  EXPECT_TRUE(absl::IsDataLoss(TryAcquire(*store, "b").status()));
  server_.Ask(absl::StrCat("SET ", kKey, " x"));
  EXPECT_TRUE(absl::IsDataLoss(TryAcquire(*store, "b").status()));
}

TEST_F(RedisWorkerTest, TokenThatADoubleDoesNotHold_IsRefused) {
  auto store = OpenWithSpace();
  WorkerGrant grant = Acquire(*store, "a");
  grant.token = (uint64_t{1} << 52) + 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Renew(*store, grant, "a").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store->Release(space_, {0, grant.token, now()})));
}

TEST_F(RedisWorkerTest, UserWithTheDocumentedRights_CanDoAll) {
  ASSERT_EQ(server_.AskWords({"ACL",    "SETUSER",   "orders",         "on",
                              ">pw",    "resetkeys", "~locus:*",       "-@all",
                              "+eval",  "+evalsha",  "+info",          "+select",
                              "+time",  "+hmget",    "+hset",          "+hget",
                              "+hscan", "+exists",   "+cluster|slots", "+asking"}),
            "OK");
  RedisOptions options = server_.options();
  options.user = "orders";
  options.password = "pw";
  auto store = RedisWorkerLeaseStore::Open(options).value();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, absl::Now()).ok());
  auto grant = store->Acquire(space_, Wish("a", absl::Now()));
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_TRUE(store->Renew(space_, RenewalOf(*grant, "a", absl::Now())).ok());
  EXPECT_EQ(store->Show(space_)->workers.size(), 1u);
  EXPECT_TRUE(store->Release(space_, {grant->worker, grant->token, absl::Now()}).ok());
}

TEST_F(RedisWorkerTest, ForkedChild_IsRefused) {
  auto store = OpenWithSpace();
  ChildProcess child([&] {
    const bool refused = absl::IsFailedPrecondition(TryAcquire(*store, "b").status());
    store.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  Acquire(*store, "a");
}

// Processes take IDs, note them in shared memory while they hold them, and give them back. The
// server is killed and starts without what it held.
struct Notes {
  std::atomic<int> holders[8];
  std::atomic<int> shared;
  std::atomic<uint64_t> grants;
};

int TakeAndGiveBack(const RedisOptions& server, Notes& notes, int process) {
  std::unique_ptr<RedisWorkerLeaseStore> store;
  for (uint64_t round = 0;; ++round) {
    if (store == nullptr) {
      auto opened = RedisWorkerLeaseStore::Open(server);
      if (!opened.ok()) continue;
      store = *std::move(opened);
    }
    const std::string nonce = absl::StrCat(process, "-", round);
    WorkerAcquire wish = Wish(nonce, absl::Now());
    wish.start = round % 8;
    auto grant = store->Acquire(SpaceName(), wish);
    if (!grant.ok()) continue;
    notes.shared += ++notes.holders[grant->worker] != 1 ? 1 : 0;
    ++notes.grants;
    --notes.holders[grant->worker];
    store->Release(SpaceName(), {grant->worker, grant->token, absl::Now()}).IgnoreError();
  }
}

TEST_F(RedisWorkerTest, ManyProcessesAndAServerThatIsStalled_NeverShareAnId) {
  auto* notes = static_cast<Notes*>(
      mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(notes, MAP_FAILED);
  RedisOptions options = server_.options();
  options.timeout = options.connect_timeout = absl::Seconds(1);
  {
    auto store = RedisWorkerLeaseStore::Open(options).value();
    ASSERT_TRUE(store->Create(space_, {.first_ever = true}, absl::Now()).ok());
  }
  std::vector<ChildProcess> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&, i] { return TakeAndGiveBack(options, *notes, i); });
  }
  auto go_on = [&] {
    const uint64_t before = notes->grants;
    return WaitUntil([&] { return notes->grants > before + 500; });
  };
  ASSERT_TRUE(go_on());
  server_.Stall();
  EXPECT_TRUE(absl::IsUnavailable(RedisWorkerLeaseStore::Open(options).status()));
  server_.Resume();
  ASSERT_TRUE(go_on());
  for (ChildProcess& child : children) {
    child.Kill(SIGKILL);
    EXPECT_EQ(child.Wait(), -SIGKILL);
  }
  EXPECT_EQ(notes->shared, 0);
  munmap(notes, sizeof(Notes));
}

}  // namespace
}  // namespace locus
