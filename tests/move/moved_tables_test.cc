// SPDX-License-Identifier: Apache-2.0
// Version triggers and tombstones on a shard, beside the guards of the fence.
#include "migration/fence/moved_tables.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fence/fence_fixture.h"

namespace locus {
namespace {

using mysql::MovedTables;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDatabase[] = "locus_shop";

class MovedTablesTest : public FencedServerTest {
 protected:
  void SetUp() override {
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, note INT, version BIGINT"
        " UNSIGNED NOT NULL DEFAULT 1); CREATE TABLE items (order_id BIGINT UNSIGNED, line"
        " VARBINARY(20), note INT, revision BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY"
        " (order_id, line))"));
    tables_.resize(2);
    tables_[0].guard.name = "orders";
    tables_[1].guard.name = "items";
    tables_[1].primary_key = {"order_id", "line"};
    tables_[1].version = "revision";
  }

  MysqlOptions As(const std::string& user) {
    MysqlOptions options = server_->Account(kDatabase);
    options.user = user;
    return options;
  }
  MovedTables Moved() { return MovedTables::Create(As("mover"), tables_, movers_).value(); }
  ShardFence Fence() {
    return ShardFence::Create(As("mover"), FenceOf({tables_[0].guard, tables_[1].guard})).value();
  }
  absl::Status InstallFence() {
    return Fence().Install(RoutingTable::MakeEven({{"a", "mysql://a/o"}}).value(), 1);
  }
  void Change(const std::string& statements) { server_->Sql("USE locus_shop; " + statements); }
  std::string Refusal() {
    const absl::Status status = Moved().Verify("first");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  }
  std::string Triggers() {
    return server_->Value(
        "SELECT COALESCE(GROUP_CONCAT(CONCAT(TRIGGER_NAME, CREATED) ORDER BY TRIGGER_NAME), '')"
        " FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'locus_shop' AND TRIGGER_NAME"
        " LIKE 'locus_version%'");
  }

  std::vector<MovedTable> tables_;
  std::vector<std::string> movers_ = {"mover@127.0.0.1"};
};

TEST_F(MovedTablesTest, Installed_VerifiesAndTwiceChangesNothing) {
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("locus_version_orders_before_insert is missing"),
                               HasSubstr("locus_tombstone is missing")));
  ASSERT_TRUE(Moved().Install("first").ok()) << Moved().Install("first");
  EXPECT_TRUE(Moved().Verify("first").ok()) << Moved().Verify("first");
  EXPECT_THAT(std::string(Moved().Verify("second").message()),
              HasSubstr("does not say that move \"second\" uses table \"orders\""));
  const std::string made = Triggers();
  EXPECT_TRUE(Moved().Install("first").ok());
  EXPECT_EQ(Triggers(), made);
  Change("INSERT INTO orders VALUES (7, 0, 1); UPDATE orders SET note = 1; DELETE FROM orders");
  EXPECT_EQ(server_->Value("SELECT version FROM locus_shop.locus_tombstone WHERE tbl <> ''"), "3");
}

TEST_F(MovedTablesTest, TamperedObjects_AreNamedAndMended) {
  ASSERT_TRUE(Moved().Install("first").ok());
  Change(
      "DROP TRIGGER locus_version_items_after_delete;"
      "CREATE OR REPLACE TRIGGER locus_version_items_before_update AFTER UPDATE ON items FOR EACH"
      " ROW SET @x = 1; DROP TABLE locus_tombstone; DELETE FROM locus_moved_table WHERE tbl ="
      " 'items'");
  EXPECT_THAT(
      Refusal(),
      AllOf(HasSubstr("locus_version_items_after_delete is missing"),
            HasSubstr("locus_version_items_before_update has another body"),
            HasSubstr("locus_version_items_before_update runs AFTER UPDATE, not BEFORE UPDATE"),
            HasSubstr("has the definer \"root@127.0.0.1\""),
            HasSubstr("locus_tombstone is missing"),
            HasSubstr("does not say that move \"first\" uses table \"items\""),
            Not(HasSubstr("locus_version_orders"))));
  EXPECT_TRUE(Moved().Install("first").ok()) << Moved().Install("first");
  EXPECT_TRUE(Moved().Verify("first").ok()) << Moved().Verify("first");
}

// An online schema change renames the table away from its triggers.
TEST_F(MovedTablesTest, TableReplaced_MissesItsTriggers) {
  ASSERT_TRUE(Moved().Install("first").ok());
  Change("CREATE TABLE next LIKE orders; RENAME TABLE orders TO old, next TO orders");
  EXPECT_THAT(Refusal(), HasSubstr("locus_version_orders_before_insert is missing"));
}

// Whichever is installed first, the guard comes first: an order that the shard does not accept is
// refused as fenced, before any row is locked or looked at.
TEST_F(MovedTablesTest, BothOrdersOfInstallation_GuardRunsFirst) {
  auto check = [&](const char* what) {
    EXPECT_TRUE(Fence().Verify().ok()) << what << Fence().Verify();
    EXPECT_TRUE(Moved().Verify("first").ok()) << what << Moved().Verify("first");
    const std::string made = Triggers();
    EXPECT_TRUE(InstallFence().ok()) << what << InstallFence();
    EXPECT_TRUE(Moved().Install("first").ok()) << what;
    EXPECT_EQ(Triggers(), made) << what;
    EXPECT_EQ(server_->Value("SELECT GROUP_CONCAT(LEFT(TRIGGER_NAME, 11) ORDER BY ACTION_ORDER)"
                             " FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_TABLE ="
                             " 'orders' AND EVENT_MANIPULATION = 'UPDATE'"),
              "locus_guard,locus_versi")
        << what;
  };
  ASSERT_TRUE(InstallFence().ok());
  ASSERT_TRUE(Moved().Install("first").ok()) << Moved().Install("first");
  check("fence, then versions: ");
  // Each replaced by an older body, the other one present.
  Change(
      "CREATE OR REPLACE TRIGGER locus_guard_orders_update BEFORE UPDATE ON orders FOR EACH ROW"
      " SET @x = 1");
  ASSERT_TRUE(InstallFence().ok());
  check("guard replaced: ");
  Change(
      "CREATE OR REPLACE TRIGGER locus_version_orders_before_update BEFORE UPDATE ON orders FOR"
      " EACH ROW SET @x = 1");
  ASSERT_TRUE(Moved().Install("first").ok());
  check("version trigger replaced: ");

  ASSERT_TRUE(Fence().Remove().ok()) << Fence().Remove();
  EXPECT_TRUE(Moved().Verify("first").ok());
  ASSERT_TRUE(InstallFence().ok()) << InstallFence();
  check("versions, then fence: ");
}

TEST_F(MovedTablesTest, GuardBehindTheVersionTrigger_IsNamedAndMendedByEither) {
  ASSERT_TRUE(InstallFence().ok());
  ASSERT_TRUE(Moved().Install("first").ok());
  const std::string body = server_->Value(
      "SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_NAME ="
      " 'locus_guard_orders_insert'");
  auto mover = SqlSession::Open(As("mover")).value();
  auto put_last = [&] {
    ASSERT_TRUE(mover
                    ->Run("CREATE OR REPLACE TRIGGER locus_guard_orders_insert BEFORE INSERT ON"
                          " orders FOR EACH ROW " +
                          body)
                    .ok());
    const char* wrong =
        "locus_version_orders_before_insert runs before trigger locus_guard_orders_insert";
    EXPECT_THAT(Refusal(), HasSubstr(wrong));
    EXPECT_THAT(std::string(Fence().Verify().message()), HasSubstr(wrong));
  };
  put_last();
  ASSERT_TRUE(Moved().Install("first").ok());
  EXPECT_TRUE(Fence().Verify().ok()) << Fence().Verify();
  put_last();
  ASSERT_TRUE(InstallFence().ok());
  EXPECT_TRUE(Moved().Verify("first").ok()) << Moved().Verify("first");
}

TEST_F(MovedTablesTest, FenceBesideAForgedVersionTrigger_IsRefused) {
  Change(
      "CREATE TRIGGER locus_version_orders_before_insert BEFORE INSERT ON orders FOR EACH ROW"
      " SET NEW.version = 1");
  EXPECT_THAT(
      std::string(InstallFence().message()),
      HasSubstr("trigger \"locus_version_orders_before_insert\" on orders has a name of locus"));
  // The way out: versions first.
  ASSERT_TRUE(Moved().Install("first").ok());
  EXPECT_TRUE(InstallFence().ok()) << InstallFence();
  EXPECT_TRUE(Moved().Verify("first").ok()) << Moved().Verify("first");
}

TEST_F(MovedTablesTest, TableThatCannotBeMoved_IsRefusedBeforeAnythingChanges) {
  auto refusal = [&](const std::string& before, const std::string& after) {
    Change(before);
    const absl::Status status = Moved().Install("first");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << before << status;
    EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE"
                             " 'locus_%' AND TABLE_SCHEMA = 'locus_shop'"),
              "0");
    EXPECT_EQ(Triggers(), "");
    Change(after);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal("RENAME TABLE items TO items_", "RENAME TABLE items_ TO items"),
              HasSubstr("has no table \"items\""));
  EXPECT_THAT(refusal("ALTER TABLE orders ENGINE = Aria", "ALTER TABLE orders ENGINE = InnoDB"),
              HasSubstr("must be InnoDB"));
  EXPECT_THAT(refusal("ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (line, order_id)",
                      "ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (order_id, line)"),
              HasSubstr("primary key (line, order_id); the move says (order_id, line)"));
  EXPECT_THAT(refusal("ALTER TABLE orders MODIFY version BIGINT UNSIGNED",
                      "ALTER TABLE orders MODIFY version BIGINT UNSIGNED NOT NULL"),
              HasSubstr("must be BIGINT UNSIGNED NOT NULL"));
  EXPECT_THAT(refusal("ALTER TABLE orders CHANGE version v BIGINT UNSIGNED NOT NULL",
                      "ALTER TABLE orders CHANGE v version BIGINT UNSIGNED NOT NULL"),
              HasSubstr("column \"version\" of table \"orders\" is missing"));
  EXPECT_THAT(refusal("CREATE TRIGGER theirs AFTER INSERT ON orders FOR EACH ROW SET @x = 1",
                      "DROP TRIGGER theirs"),
              HasSubstr("trigger \"theirs\""));
  EXPECT_TRUE(Moved().Install("first").ok()) << Moved().Install("first");
}

// A slow reader must not make everybody else wait behind CREATE TRIGGER.
TEST_F(MovedTablesTest, TableInUse_IsUnavailableAndTheCallCanBeRepeated) {
  auto reader = SqlSession::Open(As("locus")).value();
  ASSERT_TRUE(reader->Run("BEGIN; SELECT * FROM orders").ok());
  EXPECT_TRUE(absl::IsUnavailable(Moved().Install("first")));
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  EXPECT_TRUE(Moved().Install("first").ok());
  ASSERT_TRUE(reader->Run("BEGIN; SELECT * FROM orders").ok());
  EXPECT_TRUE(absl::IsUnavailable(Moved().Remove("first")));
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  EXPECT_TRUE(Moved().Remove("first").ok());
  EXPECT_EQ(Triggers(), "");
}

TEST_F(MovedTablesTest, AnotherProcessInstalls_IsUnavailable) {
  auto other = SqlSession::Open(As("mover")).value();
  ASSERT_TRUE(other->Run("DO GET_LOCK(CONCAT('locus_moved_table ', SHA1(DATABASE())), 1)").ok());
  EXPECT_TRUE(absl::IsUnavailable(Moved().Install("first")));
  other.reset();
  EXPECT_TRUE(WaitUntil([&] { return Moved().Install("first").ok(); }));
}

TEST_F(MovedTablesTest, RemovedByTheLastMove_TriggersAndTombstonesGo) {
  ASSERT_TRUE(Moved().Install("first").ok());
  ASSERT_TRUE(Moved().Install("second").ok());
  std::string rows;
  for (uint32_t gene : {5u, 6u}) {
    for (uint64_t sequence = 1; sequence <= 2500; ++sequence) {
      absl::StrAppend(&rows, rows.empty() ? "(" : ", (", Number(IdOf(gene, sequence)), ", 0)");
    }
  }
  Change("INSERT INTO orders (order_id, note) VALUES " + rows + "; DELETE FROM orders");
  auto tombstones = [&] {
    return server_->Value(
        "SELECT CONCAT(COUNT(*), ' ', COALESCE(MIN(gene), '')) FROM"
        " locus_shop.locus_tombstone WHERE tbl <> ''");
  };
  ASSERT_EQ(tombstones(), "5000 5");
  // The other one may have these vnodes by now: an order that is inserted again has to be above.
  ASSERT_TRUE(Moved().Remove("first").ok()) << Moved().Remove("first");
  EXPECT_EQ(tombstones(), "5000 5");
  EXPECT_TRUE(Moved().Verify("second").ok()) << Moved().Verify("second");
  EXPECT_FALSE(Moved().Verify("first").ok());
  // Repeated, it takes nothing from the other.
  Change("INSERT INTO orders (order_id, note) VALUES (" + Number(IdOf(5, 3000)) +
         ", 0); DELETE FROM orders");
  ASSERT_EQ(tombstones(), "5001 5");
  ASSERT_TRUE(Moved().Remove("first").ok());
  EXPECT_TRUE(Moved().Verify("second").ok());
  EXPECT_EQ(tombstones(), "5001 5");

  ASSERT_TRUE(Moved().Remove("second").ok());
  EXPECT_EQ(tombstones(), "0 ");
  EXPECT_EQ(Triggers(), "");
  EXPECT_TRUE(Moved().Remove("second").ok());
}

TEST_F(MovedTablesTest, RemovalThatEndsHalfway_LeavesNoRowBelowItsTombstone) {
  ASSERT_TRUE(Moved().Install("first").ok());
  const std::string id = Number(IdOf(5, 1));
  const std::string insert = "INSERT INTO orders (order_id, note) VALUES (" + id + ", 0)";
  Change(insert + "; DELETE FROM orders");
  auto other = SqlSession::Open(As("locus")).value();
  ASSERT_TRUE(other->Run("BEGIN; SELECT * FROM locus_tombstone WHERE tbl <> '' FOR UPDATE").ok());
  EXPECT_FALSE(Moved().Remove("first").ok());
  // The server keeps the lock of the removal that gave up until it has closed its session.
  ASSERT_TRUE(WaitUntil([&] {
    return server_->Value(
               "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER ="
               " 'mover'") == "0";
  }));
  ASSERT_TRUE(other->Run("COMMIT").ok());
  Change(insert);
  EXPECT_EQ(
      server_->Value("SELECT COUNT(*) FROM locus_shop.orders JOIN locus_shop.locus_tombstone t"
                     " ON t.pk LIKE CONCAT('%:', order_id) AND t.version >= orders.version"),
      "0");
  EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_shop.locus_tombstone WHERE tbl <> ''"), "1");
  EXPECT_TRUE(Moved().Remove("first").ok());
  EXPECT_EQ(Triggers(), "");
}

// As versions without posts made it.
constexpr char kOldForm[] =
    "DROP TABLE IF EXISTS locus_tombstone; CREATE TABLE locus_tombstone (tbl VARCHAR(64) CHARACTER"
    " SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, pk VARBINARY(1024) NOT NULL, version BIGINT"
    " UNSIGNED NOT NULL, gene SMALLINT UNSIGNED NOT NULL, cohort SMALLINT UNSIGNED NOT NULL,"
    " PRIMARY KEY (tbl, pk)) ENGINE = InnoDB";

TEST_F(MovedTablesTest, TombstonesOfAnEarlierVersion_AreMadeAgainOrRefused) {
  Change(kOldForm);
  ASSERT_TRUE(Moved().Install("first").ok()) << Moved().Install("first");
  EXPECT_TRUE(Moved().Verify("first").ok()) << Moved().Verify("first");
  // A move uses them: what was deleted before cannot be forgotten.
  Change(kOldForm);
  Change("INSERT INTO locus_tombstone VALUES ('orders', '1:1', 9, 0, 0)");
  for (const absl::Status& refused :
       {Moved().Install("first"), Moved().Verify("first"), Moved().Remove("first")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("end the move with that version"));
  }
  EXPECT_EQ(server_->Value("SELECT version FROM locus_shop.locus_tombstone"), "9");
}

TEST_F(MovedTablesTest, MissingPost_RefusesInsertsUntilItIsMadeAgain) {
  ASSERT_TRUE(Moved().Install("first").ok());
  const std::string id = Number(IdOf(5, 1));
  const std::string insert = "INSERT INTO orders (order_id, note) VALUES (" + id + ", 0)";
  Change(insert +
         "; UPDATE orders SET note = 1; DELETE FROM orders; DELETE FROM locus_tombstone"
         " WHERE tbl = ''");
  auto session = SqlSession::Open(As("locus")).value();
  EXPECT_THAT(session->Run(insert).status().message(), HasSubstr("lacks its posts"));
  EXPECT_THAT(Moved().Verify("first").message(), HasSubstr("of its 65536 posts"));
  Change("INSERT INTO locus_tombstone VALUES (65535, '', '', 0, 0, 0)");
  EXPECT_THAT(Moved().Differences("first").value(),
              ::testing::ElementsAre(
                  ::testing::Field(&FenceDifference::text, HasSubstr("lacks 65535 or more"))));
  ASSERT_TRUE(Moved().Install("first").ok());
  EXPECT_TRUE(Moved().Differences("first")->empty());
  Change(insert);
  EXPECT_EQ(server_->Value("SELECT version FROM locus_shop.orders"), "4") << "above its tombstone";
}

TEST_F(MovedTablesTest, RemovedWhereNothingIs_ChangesNothing) {
  EXPECT_TRUE(Moved().Remove("first").ok()) << Moved().Remove("first");
}

TEST_F(MovedTablesTest, BadOptions_AreRefused) {
  EXPECT_FALSE(MovedTables::Create(As("mover"), {}, movers_).ok());
  EXPECT_FALSE(MovedTables::Create(As("mover"), tables_, {}).ok());
  EXPECT_FALSE(MovedTables::Create(MysqlOptions(), tables_, movers_).ok());
}

}  // namespace
}  // namespace locus
