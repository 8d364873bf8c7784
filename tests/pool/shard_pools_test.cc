// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "locus/routing/router.h"
#include "routing/pool/breaker.h"
#include "routing/pool/shard_endpoint.h"
#include "tests/pool/shard_pools_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus {

using internal::Breaker;
using internal::ShardEndpoint;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kSoon = absl::Seconds(20);

TEST(ShardPoolsOptionsTest, LimitsBroken_AreNamed) {
  auto refusal = [](auto change) {
    ShardPoolsOptions options;
    change(options);
    absl::Status status = ShardPools::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  using O = ShardPoolsOptions;
  EXPECT_THAT(refusal([](O& o) { o.connect_timeout = {}; }), HasSubstr("connect_timeout is 0"));
  EXPECT_THAT(refusal([](O& o) { o.timeout = absl::Hours(2); }), HasSubstr("timeout is 2h"));
  EXPECT_THAT(refusal([](O& o) { o.max_connections = 0; }), HasSubstr("max_connections is 0"));
  EXPECT_THAT(refusal([](O& o) { o.min_idle = 17; }), HasSubstr("min_idle is 17"));
  EXPECT_THAT(refusal([](O& o) { o.idle_timeout = {}; }), HasSubstr("idle_timeout is 0"));
  EXPECT_THAT(refusal([](O& o) { o.max_lifetime = {}; }), HasSubstr("max_lifetime is 0"));
  EXPECT_THAT(refusal([](O& o) { o.ping_after = -absl::Seconds(1); }), HasSubstr("ping_after"));
  EXPECT_THAT(refusal([](O& o) { o.longest_pause = {}; }), HasSubstr("longest_pause is 0"));
}

TEST(ShardEndpointTest, GoodForms_AreRead) {
  auto plain = ShardEndpoint::Parse("mysql://db-1.example:3307/orders").value();
  EXPECT_EQ(plain.host.name, "db-1.example");
  EXPECT_EQ(plain.host.port, 3307);
  EXPECT_EQ(plain.database, "orders");
  EXPECT_FALSE(plain.tls);
  auto v6 = ShardEndpoint::Parse("mysql://[::1]/a%2Fb?tls=on").value();
  EXPECT_EQ(v6.host.name, "::1");
  EXPECT_EQ(v6.host.port, 3306);
  EXPECT_EQ(v6.database, "a/b");
  EXPECT_TRUE(v6.tls);
  auto ca = ShardEndpoint::Parse("mysql://h:1/o?tls_ca=/etc/ca%20x.pem").value();
  EXPECT_TRUE(ca.tls);
  EXPECT_EQ(ca.tls_ca_file, "/etc/ca x.pem");
}

TEST(ShardEndpointTest, BadForms_AreRefusedUnquoted) {
  for (const char* text :
       {"", "db:3306/orders", "postgres://h:1/o", "mysql://", "mysql:///o", "mysql://h:1",
        "mysql://h:1/", "mysql://h:0/o", "mysql://h:65536/o", "mysql://h:x/o", "mysql://[::1/o",
        "mysql://h,h2:1/o", "mysql://h:1/o?tls=off", "mysql://h:1/o?ssl=1", "mysql://h:1/%zz",
        "mysql://h:1/%00", "mysql://u:s3cret@h:1/o", "mysql://h:1/o?password=s3cret",
        "mysql://h:1/o?tls_ca="}) {
    absl::Status status = ShardEndpoint::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(status.ToString(), Not(HasSubstr("s3cret")));
  }
}

TEST(BreakerTest, FailuresInARow_PauseLongerUpToTheLongest) {
  using std::chrono::milliseconds;
  Breaker breaker(milliseconds(150));
  Breaker::TimePoint now{};
  EXPECT_FALSE(breaker.Refuses(now));
  for (milliseconds pause :
       {milliseconds(50), milliseconds(100), milliseconds(150), milliseconds(150)}) {
    breaker.OnFailure(now, 0);
    EXPECT_TRUE(breaker.Refuses(now + pause - milliseconds(1)));
    EXPECT_FALSE(breaker.Refuses(now + pause));
    now += pause;
    breaker.BeginProbe();
    EXPECT_TRUE(breaker.Refuses(now)) << "one probe at a time";
  }
  breaker.OnSuccess();
  EXPECT_FALSE(breaker.open());
  EXPECT_FALSE(breaker.Refuses(now));
}

TEST(BreakerTest, RandomPart_TakesOffUpToAHalf) {
  using std::chrono::milliseconds;
  Breaker breaker(milliseconds(1000));
  Breaker::TimePoint now{};
  breaker.OnFailure(now, 1);
  EXPECT_TRUE(breaker.Refuses(now + milliseconds(24)));
  EXPECT_FALSE(breaker.Refuses(now + milliseconds(25)));
  breaker.OnFailure(now + milliseconds(24), 0);
  EXPECT_FALSE(breaker.Refuses(now + milliseconds(25))) << "what was under way says nothing new";
}

class ShardPoolsTest : public ::testing::Test {
 protected:
  MariadbServer& server_ = SharedMariadb();
  const Shard shard_ = ShardOn(server_, 1);

  int64_t SessionsOfServer() {
    return std::stoll(
        server_.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'locus'"));
  }
};

TEST_F(ShardPoolsTest, MadeAndNotAsked_ConnectNothing) {
  auto pools = MakePools();
  EXPECT_TRUE(pools->Stats().empty());
  EXPECT_TRUE(WaitUntil([&] { return SessionsOfServer() == 0; }));
  {
    auto connection = pools->Take(shard_, In(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ(Ask(*connection, "SELECT DATABASE()"), "locus_shard1");
    EXPECT_EQ(SessionsOfServer(), 1);
  }
  ShardPoolStats stats = StatsOf(*pools, shard_);
  EXPECT_EQ(stats.open, 1u);
  EXPECT_EQ(stats.idle, 1u);
  EXPECT_EQ(stats.place, absl::StrCat("127.0.0.1:", server_.port(), "/locus_shard1"));
  ASSERT_TRUE(pools->Take(shard_, In(kSoon)).ok());
  EXPECT_EQ(StatsOf(*pools, shard_).connects, 1u) << "used again";
  EXPECT_EQ(StatsOf(*pools, shard_).taken, 2u);
}

TEST_F(ShardPoolsTest, NewSession_IsStrictAndUtf8AndLeavesTheRestToTheServer) {
  auto pools = MakePools();
  auto connection = pools->Take(shard_, In(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(Ask(*connection, "SELECT @@sql_mode"), "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION");
  EXPECT_EQ(Ask(*connection, "SELECT @@character_set_client"), "utf8mb4");
  EXPECT_EQ(Ask(*connection, "SELECT @@tx_isolation = @@GLOBAL.tx_isolation"), "1");
  EXPECT_EQ(Ask(*connection, "SELECT @@time_zone = @@GLOBAL.time_zone"), "1");
  EXPECT_EQ(Ask(*connection, "SELECT @@max_statement_time"), "10.000000");
  EXPECT_EQ(Ask(*connection, "SELECT @@innodb_lock_wait_timeout"), "10");
  EXPECT_EQ(Ask(*connection, "SELECT @@idle_transaction_timeout"), "60");
  EXPECT_EQ(Ask(*connection, "SELECT @@autocommit"), "1");
  EXPECT_EQ(Ask(*connection, "DO 1; DO 2"), "error 1064") << "one statement a call";
}

// Where such a bound is set, MariaDB asks it instead of idle_transaction_timeout.
TEST_F(ShardPoolsTest, ServerBoundsTransactionsByKind_OurBoundHolds) {
  server_.Sql(
      "SET GLOBAL idle_write_transaction_timeout = 600;"
      " SET GLOBAL idle_readonly_transaction_timeout = 600");
  auto pools = MakePools();
  auto connection = pools->Take(shard_, In(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(Ask(*connection, "SELECT @@idle_write_transaction_timeout"), "0");
  EXPECT_EQ(Ask(*connection, "SELECT @@idle_readonly_transaction_timeout"), "0");
  EXPECT_EQ(Ask(*connection, "SELECT @@idle_transaction_timeout"), "60");
  server_.Sql(
      "SET GLOBAL idle_write_transaction_timeout = 0;"
      " SET GLOBAL idle_readonly_transaction_timeout = 0");
}

TEST_F(ShardPoolsTest, AllInUse_CallersWaitInLineUntilTheirDeadline) {
  auto pools = MakePools();
  std::vector<ShardConnection> held;
  for (int i = 0; i < 4; ++i) held.push_back(pools->Take(shard_, In(kSoon)).value());
  absl::Status status = pools->Take(shard_, In(absl::Milliseconds(20))).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: no connection to 127.0.0.1:"));
  EXPECT_THAT(status.ToString(), HasSubstr("4 of at most 4 are open, 0 idle"));

  std::atomic<int> served = 0;
  std::vector<std::thread> waiters;
  for (size_t i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] {
      auto connection = pools->Take(shard_, In(kSoon));
      EXPECT_TRUE(connection.ok()) << connection.status();
      EXPECT_EQ(served++, static_cast<int>(i)) << "in the order they came";
    });
    ASSERT_TRUE(WaitUntil([&] { return StatsOf(*pools, shard_).waiting == i + 1; }));
  }
  EXPECT_EQ(served, 0);
  held.pop_back();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(StatsOf(*pools, shard_).connects, 4u);
  EXPECT_EQ(StatsOf(*pools, shard_).open, 4u);
}

// One account may have two connections; the pool would like four.
TEST_F(ShardPoolsTest, ServerGivesNoMoreConnections_CallersShareThoseThatAreOpen) {
  server_.Sql("ALTER USER locus@'%' WITH MAX_USER_CONNECTIONS 2");
  auto pools = MakePools();
  std::vector<ShardConnection> held;
  for (int i = 0; i < 2; ++i) held.push_back(pools->Take(shard_, In(kSoon)).value());
  std::atomic<int> served = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 6; ++i) {
    waiters.emplace_back([&] {
      auto connection = pools->Take(shard_, In(kSoon));
      EXPECT_TRUE(connection.ok()) << connection.status();
      if (connection.ok() && Ask(*connection, "SELECT 1") == "1") ++served;
    });
  }
  ASSERT_TRUE(WaitUntil([&] {
    ShardPoolStats stats = StatsOf(*pools, shard_);
    return stats.waiting == 6 && stats.failures > 1;
  }));
  ShardPoolStats stats = StatsOf(*pools, shard_);
  EXPECT_EQ(stats.limit, 2u);
  EXPECT_FALSE(stats.refusing);
  EXPECT_TRUE(absl::IsUnavailable(stats.last_error)) << stats.last_error;
  absl::Status status = pools->Take(shard_, In(absl::Milliseconds(20))).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("2 of at most 4 are open"));
  EXPECT_THAT(status.ToString(), HasSubstr("max_user_connections"));
  held.clear();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(served, 6);
  EXPECT_EQ(StatsOf(*pools, shard_).refusals, 0u);
  server_.Sql("ALTER USER locus@'%' WITH MAX_USER_CONNECTIONS 0");
  for (int i = 0; i < 2; ++i) held.push_back(pools->Take(shard_, In(kSoon)).value());
  auto third = pools->Take(shard_, In(kSoon));
  EXPECT_TRUE(third.ok()) << "the limit is lowered for a while only: " << third.status();
  EXPECT_EQ(StatsOf(*pools, shard_).limit, 4u);
}

TEST_F(ShardPoolsTest, ManyThreads_NeverShareAConnectionNorExceedTheLimit) {
  auto pools = MakePools();
  const Shard other = ShardOn(server_, 2);
  std::atomic<int> in_use[2] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        int which = (i + t) % 2;
        auto connection = pools->Take(which == 0 ? shard_ : other, In(kSoon));
        ASSERT_TRUE(connection.ok()) << connection.status();
        EXPECT_LE(++in_use[which], 4);
        EXPECT_EQ(Ask(*connection, absl::StrCat("SET @mine = ", t * 1000 + i)), "");
        EXPECT_EQ(Ask(*connection, "SELECT @mine"), absl::StrCat(t * 1000 + i));
        if (i % 10 == 9) connection->Spoil();
        --in_use[which];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ShardPoolStats& stats : pools->Stats()) {
    EXPECT_EQ(stats.taken, 160u);
    EXPECT_EQ(stats.open, stats.idle);
    EXPECT_LE(stats.open, 4u);
    EXPECT_EQ(stats.failures, 0u) << stats.last_error;
  }
}

TEST_F(ShardPoolsTest, GivenBack_NothingOfTheSessionIsLeft) {
  ShardPoolsOptions options = PoolOptions();
  options.max_connections = 1;
  auto pools = MakePools(options);
  server_.Sql("CREATE OR REPLACE TABLE locus_shard1.t (a INT PRIMARY KEY)");
  {
    auto connection = pools->Take(shard_, In(kSoon)).value();
    for (const char* statement :
         {"SET @mine = 1", "SET SESSION sql_mode = '', max_statement_time = 77, autocommit = 0",
          "CREATE TEMPORARY TABLE mine (a INT)", "DO GET_LOCK('mine', 0)",
          "PREPARE mine FROM 'DO 1'", "START TRANSACTION", "INSERT INTO t VALUES (1)"}) {
      EXPECT_EQ(Ask(connection, statement), "") << statement;
    }
  }
  auto connection = pools->Take(shard_, In(kSoon)).value();
  EXPECT_EQ(Ask(connection, "SELECT @mine"), "NULL");
  EXPECT_EQ(Ask(connection, "SELECT @@sql_mode"), "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION");
  EXPECT_EQ(Ask(connection, "SELECT @@max_statement_time"), "10.000000");
  EXPECT_EQ(Ask(connection, "SELECT @@autocommit"), "1");
  EXPECT_EQ(Ask(connection, "SELECT COUNT(*) FROM mine"), "error 1146");
  EXPECT_EQ(Ask(connection, "EXECUTE mine"), "error 1243");
  EXPECT_EQ(Ask(connection, "SELECT IS_FREE_LOCK('mine')"), "1");
  EXPECT_EQ(Ask(connection, "SELECT COUNT(*) FROM t"), "0") << "rolled back";
  EXPECT_EQ(StatsOf(*pools, shard_).connects, 1u) << "the same connection";
}

// COM_RESET_CONNECTION keeps the role that a holder took.
TEST_F(ShardPoolsTest, GivenBackWithAnotherRole_TheNextHolderHasThatOfTheLogin) {
  server_.Sql(
      "CREATE ROLE IF NOT EXISTS locus_auditor; CREATE ROLE IF NOT EXISTS `locus``writer`;"
      "GRANT locus_auditor TO locus@'%'; GRANT `locus``writer` TO locus@'%';"
      "GRANT SELECT ON mysql.* TO locus_auditor");
  ShardPoolsOptions options = PoolOptions();
  options.max_connections = 1;
  for (const std::string login : {"NULL", "locus`writer"}) {
    server_.Sql(login == "NULL" ? "SET DEFAULT ROLE NONE FOR locus@'%'"
                                : "SET DEFAULT ROLE `locus``writer` FOR locus@'%'");
    auto pools = MakePools(options);
    for (int i = 0; i < 3; ++i) {
      auto connection = pools->Take(shard_, In(kSoon)).value();
      EXPECT_EQ(Ask(connection, "SELECT CURRENT_ROLE()"), login);
      EXPECT_EQ(Ask(connection, "SELECT COUNT(*) FROM mysql.db WHERE 0"), "error 1142");
      EXPECT_EQ(Ask(connection, "SET ROLE locus_auditor"), "");
      EXPECT_EQ(Ask(connection, "SELECT COUNT(*) FROM mysql.db WHERE 0"), "0");
    }
    EXPECT_EQ(StatsOf(*pools, shard_).connects, 1u) << "the same connection";
  }
  server_.Sql("SET DEFAULT ROLE NONE FOR locus@'%'");
}

TEST_F(ShardPoolsTest, GivenBackWithoutAWayBack_IsClosed) {
  ShardPoolsOptions options = PoolOptions();
  options.max_connections = 1;
  auto pools = MakePools(options);
  uint64_t connects = 0;
  auto closed_after = [&](auto use) {
    {
      auto connection = pools->Take(shard_, In(kSoon)).value();
      use(connection);
    }
    auto connection = pools->Take(shard_, In(kSoon)).value();
    EXPECT_EQ(Ask(connection, "SELECT DATABASE()"), "locus_shard1");
    uint64_t before = std::exchange(connects, StatsOf(*pools, shard_).connects);
    return connects == before + 1;
  };
  connects = 1;
  EXPECT_TRUE(pools->Take(shard_, In(kSoon)).ok());
  EXPECT_FALSE(closed_after([](ShardConnection&) {}));
  EXPECT_TRUE(closed_after([](ShardConnection& c) { c.Spoil(); }));
  EXPECT_TRUE(closed_after([this](ShardConnection& c) {
    ShardOn(server_, 2);
    EXPECT_EQ(Ask(c, "USE locus_shard2"), "");
  }));
  EXPECT_TRUE(closed_after([](ShardConnection& c) {
    EXPECT_EQ(mysql_query(c.handle(), "SELECT 1 UNION SELECT 2"), 0) << "not fetched";
  }));
  EXPECT_TRUE(closed_after(
      [](ShardConnection& c) { EXPECT_EQ(mysql_set_character_set(c.handle(), "latin1"), 0); }));
  EXPECT_EQ(StatsOf(*pools, shard_).failures, 0u) << StatsOf(*pools, shard_).last_error;
  EXPECT_TRUE(closed_after(
      [](ShardConnection& c) { EXPECT_EQ(Ask(c, "KILL CONNECTION_ID()"), "error 1927"); }));
  EXPECT_EQ(StatsOf(*pools, shard_).failures, 1u);
}

TEST_F(ShardPoolsTest, StatementThatRunsTooLong_IsEndedByTheServer) {
  auto pools = MakePools(HastyPoolOptions());
  auto connection = pools->Take(shard_, In(kSoon)).value();
  EXPECT_EQ(Ask(connection, "SELECT SLEEP(1000)"), "error 1969");
  EXPECT_EQ(Ask(connection, "SELECT 1"), "1") << "and the connection is none the worse";
}

TEST_F(ShardPoolsTest, IdleTooLongOrTooOld_AreClosedByThemselves) {
  ShardPoolsOptions options = PoolOptions();
  options.idle_timeout = absl::Milliseconds(50);
  auto take_some = [this](ShardPools& pools) {
    std::vector<ShardConnection> held;
    for (int i = 0; i < 3; ++i) held.push_back(pools.Take(shard_, In(kSoon)).value());
  };
  auto pools = MakePools(options);
  take_some(*pools);
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(*pools, shard_).open == 1; })) << "min_idle";
  EXPECT_TRUE(WaitUntil([&] { return SessionsOfServer() == 1; }));

  options.max_lifetime = absl::Milliseconds(50);
  pools = MakePools(options);
  take_some(*pools);
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(*pools, shard_).open == 0; }));
  EXPECT_TRUE(pools->Take(shard_, In(kSoon)).ok());
}

// The answer that ends its reset came long ago, which says nothing about the current ping.
TEST_F(ShardPoolsTest, IdleForLongerThanConnectTimeout_IsPingedAndUsedAgain) {
  ShardPoolsOptions options = PoolOptions();
  options.connect_timeout = absl::Seconds(1);
  options.ping_after = absl::Milliseconds(1);
  auto pools = MakePools(options);
  ASSERT_TRUE(pools->Take(shard_, In(kSoon)).ok());
  server_.Sql("DO SLEEP(1.2)");  // time passes
  auto connection = pools->Take(shard_, In(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(Ask(*connection, "SELECT DATABASE()"), "locus_shard1");
  EXPECT_EQ(StatsOf(*pools, shard_).connects, 1u);
  EXPECT_EQ(StatsOf(*pools, shard_).failures, 0u);
}

TEST_F(ShardPoolsTest, RefusedByTheServer_NamesTheRemedy) {
  Shard shard = shard_;
  shard.endpoint = absl::StrCat("mysql://127.0.0.1:", server_.port(), "/locus_nowhere");
  auto pools = MakePools();
  absl::Status status = pools->Take(shard, In(kSoon)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: mariadb 127.0.0.1:"));
  EXPECT_THAT(status.ToString(), HasSubstr("Unknown database 'locus_nowhere' (1049)"));

  ShardPoolsOptions options = PoolOptions();
  options.password = "wr0ng";
  pools = MakePools(options);
  for (int i = 0; i < 2; ++i) {
    status = pools->Take(shard_, In(kSoon)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("Access denied"));
    EXPECT_THAT(status.ToString(), Not(HasSubstr("wr0ng")));
  }
  EXPECT_TRUE(StatsOf(*pools, shard_).refusing);
  EXPECT_THAT(StatsOf(*pools, shard_).last_error.ToString(), HasSubstr("Access denied"));

  shard.endpoint += "?tls=on";
  status = MakePools()->Take(shard, In(kSoon)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "a server without TLS: " << status;

  shard.endpoint = "redis://u:s3cret@127.0.0.1:1/0";
  status = MakePools()->Take(shard, In(kSoon)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-1: the endpoint"));
  EXPECT_THAT(status.ToString(), Not(HasSubstr("s3cret")));
}

TEST_F(ShardPoolsTest, ShardRenamed_IsCalledByItsNewName) {
  ShardPoolsOptions options = PoolOptions();
  options.max_connections = 1;
  auto pools = MakePools(options);
  auto only = pools->Take(shard_, In(kSoon)).value();
  Shard renamed = shard_;
  renamed.name = "orders-renamed";
  absl::Status status = pools->Take(renamed, In(absl::Milliseconds(1))).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("shard orders-renamed: "));
  EXPECT_EQ(StatsOf(*pools, shard_).name, "orders-renamed");
  EXPECT_EQ(StatsOf(*pools, shard_).retargets, 0u);
}

TEST_F(ShardPoolsTest, ReadOnlyServer_IsRefusedUnlessAsked) {
  auto pools = MakePools();
  ShardPoolsOptions options = PoolOptions();
  options.accept_read_only = true;
  auto replicas = MakePools(options);
  options.user = "root";
  options.password = "";
  auto root = MakePools(options);
  auto administrator = root->Take(shard_, In(kSoon)).value();
  EXPECT_TRUE(pools->Take(shard_, In(kSoon)).ok());
  EXPECT_EQ(Ask(administrator, "SET GLOBAL read_only = 1"), "");
  // A connection that was reset before may still be handed out; it fails its next reset.
  { auto reset_before = pools->Take(shard_, In(kSoon)); }
  absl::Status status = pools->Take(shard_, In(kSoon)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("the server is read-only"));
  EXPECT_TRUE(replicas->Take(shard_, In(kSoon)).ok());
  EXPECT_EQ(Ask(administrator, "SET GLOBAL read_only = 0"), "");
  EXPECT_TRUE(WaitUntil([&] { return pools->Take(shard_, In(kSoon)).ok(); })) << "by itself";
}

TEST_F(ShardPoolsTest, PoolsDestroyedBeforeAConnection_CloseItWhenGivenBack) {
  auto pools = MakePools();
  {
    auto connection = pools->Take(shard_, In(kSoon)).value();
    pools.reset();
    EXPECT_EQ(Ask(connection, "SELECT 1"), "1");
    auto moved = std::move(connection);
    EXPECT_EQ(Ask(moved, "SELECT 2"), "2");
  }
  EXPECT_TRUE(WaitUntil([&] { return SessionsOfServer() == 0; }));
}

TEST_F(ShardPoolsTest, ForkedChild_IsRefusedAndTouchesNoSocket) {
  auto pools = MakePools();
  auto held = pools->Take(shard_, In(kSoon)).value();
  { auto idle = pools->Take(shard_, In(kSoon)); }
  pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    bool refused = absl::IsFailedPrecondition(pools->Take(shard_, In(kSoon)).status());
    bool empty = pools->Stats().empty();
    { auto dropped = std::move(held); }
    pools.reset();
    bool works = true;
    if (!kUnderTsan) {  // which has no threads in a child of a process with threads
      auto own = ShardPools::Create(PoolOptions());
      works = own.ok() && (*own)->Take(shard_, In(kSoon)).ok();
      own->reset();
    }
    _exit(refused ? empty ? works ? 0 : 3 : 2 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(Ask(held, "SELECT 1"), "1") << "the parent's session goes on";
  EXPECT_EQ(Ask(*pools->Take(shard_, In(kSoon)), "SELECT 1"), "1");
  EXPECT_EQ(StatsOf(*pools, shard_).connects, 2u);
}

}  // namespace
}  // namespace locus
