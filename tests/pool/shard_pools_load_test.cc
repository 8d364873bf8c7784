// SPDX-License-Identifier: Apache-2.0
// Far more callers than connections.
#include <atomic>
#include <thread>

#include "tests/pool/shard_pools_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

class ShardPoolsLoadTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new MariadbServer;
    ASSERT_TRUE(server_->Start());
  }
  static void TearDownTestSuite() { delete server_; }

  // Every connection is held, as by a lock that all transactions need, until `requests` callers
  // stand in line. Each of them makes a second request after its first.
  static void ExpectAllServed(size_t requests) {
    const Shard shard = ShardOn(*server_, 1);
    ShardPoolsOptions options = PoolOptions();
    options.max_connections = 16;
    auto pools = MakePools(options);
    std::vector<ShardConnection> held;
    for (size_t i = 0; i < options.max_connections; ++i) {
      held.push_back(pools->Take(shard, In(absl::Seconds(20))).value());
    }
    std::atomic<size_t> served = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < requests; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 2; ++turn) {
          auto connection = pools->Take(shard, In(absl::Seconds(40)));
          ASSERT_TRUE(connection.ok()) << connection.status();
          if (Ask(*connection, "SELECT 1") == "1") ++served;
        }
      });
    }
    EXPECT_TRUE(WaitUntil([&] { return StatsOf(*pools, shard).waiting == requests; }));
    held.clear();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(served, 2 * requests);
    ShardPoolStats stats = StatsOf(*pools, shard);
    EXPECT_EQ(stats.timeouts, 0u);
    EXPECT_EQ(stats.refusals, 0u);
    EXPECT_EQ(stats.failures, 0u) << stats.last_error;
    EXPECT_EQ(stats.connects, options.max_connections);
    EXPECT_EQ(stats.idle, options.max_connections);
    EXPECT_EQ(stats.waiting, 0u);
    EXPECT_EQ(stats.taken, 2 * requests + options.max_connections);
  }

  static MariadbServer* server_;
};
MariadbServer* ShardPoolsLoadTest::server_;

// At 1,500 requests a second this many arrive while a lock is held for 150 ms, and for 2 s.
TEST_F(ShardPoolsLoadTest, ConnectionsHeldFor150Milliseconds_EveryRequestIsServed) {
  ExpectAllServed(225);
}
TEST_F(ShardPoolsLoadTest, ConnectionsHeldFor2Seconds_EveryRequestIsServed) {
  ExpectAllServed(kUnderTsan || kUnderAsan ? 500 : 3000);
}

}  // namespace
}  // namespace locus
