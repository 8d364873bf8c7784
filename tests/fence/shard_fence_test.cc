// SPDX-License-Identifier: Apache-2.0
// The fence of a shard on a server: installing it, and what its guards refuse.
#include <atomic>
#include <fstream>
#include <thread>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/fence/guard_sql.h"
#include "src/base/text/text.h"
#include "tests/fence/fence_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using mysql::Result;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kDatabase[] = "locus_shop";
constexpr unsigned kSignalled = 1644, kDeadlock = 1213;

const char kTables[] =
    "CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, note VARCHAR(20), UNIQUE (note));"
    "CREATE TABLE wide (order_id VARBINARY(16) PRIMARY KEY, note VARCHAR(20));"
    "CREATE TABLE numbered (no VARBINARY(16) PRIMARY KEY, gene SMALLINT UNSIGNED, cohort SMALLINT"
    " UNSIGNED, note VARCHAR(20));";

class ShardFenceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new MariadbServer(FencedServer(3));
    ASSERT_TRUE(server_->Start());
    MakeMover(*server_);
    // Rights that an order service has: none on locus_fence.
    server_->Sql(
        "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE, DELETE"
        " ON locus_shop.* TO shop@'127.0.0.1'; GRANT FILE ON *.* TO shop@'127.0.0.1'");
  }
  static void TearDownTestSuite() { delete server_; }

  void SetUp() override {
    server_->Sql(absl::StrCat("DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ",
                              kDatabase, "; USE ", kDatabase, "; ", kTables));
  }

  MysqlOptions As(const std::string& user) {
    MysqlOptions options = server_->Account(kDatabase);
    options.user = user;
    return options;
  }
  ShardFence Fence() { return ShardFence::Create(As("mover"), options_).value(); }
  absl::Status Install() { return Fence().Install(table_, 1); }
  // As the shop, in a session of its own: the server's error, 0: none.
  unsigned Try(const std::string& statement, const std::string& before = "") {
    auto session = SqlSession::Open(As("shop")).value();
    EXPECT_TRUE(before.empty() || session->Run(before).ok()) << before;
    message_ = "";
    auto results = session->Run(statement);
    if (!results.ok()) message_ = std::string(results.status().message());
    return session->error();
  }
  // Gives the vnode's cohorts from `own_lo` up to this shard, as a step of a move does.
  void Own(uint32_t own_lo, uint32_t own_hi, int step = 7) {
    server_->Sql(absl::StrCat("UPDATE locus_shop.locus_fence SET own_lo = ", own_lo, ", own_hi = ",
                              own_hi, ", step = ", step, ", other = 'orders-b' WHERE lo = 0"));
  }

  static MariadbServer* server_;
  // Vnodes 0..999 are this shard's.
  RoutingTable table_ =
      RoutingTable::Make(1,
                         {{.id = 1, .name = "orders-a", .endpoint = "mysql://a/o", .labels = {}},
                          {.id = 2, .name = "orders-b", .endpoint = "mysql://b/o", .labels = {}}},
                         {{999, 1}, {65535, 2}})
          .value();
  FenceOptions options_ =
      FenceOf({{.name = "orders"},
               {.name = "wide", .key = GuardedTable::Key::kOrderIdBytes},
               {.name = "numbered", .key = GuardedTable::Key::kGeneAndCohort, .gene = "gene"}});
  std::string message_;
};
MariadbServer* ShardFenceTest::server_ = nullptr;

TEST_F(ShardFenceTest, Installed_AcceptsTheVnodesOfTheTableOnly) {
  ASSERT_TRUE(Install().ok()) << Install();
  EXPECT_TRUE(Fence().Verify().ok()) << Fence().Verify();
  EXPECT_EQ(Try("INSERT INTO orders VALUES (" + Number(IdOf(999, 5)) + ", 'a')"), 0u);
  EXPECT_EQ(Try("INSERT INTO orders VALUES (" + Number(IdOf(1000, 5)) + ", 'b')"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("LOCUS_FENCED 0 "));
  // Again: nothing changes.
  const std::string triggers =
      "SELECT GROUP_CONCAT(CREATED ORDER BY TRIGGER_NAME) FROM information_schema.TRIGGERS";
  const std::string made = server_->Value(triggers);
  EXPECT_TRUE(Install().ok());
  EXPECT_EQ(server_->Value(triggers), made);
}

// All that writes a row, in both isolation levels, outside and inside of the band.
TEST_F(ShardFenceTest, EveryWayToWrite_IsGuarded) {
  ASSERT_TRUE(Install().ok());
  uint64_t sequence = 0;
  const std::string out = Number(NextIn(5, sequence, 0, 2500));
  const std::string in = Number(NextIn(5, sequence, 2500, 10000));
  server_->Sql(
      absl::StrCat("USE locus_shop; CREATE TABLE other (order_id BIGINT UNSIGNED, note"
                   " VARCHAR(20)); INSERT INTO other VALUES (",
                   out, ", 'x'), (", in, ", 'y')"));
  const std::string file = server_->path("rows.txt");
  const std::vector<std::string> ways = {
      "INSERT INTO orders VALUES ($, 'x')",
      "INSERT IGNORE INTO orders VALUES ($, 'x')",
      "REPLACE INTO orders VALUES ($, 'x')",
      "INSERT INTO orders VALUES ($, 'x') ON DUPLICATE KEY UPDATE note = 'z'",
      "INSERT INTO orders SELECT * FROM other WHERE order_id = $",
      "LOAD DATA INFILE '" + file + "' INTO TABLE orders",
      "UPDATE orders SET note = 'n' WHERE order_id = $",
      "UPDATE orders o JOIN other b USING (order_id) SET o.note = 'm' WHERE b.order_id = $",
      "UPDATE IGNORE orders SET note = 'i' WHERE order_id = $",
      "DELETE FROM orders WHERE order_id = $",
      "DELETE o FROM orders o JOIN other b USING (order_id) WHERE b.order_id = $",
      "DELETE IGNORE FROM orders WHERE order_id = $",
  };
  for (const char* isolation : {"READ COMMITTED", "REPEATABLE READ"}) {
    for (const std::string& way : ways) {
      const bool inserts = way.find("UPDATE orders") != 0 && way.find("UPDATE IGNORE") != 0 &&
                           way.find("DELETE") != 0;
      for (const std::string& id : {out, in}) {
        Own(0, 10000);
        server_->Sql("DELETE FROM locus_shop.orders");
        if (!inserts)
          server_->Sql(absl::StrCat("INSERT INTO locus_shop.orders VALUES (", id, ", 'o')"));
        std::ofstream(file) << id << "\tx\n";
        Own(2500, 10000);
        const std::string before =
            server_->Value("SELECT GROUP_CONCAT(note) FROM locus_shop.orders");
        const std::string statement = absl::StrReplaceAll(way, {{"$", id}});
        const unsigned error =
            Try(statement, absl::StrCat("SET SESSION TRANSACTION ISOLATION LEVEL ", isolation));
        EXPECT_EQ(error, id == out ? kSignalled : 0u) << isolation << ": " << statement << message_;
        if (id == in) continue;
        EXPECT_THAT(message_, HasSubstr("LOCUS_FENCED 7 orders-b")) << statement;
        EXPECT_EQ(server_->Value("SELECT GROUP_CONCAT(note) FROM locus_shop.orders"), before)
            << statement;
      }
    }
  }
}

// Bytes of both widths, and columns that name gene and cohort.
TEST_F(ShardFenceTest, OtherKeys_HaveTheSameCohorts) {
  ASSERT_TRUE(Install().ok());
  Own(2500, 5000);
  for (uint64_t step = 1; step <= 300; ++step) {
    for (uint64_t sequence : {step * 7919, OrderId::kMaxNarrowSequence - step * 31,
                              OrderId::kMaxNarrowSequence + step, OrderId::kMaxSequence - step}) {
      const OrderId id = IdOf(static_cast<uint32_t>(step % 1000), sequence);
      const unsigned expected = id.cohort() >= 2500 && id.cohort() < 5000 ? 0 : kSignalled;
      const std::string hex = absl::StrCat("0x", internal::HexOf(id.ToBytes()));
      ASSERT_EQ(Try(absl::StrCat("INSERT INTO wide VALUES (", hex, ", '')")), expected) << id;
      if (step % 10 != 0) continue;
      ASSERT_EQ(Try(absl::StrCat("INSERT INTO numbered VALUES (", hex, ", ", id.gene().value(),
                                 ", ", id.cohort(), ", '')")),
                expected)
          << id;
      if (!id.ToInt64().ok()) continue;
      ASSERT_EQ(Try(absl::StrCat("INSERT INTO orders VALUES (", Number(id), ", NULL)")), expected)
          << id;
    }
  }
}

TEST_F(ShardFenceTest, OrderOfARow_CannotChange) {
  ASSERT_TRUE(Install().ok());
  const std::string id = Number(IdOf(5, 1)), other = Number(IdOf(5, 2));
  EXPECT_EQ(Try("INSERT INTO orders VALUES (" + id + ", 'a')"), 0u);
  EXPECT_EQ(Try("UPDATE orders SET order_id = " + other), kSignalled);
  EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED the order of a row cannot change"));
  EXPECT_EQ(Try("INSERT INTO numbered VALUES ('n', 5, 77, 'a')"), 0u);
  EXPECT_EQ(Try("UPDATE numbered SET cohort = 78"), kSignalled);
}

TEST_F(ShardFenceTest, SessionsThatMovesCannotSee_AreRefused) {
  ASSERT_TRUE(Install().ok());
  const std::string insert = "INSERT INTO orders VALUES (" + Number(IdOf(5, 1)) + ", 'a')";
  server_->Sql("GRANT BINLOG ADMIN, SUPER ON *.* TO shop@'127.0.0.1'");
  for (const char* set :
       {"SET SESSION sql_log_bin = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION binlog_format ="
        " STATEMENT",
        "SET SESSION binlog_row_image = MINIMAL"}) {
    EXPECT_EQ(Try(insert, set), kSignalled) << set;
    EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED moves cannot see this write"));
  }
  server_->Sql("REVOKE BINLOG ADMIN, SUPER ON *.* FROM shop@'127.0.0.1'");
  EXPECT_EQ(Try(insert), 0u);
}

// A writer that waits for a row while a move cuts it: it meets the new row.
TEST_F(ShardFenceTest, RowCutWhileAWriterWaits_IsNotRefused) {
  ASSERT_TRUE(Install().ok());
  for (const char* level : {"READ COMMITTED", "REPEATABLE READ"}) {
    server_->Sql("DELETE FROM locus_shop.orders");
    auto writer = SqlSession::Open(As("shop")).value();
    ASSERT_TRUE(writer->Run(absl::StrCat("SET SESSION TRANSACTION ISOLATION LEVEL ", level)).ok());
    auto move = SqlSession::Open(As("mover")).value();
    const std::string cut =
        "SET @locus_keeps_map = 1; INSERT INTO locus_fence VALUES (0, 4, 0, 10000, 0, @@server_id, "
        "NULL, NULL), (5, 999, 0,"
        " 10000, 0, @@server_id, NULL, NULL)";
    ASSERT_TRUE(move->Run("BEGIN; DELETE FROM locus_fence").ok());
    absl::Status written;
    std::thread waits([&] {
      written = writer->Run("INSERT INTO orders VALUES (" + Number(IdOf(5, 1)) + ", 'a')").status();
    });
    ASSERT_TRUE(WaitUntil([] {
      return server_->Value(
                 "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
                 " 'INNODB_ROW_LOCK_CURRENT_WAITS'") != "0";
    }));
    const auto done = move->Run(cut + "; COMMIT");
    waits.join();
    // Or one of the two has lost, and comes again.
    EXPECT_TRUE(written.ok() || writer->error() == kDeadlock) << written;
    EXPECT_TRUE(done.ok() || move->error() == kDeadlock) << done.status();
    server_->Sql(
        "USE locus_shop; SET @locus_keeps_map = 1; DELETE FROM locus_fence; INSERT INTO locus_fence"
        " VALUES (0, 999, 0, 10000, 0, @@server_id, NULL, NULL)");
  }
}

// The guards of earlier versions looked for the range of a vnode; each half-way state of an Install
// accepts what both do.
TEST_F(ShardFenceTest, FenceOfAnEarlierVersion_GetsItsMap) {
  const std::string now =
      "FROM locus_vnode v JOIN locus_fence f ON f.lo = v.fence WHERE v.vnode = locus_gene";
  const std::string before =
      "FROM (SELECT * FROM locus_fence WHERE lo <= locus_gene AND hi >= locus_gene ORDER BY lo DESC"
      " LIMIT 1) f WHERE f.lo >= 0";
  const std::vector<std::string> steps = {internal::kProtectFence, internal::kCreateVnodes,
                                          internal::kMapVnodes};
  for (size_t done = 0; done <= steps.size(); ++done) {
    ASSERT_TRUE(Install().ok());
    server_->Sql(
        "USE locus_shop; DELETE FROM orders; DROP TRIGGER locus_fence_row; DROP TABLE"
        " locus_vnode");
    for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
      server_->Sql(absl::StrCat("USE locus_shop; CREATE OR REPLACE TRIGGER ", guard.name,
                                " BEFORE ", guard.event, " ON ", guard.table, " FOR EACH ROW ",
                                absl::StrReplaceAll(guard.body, {{now, before}})));
    }
    for (size_t i = 0; i < done; ++i) server_->Sql("USE locus_shop; " + steps[i]);
    EXPECT_FALSE(Fence().Verify().ok());
    auto writes = [&](const char* which) {
      EXPECT_EQ(Try("REPLACE INTO orders VALUES (" + Number(IdOf(999, 5)) + ", 'a')"), 0u)
          << which << done << message_;
      EXPECT_EQ(Try("INSERT INTO orders VALUES (" + Number(IdOf(1000, 5)) + ", 'b')"), kSignalled);
    };
    writes("before ");
    ASSERT_TRUE(Install().ok()) << Install();
    EXPECT_TRUE(Fence().Verify().ok()) << Fence().Verify();
    writes("after ");
    EXPECT_EQ(server_->Value("SELECT CONCAT(COUNT(*), ' ', SUM(fence = 0)) FROM"
                             " locus_shop.locus_vnode"),
              "65536 1000");
  }
  // An earlier version would cut the row and leave the map.
  auto earlier = SqlSession::Open(As("mover")).value();
  EXPECT_FALSE(
      earlier->Run("INSERT INTO locus_fence VALUES (7, 9, 0, 10000, 0, @@server_id, NULL, NULL)")
          .ok());
  EXPECT_EQ(earlier->error(), kSignalled);
}

TEST_F(ShardFenceTest, FenceOfAnotherServer_IsUnbound) {
  ASSERT_TRUE(Install().ok());
  server_->Sql("UPDATE locus_shop.locus_fence SET server_id = 9");
  EXPECT_EQ(Try("INSERT INTO orders VALUES (" + Number(IdOf(5, 1)) + ", 'a')"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("LOCUS_UNBOUND 9 3"));
  EXPECT_THAT(std::string(Fence().Verify().message()), HasSubstr("bound to another server"));
}

TEST_F(ShardFenceTest, OnlyTheMover_Passes) {
  ASSERT_TRUE(Install().ok());
  Own(0, 0);
  const std::string insert = "INSERT INTO orders VALUES (" + Number(IdOf(5, 1)) + ", 'a')";
  EXPECT_EQ(Try(insert), kSignalled);
  server_->Sql(
      "CREATE USER IF NOT EXISTS Mover@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO"
      " Mover@'127.0.0.1'");
  auto namesake = SqlSession::Open(As("Mover")).value();
  EXPECT_FALSE(namesake->Run(insert).ok()) << "names of accounts are compared by their bytes";
  auto mover = SqlSession::Open(As("mover")).value();
  EXPECT_TRUE(mover->Run(insert).ok());
}

// The promise itself: once the fence has changed, no write that it does not accept is committed.
TEST_F(ShardFenceTest, AfterTheFenceChanged_NoWriteIsCommitted) {
  ASSERT_TRUE(Install().ok());
  constexpr int kWriters = 4;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> written = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      auto session = SqlSession::Open(As("shop")).value();
      ASSERT_TRUE(session
                      ->Run(writer % 2 == 0
                                ? "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
                                : "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                      .ok());
      uint64_t sequence = static_cast<uint64_t>(writer) << 40;
      while (!stop) {
        const OrderId id = NextIn(5, sequence, 0, 5000);
        auto results = session->Run(absl::StrCat("BEGIN; INSERT INTO orders VALUES (", Number(id),
                                                 ", NULL); SELECT 1; COMMIT"));
        if (results.ok()) {
          ++written;
        } else {
          ASSERT_EQ(session->error(), kSignalled) << results.status();
          ASSERT_TRUE(session->Run("ROLLBACK").ok());
          ++refused;
        }
      }
    });
  }
  const int rounds = kUnderTsan || kUnderAsan ? 15 : 60;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t before = written;
    Own(0, 10000);
    ASSERT_TRUE(WaitUntil([&] { return written > before + 10; }));
    Own(5000, 10000);
    const std::string count = server_->Value("SELECT COUNT(*) FROM locus_shop.orders");
    const uint64_t seen = refused;
    ASSERT_TRUE(WaitUntil([&] { return refused > seen + 10; }));
    ASSERT_EQ(server_->Value("SELECT COUNT(*) FROM locus_shop.orders"), count) << "round " << round;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_shop.orders"), absl::StrCat(written.load()));
}

TEST_F(ShardFenceTest, TamperedObjects_AreNamed) {
  ASSERT_TRUE(Install().ok());
  server_->Sql("DROP TRIGGER locus_shop.locus_guard_orders_update");
  server_->Sql(
      "USE locus_shop; CREATE OR REPLACE TRIGGER locus_guard_wide_delete BEFORE DELETE ON wide FOR"
      " EACH ROW SET @x = 1");
  const absl::Status status = Fence().Verify();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("locus_guard_orders_update is missing"),
                    HasSubstr("locus_guard_wide_delete has another body"),
                    HasSubstr("has the definer \"root@127.0.0.1\"")));
  // The remedy.
  EXPECT_TRUE(Install().ok());
  EXPECT_TRUE(Fence().Verify().ok()) << Fence().Verify();
}

TEST_F(ShardFenceTest, TableThatAFenceCannotGuard_IsRefusedBeforeAnythingChanges) {
  auto refusal = [&](const std::string& before, const std::string& after) {
    server_->Sql("USE locus_shop; " + before);
    const absl::Status status = Install();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << before << status;
    EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME ="
                             " 'locus_fence'"),
              "0");
    server_->Sql("USE locus_shop; " + after);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal("RENAME TABLE wide TO wide_", "RENAME TABLE wide_ TO wide"),
              HasSubstr("has no table \"wide\""));
  EXPECT_THAT(refusal("ALTER TABLE orders ENGINE = Aria", "ALTER TABLE orders ENGINE = InnoDB"),
              HasSubstr("must be InnoDB"));
  EXPECT_THAT(refusal("ALTER TABLE orders CHANGE order_id id BIGINT UNSIGNED",
                      "ALTER TABLE orders CHANGE id order_id BIGINT UNSIGNED"),
              HasSubstr("has no column \"order_id\""));
  EXPECT_THAT(refusal("ALTER TABLE orders MODIFY order_id VARCHAR(30)",
                      "ALTER TABLE orders MODIFY order_id BIGINT UNSIGNED"),
              HasSubstr("has type varchar; it must be bigint"));
  EXPECT_THAT(refusal("CREATE TRIGGER theirs BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = 1",
                      "DROP TRIGGER theirs"),
              HasSubstr("trigger \"theirs\""));
  EXPECT_THAT(
      refusal("CREATE TABLE parents (id INT PRIMARY KEY); ALTER TABLE numbered ADD parent INT,"
              " ADD CONSTRAINT down FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE",
              "ALTER TABLE numbered DROP FOREIGN KEY down; DROP TABLE parents"),
      HasSubstr("foreign key \"down\""));
  server_->Sql("SET GLOBAL binlog_row_image = MINIMAL");
  EXPECT_THAT(refusal("DO 1", "SET GLOBAL binlog_row_image = FULL"),
              HasSubstr("need ROW and FULL"));
  table_ = RoutingTable::Make(2, table_.shards(), table_.ranges(), {{0, 5, 2, 0}}).value();
  EXPECT_THAT(refusal("DO 1", "DO 1"), HasSubstr("before the first move"));
}

TEST_F(ShardFenceTest, OtherRows_AreNotReplaced) {
  ASSERT_TRUE(Install().ok());
  Own(2500, 10000);
  EXPECT_THAT(std::string(Install().message()), HasSubstr("0-999 [2500, 10000)"));
  EXPECT_THAT(std::string(Fence().Remove().message()), HasSubstr("vnodes 0-999 have been moved"));
}

// A slow reader must not make everybody else wait behind CREATE TRIGGER.
TEST_F(ShardFenceTest, TableInUse_IsUnavailableAndTheCallCanBeRepeated) {
  auto reader = SqlSession::Open(As("shop")).value();
  ASSERT_TRUE(reader->Run("BEGIN; SELECT * FROM orders").ok());
  const absl::Status status = Install();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("repeat the call"));
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  EXPECT_TRUE(Install().ok());
  EXPECT_TRUE(Fence().Verify().ok());
}

TEST_F(ShardFenceTest, Removed_NothingIsLeft) {
  ASSERT_TRUE(Install().ok());
  ASSERT_TRUE(Fence().Remove().ok()) << Fence().Remove();
  EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE"
                           " TRIGGER_SCHEMA = 'locus_shop'"),
            "0");
  EXPECT_EQ(Try("INSERT INTO orders VALUES (" + Number(IdOf(5000, 1)) + ", 'a')"), 0u);
  EXPECT_TRUE(Fence().Remove().ok()) << "again";
}

TEST(ShardFenceServerTest, WithoutABinaryLog_IsRefused) {
  const absl::Status status =
      ShardFence::Create(FreshMariadbDatabase(), FenceOf({{.name = "orders"}}))
          ->Install(RoutingTable::MakeEven({{"a", "mysql://a/o"}}).value(), 1);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no binary log"));
}

// Numbers are made by joins: neither the engine SEQUENCE nor a recursion is needed.
TEST(ShardFenceServerTest, WithoutSequencesAndRecursions_MapAndPostsAreWhole) {
  MariadbServer::Settings settings = FencedServer(3);
  settings.lines.push_back("sequence=OFF");
  settings.lines.push_back("max_recursive_iterations=16");
  MariadbServer server(settings);
  ASSERT_TRUE(server.Start());
  MakeMover(server);
  MysqlOptions options = server.OptionsFor("locus_shop");
  server.Sql("CREATE TABLE locus_shop.orders (order_id BIGINT UNSIGNED PRIMARY KEY)");
  options.user = "mover";
  const absl::Status status =
      ShardFence::Create(options, FenceOf({{.name = "orders"}}))
          ->Install(RoutingTable::MakeEven({{"a", "mysql://a/o"}}).value(), 1);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(server.Value("SELECT COUNT(fence) FROM locus_shop.locus_vnode"), "65536");
  for (const std::string& create : CreateTombstones()) server.Sql("USE locus_shop; " + create);
  EXPECT_EQ(server.Value("SELECT CONCAT(COUNT(*), ' ', MAX(bucket)) FROM"
                         " locus_shop.locus_tombstone"),
            "65536 65535");
}

}  // namespace
}  // namespace locus
