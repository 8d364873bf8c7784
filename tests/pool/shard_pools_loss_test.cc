// SPDX-License-Identifier: Apache-2.0
// Shards that die, hang, come back and move, while others are in use.
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "locus/routing/router.h"
#include "tests/pool/shard_pools_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(20);

// Two servers, a shard on each.
class ShardPoolsLossTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    first_ = new MariadbServer;
    second_ = new MariadbServer;
    for (MariadbServer* server : {first_, second_}) ASSERT_TRUE(server->Start());
  }
  static void TearDownTestSuite() {
    delete first_;
    delete second_;
  }
  static bool Answers(ShardPools& pools, const RoutedShard& shard) {
    auto connection = pools.Take(shard, In(kSoon));
    return connection.ok() && Ask(*connection, "SELECT 1") == "1";
  }

  static MariadbServer* first_;
  static MariadbServer* second_;
  const Shard fails_ = ShardOn(*first_, 1);
  const Shard lives_ = ShardOn(*second_, 2);
};

MariadbServer* ShardPoolsLossTest::first_;
MariadbServer* ShardPoolsLossTest::second_;

TEST_F(ShardPoolsLossTest, ServerKilledAndRestarted_NoCallerGetsADeadConnection) {
  auto pools = MakePools();
  {
    std::vector<ShardConnection> held;
    for (int i = 0; i < 4; ++i) held.push_back(pools->Take(fails_, In(kSoon)).value());
  }
  EXPECT_EQ(StatsOf(*pools, fails_).idle, 4u);
  first_->KillHard();
  ASSERT_TRUE(first_->Start());
  for (int i = 0; i < 5; ++i) {
    auto connection = pools->Take(fails_, In(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ(Ask(*connection, "SELECT DATABASE()"), "locus_shard1");
  }
  EXPECT_EQ(StatsOf(*pools, fails_).connects, 5u);
  EXPECT_EQ(StatsOf(*pools, fails_).failures, 4u) << "those that were idle";
}

TEST_F(ShardPoolsLossTest, ServerGone_RefusesAtOnceAndHealsByItself) {
  auto pools = MakePools();
  EXPECT_TRUE(Answers(*pools, fails_));
  first_->KillHard();
  absl::Status status = pools->Take(fails_, In(kSoon)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: mariadb 127.0.0.1:"));
  // Far more callers than there are attempts to connect: nearly all are answered from memory.
  uint64_t failures = StatsOf(*pools, fails_).failures;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(pools->Take(fails_, In(kSoon)).status()));
    EXPECT_TRUE(i % 100 != 0 || Answers(*pools, lives_)) << "the other shard is untouched";
  }
  EXPECT_TRUE(StatsOf(*pools, fails_).refusing);
  EXPECT_LT(StatsOf(*pools, fails_).failures - failures, 500u);
  ASSERT_TRUE(first_->Start());
  EXPECT_TRUE(WaitUntil([&] { return Answers(*pools, fails_); }));
  EXPECT_FALSE(StatsOf(*pools, fails_).refusing);
  EXPECT_TRUE(StatsOf(*pools, fails_).last_error.ok());
}

// A stopped server still accepts TCP: only timeouts find it out.
TEST_F(ShardPoolsLossTest, ServerStalled_CallersEndByTheirTimeouts) {
  auto pools = MakePools(HastyPoolOptions());
  auto used = pools->Take(fails_, In(kSoon)).value();
  EXPECT_TRUE(Answers(*pools, lives_));
  first_->Stall();
  absl::Status status;
  // The pool's thread may not have got as far as connecting at once.
  EXPECT_TRUE(WaitUntil([&] {
    status = pools->Take(fails_, In(absl::Milliseconds(50))).status();
    return absl::StrContains(status.message(), "an attempt to connect has not been answered yet");
  }));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(Ask(used, "SELECT 1"), "error 2013") << "by the read timeout";
  { auto given_back = std::move(used); }
  EXPECT_EQ(StatsOf(*pools, fails_).idle, 0u);
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(*pools, fails_).refusing; })) << "by that to connect";
  status = pools->Take(fails_, In(kSoon)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(Answers(*pools, lives_));
  first_->Resume();
  EXPECT_TRUE(WaitUntil([&] { return Answers(*pools, fails_); }));
}

TEST_F(ShardPoolsLossTest, ServerStalledWithIdleConnections_OnePingFindsOut) {
  ShardPoolsOptions options = HastyPoolOptions();
  options.ping_after = absl::ZeroDuration();
  auto pools = MakePools(options);
  {
    std::vector<ShardConnection> held;
    for (int i = 0; i < 4; ++i) held.push_back(pools->Take(fails_, In(kSoon)).value());
  }
  first_->Stall();
  absl::Status status = pools->Take(fails_, In(kSoon)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("does not respond; callers are refused"));
  EXPECT_EQ(StatsOf(*pools, fails_).open, 0u) << "the others would have hung too";
  first_->Resume();
  EXPECT_TRUE(WaitUntil([&] { return Answers(*pools, fails_); }));
}

TEST_F(ShardPoolsLossTest, PoolsDestroyedWhileAServerStalls_End) {
  auto pools = MakePools(HastyPoolOptions());
  first_->Stall();
  EXPECT_FALSE(pools->Take(fails_, In(absl::Milliseconds(20))).ok());
  pools.reset();
  first_->Resume();
}

// Shard 1 of epoch E lives on the first server for odd epochs, on the second for even ones.
class ShardPoolsRetargetTest : public ShardPoolsLossTest {
 protected:
  RoutingTable TableOf(uint64_t epoch) {
    Shard shard = fails_;
    if (epoch % 2 == 0) {
      shard.endpoint = absl::StrCat("mysql://127.0.0.1:", second_->port(), "/locus_shard1");
    }
    return RoutingTable::Make(epoch, {shard}, {{65535, 1}}).value();
  }
  void SetUp() override { ShardOn(*second_, 1); }
  static int64_t SessionsOn(MariadbServer& server) {
    return std::stoll(
        server.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'locus'"));
  }

  const OrderId order_{};
};

TEST_F(ShardPoolsRetargetTest, EndpointChanged_IdleConnectionsGoAndThoseInUseFinish) {
  Router router(TableOf(1));
  auto pools = MakePools();
  auto port = absl::StrCat("SELECT @@port");
  auto in_use = pools->Take(router.Route(order_), In(kSoon)).value();
  EXPECT_TRUE(Answers(*pools, router.Route(order_)));
  EXPECT_EQ(SessionsOn(*first_), 2);
  ASSERT_TRUE(router.Install(TableOf(2)).ok());
  auto moved = pools->Take(router.Route(order_), In(kSoon)).value();
  EXPECT_EQ(Ask(moved, port), absl::StrCat(second_->port()));
  EXPECT_EQ(Ask(in_use, port), absl::StrCat(first_->port())) << "goes on";
  ShardPoolStats stats = StatsOf(*pools, fails_);
  EXPECT_EQ(stats.retargets, 1u);
  EXPECT_EQ(stats.open, 2u);
  EXPECT_EQ(stats.connects, 3u);
  EXPECT_EQ(stats.place, absl::StrCat("127.0.0.1:", second_->port(), "/locus_shard1"));
  EXPECT_TRUE(WaitUntil([&] { return SessionsOn(*first_) == 1; })) << "the idle one is closed";
  { auto given_back = std::move(in_use); }
  EXPECT_TRUE(WaitUntil([&] { return SessionsOn(*first_) == 0; })) << "not used again";
  ASSERT_TRUE(router.Install(TableOf(3)).ok());
  EXPECT_EQ(Ask(*pools->Take(router.Route(order_), 3, In(kSoon)), port),
            absl::StrCat(first_->port()));
}

TEST_F(ShardPoolsRetargetTest, EndpointChangedWhileCallersWait_TheyGetAborted) {
  Router router(TableOf(1));
  ShardPoolsOptions options = PoolOptions();
  options.max_connections = 1;
  auto pools = MakePools(options);
  auto only = pools->Take(router.Route(order_), In(kSoon)).value();
  absl::Status status;
  std::thread waiter([&] { status = pools->Take(router.Route(order_), In(kSoon)).status(); });
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(*pools, fails_).waiting == 1; }));
  ASSERT_TRUE(router.Install(TableOf(2)).ok());
  EXPECT_TRUE(Answers(*pools, router.Route(order_))) << "though the old one has its only one out";
  waiter.join();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

// The old server hangs, which may be why the endpoint changes: no caller waits for it.
TEST_F(ShardPoolsRetargetTest, OldServerStalled_NewOneIsUsedAtOnce) {
  Router router(TableOf(1));
  auto pools = MakePools();
  auto in_use = pools->Take(router.Route(order_), In(kSoon)).value();
  first_->Stall();
  EXPECT_FALSE(pools->Take(router.Route(order_), In(absl::Milliseconds(20))).ok());
  ASSERT_TRUE(router.Install(TableOf(2)).ok());
  EXPECT_TRUE(Answers(*pools, router.Route(order_)));
  EXPECT_FALSE(WaitUntil([&] { return StatsOf(*pools, fails_).open < 2; }, absl::ZeroDuration()));
  first_->Resume();
}

TEST_F(ShardPoolsRetargetTest, OldAndNewHandleInTurn_TheNewerWins) {
  Router router(TableOf(1));
  auto pools = MakePools();
  const RoutedShard& old_handle = router.Route(order_);
  EXPECT_TRUE(pools->Take(old_handle, 1, In(kSoon)).ok());
  ASSERT_TRUE(router.Install(TableOf(2)).ok());
  const RoutedShard& new_handle = router.Route(order_);
  for (int i = 0; i < 5; ++i) {
    auto connection = pools->Take(new_handle, 2, In(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ(Ask(*connection, "SELECT @@port"), absl::StrCat(second_->port()));
    absl::Status status = pools->Take(old_handle, 1, In(kSoon)).status();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: the table of epoch 2 has it at "));
  }
  EXPECT_TRUE(pools->Take(new_handle, 1, In(kSoon)).ok()) << "its endpoint is the newest";
  EXPECT_EQ(StatsOf(*pools, fails_).connects, 2u);
  EXPECT_EQ(StatsOf(*pools, fails_).retargets, 1u);

  ASSERT_TRUE(router.Install(TableOf(3)).ok());
  EXPECT_EQ(&router.Route(order_), &old_handle);
  EXPECT_TRUE(pools->Take(old_handle, 3, In(kSoon)).ok()) << "where it was is where it is again";
  EXPECT_TRUE(absl::IsAborted(pools->Take(new_handle, 2, In(kSoon)).status()));
}

TEST_F(ShardPoolsRetargetTest, OldAndNewHandleInTurnWithoutEpochs_TheOneThatCameLaterWins) {
  Router router(TableOf(1));
  auto pools = MakePools();
  const RoutedShard& old_handle = router.Route(order_);
  EXPECT_TRUE(pools->Take(old_handle, In(kSoon)).ok());
  ASSERT_TRUE(router.Install(TableOf(2)).ok());
  const RoutedShard& new_handle = router.Route(order_);
  absl::Status status;
  // If this program stops for a second, the old handle wins that time.
  EXPECT_TRUE(WaitUntil([&] {
    if (!pools->Take(new_handle, In(kSoon)).ok()) return false;
    status = pools->Take(old_handle, In(kSoon)).status();
    return absl::IsAborted(status);
  }));
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: it moved to "));
  EXPECT_TRUE(WaitUntil([&] { return pools->Take(old_handle, In(kSoon)).ok(); }))
      << "where it was is where it is again, once no caller asks for the other endpoint";
  EXPECT_GE(StatsOf(*pools, fails_).retargets, 2u);
}

TEST_F(ShardPoolsRetargetTest, EndpointChangedUnderLoad_EveryCallerGetsTheServerOfItsHandle) {
  constexpr uint64_t kEpochs = 40;
  Router router(TableOf(1));
  auto pools = MakePools();
  std::atomic<bool> done = false;
  std::atomic<uint64_t> answered = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const uint64_t epoch = router.epoch();
        const RoutedShard& shard = router.Route(order_);
        auto connection = pools->Take(shard, epoch, In(kSoon));
        if (absl::IsAborted(connection.status())) continue;
        ASSERT_TRUE(connection.ok()) << connection.status();
        std::string port = Ask(*connection, "SELECT @@port");
        EXPECT_THAT(shard.endpoint, HasSubstr(absl::StrCat(":", port, "/")));
        ++answered;
      }
    });
  }
  for (uint64_t epoch = 2; epoch <= kEpochs; ++epoch) {
    uint64_t before = answered;
    EXPECT_TRUE(WaitUntil([&] { return answered > before + 8; }));
    EXPECT_TRUE(router.Install(TableOf(epoch)).ok());
  }
  uint64_t before = answered;
  EXPECT_TRUE(WaitUntil([&] { return answered > before + 8; }));
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(StatsOf(*pools, fails_).retargets, kEpochs - 1);
  EXPECT_EQ(StatsOf(*pools, fails_).open, StatsOf(*pools, fails_).idle);
  EXPECT_TRUE(WaitUntil([&] { return SessionsOn(*first_) == 0; }));
}

}  // namespace
}  // namespace locus
