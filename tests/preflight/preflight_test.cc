// SPDX-License-Identifier: Apache-2.0
// What is read of real servers: a pair that passes, and each change that breaks a check.
#include "migration/engine/mariadb/preflight/preflight.h"

#include <functional>
#include <set>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/engine/mariadb/fence/moved_tables.h"
#include "migration/preflight/judge.h"
#include "tests/fence/fence_fixture.h"

namespace locus {
namespace {

using preflight::Finding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kTables[] =
    "CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, number VARCHAR(40) CHARACTER SET"
    " latin1, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, version BIGINT UNSIGNED NOT NULL"
    " DEFAULT 1, UNIQUE (number));"
    "CREATE TABLE items (order_id BIGINT UNSIGNED, line VARBINARY(20), note INT, version BIGINT"
    " UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line));"
    "CREATE TABLE wide (order_id VARBINARY(16) PRIMARY KEY, code BIGINT, version BIGINT UNSIGNED"
    " NOT NULL DEFAULT 1, UNIQUE (code));"
    "CREATE TABLE others (id BIGINT UNSIGNED PRIMARY KEY)";

constexpr char kMover[] =
    "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret';"
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, TRIGGER ON shop.* TO mover@'127.0.0.1';"
    "GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS, SLAVE MONITOR ON *.* TO"
    " mover@'127.0.0.1'; GRANT SELECT ON mysql.* TO mover@'127.0.0.1';"
    "CREATE USER service@'%' IDENTIFIED BY 's3cret';"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO service@'%'";

// Tests set variables of the log, and their sessions end a moment later.
constexpr char kNoOldSessions[] =
    "CREATE OR REPLACE TABLE shop.locus_sessions (newest BIGINT UNSIGNED PRIMARY KEY) SELECT 0 AS"
    " newest";

enum { kSource, kTarget, kReplica };

// A source with a replica, and a target; the last two are never changed for good.
class PreflightTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (int i = 0; i < 3; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      if (i == kReplica) settings.lines.push_back("log_slave_updates");
      settings.make_accounts = false;
      servers_[i] = new MariadbServer(settings);
      ASSERT_TRUE(servers_[i]->Start());
    }
    servers_[kReplica]->Sql(absl::StrCat(
        "CHANGE MASTER TO master_host = '127.0.0.1', master_user = 'root', master_port = ",
        servers_[kSource]->port(),
        ", master_use_gtid = slave_pos; START SLAVE; SET GLOBAL read_only = ON"));
    for (int i : {kSource, kTarget}) {
      // What mariadb-install-db makes, and the manual says to drop.
      const auto results = servers_[i]->Sql("SELECT Host FROM mysql.global_priv WHERE User = ''");
      for (const auto& row : results[0].rows) {
        servers_[i]->Sql("DROP USER ''@'" + row[0].value() + "'");
      }
      servers_[i]->Sql(absl::StrCat("CREATE DATABASE shop; USE shop; ", kTables, "; ", kMover));
      servers_[i]->Sql(kNoOldSessions);
      InstallFence(i);
    }
    ASSERT_TRUE(WaitUntil([] {
      return servers_[kReplica]->Value("SELECT @@GLOBAL.gtid_slave_pos") ==
             servers_[kSource]->Value("SELECT @@GLOBAL.gtid_binlog_pos");
    }));
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  static FenceOptions Fence() { return FenceOf({Guard("orders"), Guard("items"), Guard("wide")}); }
  static void InstallFence(int server) {
    const absl::Status status = ShardFence::Create(As(server), Fence())
                                    ->Install(Table(), static_cast<uint32_t>(server + 1));
    ASSERT_TRUE(status.ok()) << status;
  }
  static GuardedTable Guard(const std::string& name) {
    GuardedTable table;
    table.name = name;
    if (name == "wide") table.key = GuardedTable::Key::kOrderIdBytes;
    return table;
  }
  static RoutingTable Table() {
    return RoutingTable::Make(1,
                              {{.id = 1, .name = "a", .endpoint = "mysql://a/shop", .labels = {}},
                               {.id = 2, .name = "b", .endpoint = "mysql://b/shop", .labels = {}}},
                              {{999, 1}, {65535, 2}})
        .value();
  }
  static MariadbOptions As(int server) {
    MariadbOptions options = servers_[server]->Account("shop");
    options.user = "mover";
    return options;
  }

  void SetUp() override {
    Move& move = options_.move;
    move.name = "first.1>2";
    move.source = {1, "a", As(kSource)};
    move.target = {2, "b", As(kTarget)};
    move.ranges = {{0, 9}, {20, 29}};
    for (const char* name : {"orders", "items", "wide"}) {
      MovedTable table;
      table.guard = Guard(name);
      if (table.guard.name == "items") table.primary_key = {"order_id", "line"};
      move.tables.push_back(table);
    }
    move.movers = {"mover@127.0.0.1"};
    options_.source_candidates = {As(kReplica)};
  }

  std::vector<Finding> Findings() { return preflight::Judge(mariadb::CollectFacts(options_)); }
  // "check: found".
  std::vector<std::string> Failed() {
    std::vector<std::string> failed;
    for (const Finding& finding : Findings()) {
      if (!finding.ok) failed.push_back(absl::StrCat(finding.check, ": ", finding.found));
    }
    return failed;
  }
  std::set<std::string> FailedChecks() {
    std::set<std::string> failed;
    for (const Finding& finding : Findings()) {
      if (!finding.ok) failed.insert(finding.check);
    }
    return failed;
  }
  // Makes all the changes at once: exactly their checks must fail, and none once they are undone.
  struct Change {
    const char* check;
    const char* change;
    const char* undo;
  };
  void ExpectEach(int server, const std::vector<Change>& changes) {
    std::set<std::string> expected;
    for (const Change& change : changes) {
      servers_[server]->Sql(absl::StrCat("USE shop; ", change.change));
      for (absl::string_view check : absl::StrSplit(change.check, ' ')) {
        expected.insert(std::string(check));
      }
    }
    EXPECT_EQ(FailedChecks(), expected);
    for (const Change& change : changes) {
      servers_[server]->Sql(absl::StrCat("USE shop; ", change.undo));
    }
    EXPECT_THAT(Failed(), IsEmpty());
  }

  static inline MariadbServer* servers_[3];
  mariadb::PreflightOptions options_;
};

TEST_F(PreflightTest, ServersAsTheyMustBe_Pass) {
  EXPECT_THAT(Failed(), IsEmpty());
  EXPECT_GT(Findings().size(), 100u);
}

TEST_F(PreflightTest, SettingsOfAServer_AreEachRefused) {
  for (int server : {kSource, kTarget}) {
    ExpectEach(
        server,
        {{"binlog-format", "SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_format = ROW"},
         {"binlog-row-image", "SET GLOBAL binlog_row_image = MINIMAL",
          "SET GLOBAL binlog_row_image = FULL"},
         {"binlog-row-metadata", "SET GLOBAL binlog_row_metadata = NO_LOG",
          "SET GLOBAL binlog_row_metadata = FULL"},
         {"log-bin-compress", "SET GLOBAL log_bin_compress = ON",
          "SET GLOBAL log_bin_compress = OFF"},
         {"gtid-strict-mode", "SET GLOBAL gtid_strict_mode = OFF",
          "SET GLOBAL gtid_strict_mode = ON"},
         {"sync-binlog", "SET GLOBAL sync_binlog = 0", "SET GLOBAL sync_binlog = 1"},
         {"flush-log", "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
          "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
         {"binlog-retention", "SET GLOBAL binlog_expire_logs_seconds = 3600",
          "SET GLOBAL binlog_expire_logs_seconds = 0"},
         {"connections", "SET GLOBAL max_connections = 12", "SET GLOBAL max_connections = 151"},
         {"trigger-creation", "SET GLOBAL log_bin_trust_function_creators = OFF",
          "SET GLOBAL log_bin_trust_function_creators = ON"},
         {"read-only", "SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"},
         {"time-zones", "SET GLOBAL time_zone = '+08:00'", "SET GLOBAL time_zone = 'SYSTEM'"},
         {"user-xa", "XA START 'x'; INSERT INTO others VALUES (1); XA END 'x'; XA PREPARE 'x'",
          "XA ROLLBACK 'x'"}});
  }
  ExpectEach(kTarget, {{"binlog-checksum", "SET GLOBAL binlog_checksum = NONE",
                        "SET GLOBAL binlog_checksum = CRC32"},
                       {"replicate-filters", "SET GLOBAL replicate_wild_ignore_table = 'x.%'",
                        "SET GLOBAL replicate_wild_ignore_table = ''"},
                       {"max-allowed-packet", "SET GLOBAL max_allowed_packet = 1048576",
                        "SET GLOBAL max_allowed_packet = 16777216"}});
}

// They would write until the guards are there, and then be refused.
TEST_F(PreflightTest, SessionsFromBeforeTheFormatWasSet_AreRefused) {
  MariadbServer& source = *servers_[kSource];
  MariadbOptions service = As(kSource);
  service.user = "service";
  source.Sql("SET GLOBAL binlog_format = MIXED");
  auto old = SqlSession::Open(service).value();
  source.Sql("SET GLOBAL binlog_format = ROW; DROP TABLE shop.locus_sessions");
  const auto failed = [&] {
    for (const Finding& finding : Findings()) {
      if (!finding.ok && finding.check == "open-sessions") return finding;
    }
    return Finding();
  };
  EXPECT_THAT(failed().found, HasSubstr("of service@127.0.0.1"));
  const std::string remedy = failed().remedy;
  source.Sql(remedy.substr(0, remedy.find(';')));
  auto young = SqlSession::Open(service).value();
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StartsWith(failed().found, "1 may have begun before SET GLOBAL: ");
  })) << failed().found;
  old = nullptr;
  EXPECT_TRUE(WaitUntil([&] { return Failed().empty(); })) << "the young one may stay";
  source.Sql(kNoOldSessions);
}

// By a session that began before binlog_format was changed.
TEST_F(PreflightTest, RowsOfAMovedTableAsText_AreRefused) {
  for (int server : {kSource, kTarget}) {
    ExpectEach(
        server,
        {{"text-writers",
          "FLUSH BINARY LOGS; SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
          " SET SESSION binlog_format ="
          " STATEMENT; DELETE FROM orders WHERE order_id = 1; INSERT INTO others VALUES (8)",
          "DELETE FROM others WHERE id = 8; SET SESSION binlog_format = ROW; FLUSH BINARY LOGS"}});
  }
}

// The remedy, too.
TEST_F(PreflightTest, SecondDomainInTheLog_IsRefusedUntilItIsGone) {
  MariadbServer& target = *servers_[kTarget];
  target.Sql("SET SESSION gtid_domain_id = 5; INSERT INTO shop.others VALUES (7)");
  EXPECT_THAT(Failed(), ElementsAre(HasSubstr("gtid-domains: 2 domains in ")));
  target.Sql("DELETE FROM shop.others; FLUSH BINARY LOGS");
  // A log goes once the server has noted that a crash needs it no more.
  EXPECT_TRUE(WaitUntil([&] {
    const auto logs = target.Sql("SHOW BINARY LOGS");
    target.Sql("PURGE BINARY LOGS TO '" + logs[0].rows.back()[0].value() + "'");
    return target.TrySql("FLUSH BINARY LOGS DELETE_DOMAIN_ID = (5)").ok();
  }));
  EXPECT_THAT(Failed(), IsEmpty());
}

TEST_F(PreflightTest, AccountsAndRights_AreEachRefused) {
  ExpectEach(kTarget,
             {{"anonymous-accounts", "CREATE USER ''@'10.0.0.1'", "DROP USER ''@'10.0.0.1'"},
              {"proxy-accounts", "CREATE USER near@'%'; GRANT PROXY ON service@'%' TO near@'%'",
               "DROP USER near@'%'"},
              {"dangerous-rights", "GRANT DROP ON shop.* TO service@'%'",
               "REVOKE DROP ON shop.* FROM service@'%'"},
              {"rights", "REVOKE DELETE ON shop.* FROM mover@'127.0.0.1'",
               "GRANT DELETE ON shop.* TO mover@'127.0.0.1'"}});
  for (const char* grant :
       {"ALTER ON *.*", "SUPER ON *.*", "TRIGGER ON shop.orders", "DROP ON `s%`.*"}) {
    servers_[kTarget]->Sql(absl::StrCat("GRANT ", grant, " TO service@'%'"));
    EXPECT_THAT(FailedChecks(), ElementsAre("dangerous-rights")) << grant;
    servers_[kTarget]->Sql(absl::StrCat("REVOKE ", grant, " FROM service@'%'"));
  }
  options_.administrators = {"service@%"};
  servers_[kTarget]->Sql("GRANT DROP ON shop.* TO service@'%'");
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kTarget]->Sql("REVOKE DROP ON shop.* FROM service@'%'");
}

// What the mover may not read is a failure that names the GRANT.
TEST_F(PreflightTest, FactsThatCannotBeRead_Fail) {
  auto remedies = [&](const std::string& right) {
    servers_[kTarget]->Sql(absl::StrCat("REVOKE ", right, " FROM mover@'127.0.0.1'"));
    std::string all;
    for (const Finding& finding : Findings()) {
      if (!finding.ok) absl::StrAppend(&all, finding.check, ": ", finding.remedy, "\n");
    }
    servers_[kTarget]->Sql(absl::StrCat("GRANT ", right, " TO mover@'127.0.0.1'"));
    return all;
  };
  EXPECT_EQ(remedies("SELECT ON mysql.*"),
            "accounts: GRANT SELECT ON mysql.* TO 'mover'@'127.0.0.1'\n");
  EXPECT_THAT(remedies("BINLOG MONITOR ON *.*"),
              HasSubstr("binlog-filters: GRANT BINLOG MONITOR ON *.* TO 'mover'@'127.0.0.1'"));
  EXPECT_THAT(remedies("SELECT ON shop.*"),
              HasSubstr("rights: GRANT SELECT ON `shop`.* TO 'mover'@'127.0.0.1'"));
  EXPECT_THAT(Failed(), IsEmpty());
}

TEST_F(PreflightTest, MoverThatIsNotListed_IsRefused) {
  options_.move.movers = {"mover@127.0.0.1", "mover@10.0.0.5"};
  EXPECT_THAT(Failed(), IsEmpty()) << "the run makes guards that know both";
  options_.move.movers = {"mover@10.0.0.5"};
  EXPECT_THAT(FailedChecks(), ElementsAre("mover-listed"));
}

TEST_F(PreflightTest, TablesThatCannotMove_AreEachRefused) {
  for (int server : {kSource, kTarget}) {
    ExpectEach(
        server,
        {{"engine schemas", "ALTER TABLE items DROP note, ENGINE = Aria",
          "ALTER TABLE items ADD note INT AFTER line, ENGINE = InnoDB"},
         {"system-versioning", "ALTER TABLE wide ADD SYSTEM VERSIONING",
          "ALTER TABLE wide DROP SYSTEM VERSIONING"},
         {"user-triggers same-triggers",
          "CREATE TRIGGER theirs AFTER INSERT ON items FOR EACH ROW SET @x = 1",
          "DROP TRIGGER theirs"},
         {"foreign-keys-from-outside",
          "CREATE TABLE kids (id BIGINT UNSIGNED PRIMARY KEY, FOREIGN KEY (id) REFERENCES"
          " orders (order_id))",
          "DROP TABLE kids"},
         {"foreign-keys-across-orders",
          "ALTER TABLE orders ADD replaces BIGINT UNSIGNED, ADD CONSTRAINT x FOREIGN KEY (replaces)"
          " REFERENCES orders (order_id)",
          "ALTER TABLE orders DROP FOREIGN KEY x, DROP KEY x, DROP replaces"},
         {"foreign-keys-to-outside foreign-keys-cascade",
          "ALTER TABLE orders ADD CONSTRAINT up FOREIGN KEY (order_id) REFERENCES others"
          " (id) ON DELETE CASCADE",
          "ALTER TABLE orders DROP FOREIGN KEY up"}});
  }
}

TEST_F(PreflightTest, FenceThatIsGoneOrChanged_IsForTheRun) {
  servers_[kTarget]->Sql(
      "USE shop; CREATE USER gone@h; CREATE OR REPLACE DEFINER = gone@h TRIGGER"
      " locus_guard_wide_insert BEFORE INSERT ON wide FOR EACH ROW SET @x = 1; DROP USER gone@h");
  EXPECT_THAT(FailedChecks(), ElementsAre("definers"));
  InstallFence(kTarget);
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kTarget]->Sql("RENAME TABLE shop.wide TO shop.wide_");
  EXPECT_THAT(FailedChecks(), ElementsAre("tables"));
  servers_[kTarget]->Sql("RENAME TABLE shop.wide_ TO shop.wide");
  EXPECT_THAT(Failed(), IsEmpty());
  const auto fence = ShardFence::Create(As(kTarget), Fence());
  ASSERT_TRUE(fence->Remove().ok());
  EXPECT_THAT(Failed(), IsEmpty()) << "the run makes it";
  InstallFence(kTarget);
  EXPECT_THAT(Failed(), IsEmpty());
}

// Its rows would stay where nobody may write them.
TEST_F(PreflightTest, GuardedTableThatTheFileDoesNotName_IsRefused) {
  const std::string last = options_.move.tables.back().guard.name;
  options_.move.tables.pop_back();
  EXPECT_THAT(Failed(), Each(HasSubstr("guarded-tables: " + last + ": not in the move file")));
  EXPECT_THAT(FailedChecks(), ElementsAre("guarded-tables"));
}

// It may be an archive, so it does not fail.
TEST_F(PreflightTest, TableWithTheOrderIdThatTheFileDoesNotName_IsWarnedOf) {
  auto warned = [&] {
    std::vector<std::string> found;
    for (const Finding& finding : Findings()) {
      if (finding.warns) found.push_back(absl::StrCat(finding.check, ": ", finding.found));
    }
    return found;
  };
  EXPECT_THAT(warned(), IsEmpty());
  servers_[kTarget]->Sql("CREATE TABLE shop.refunds (id INT PRIMARY KEY, order_id BIGINT)");
  EXPECT_THAT(warned(), ElementsAre(HasSubstr("unlisted-tables: refunds.order_id: not in the")));
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kTarget]->Sql("DROP TABLE shop.refunds");
}

TEST_F(PreflightTest, Columns_AreEachRefused) {
  // On both shards: so the schemas are the same.
  auto both = [&](const std::string& statements) {
    for (int server : {kSource, kTarget}) servers_[server]->Sql("USE shop; " + statements);
  };
  both(
      "ALTER TABLE items MODIFY line VARCHAR(20) CHARACTER SET utf8mb4 COLLATE"
      " utf8mb4_general_ci NOT NULL, MODIFY note VARCHAR(20) COMPRESSED;"
      "ALTER TABLE wide MODIFY version BIGINT UNSIGNED, MODIFY code BIGINT AUTO_INCREMENT;"
      "ALTER TABLE orders ADD day DATE AS (DATE(at)) STORED");
  EXPECT_THAT(FailedChecks(),
              UnorderedElementsAre("primary-key-bytes", "compressed-columns", "version-column",
                                   "auto-increment", "stored-columns"));
  both(
      "ALTER TABLE items MODIFY line VARBINARY(20), MODIFY note INT;"
      "ALTER TABLE wide MODIFY version BIGINT UNSIGNED NOT NULL DEFAULT 1, MODIFY code BIGINT;"
      "ALTER TABLE orders DROP day");
  EXPECT_THAT(Failed(), IsEmpty());
  both("ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (line, order_id)");
  EXPECT_THAT(FailedChecks(), ElementsAre("primary-key"));
  both("ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (order_id, line)");
  options_.move.tables[0].guard.key = GuardedTable::Key::kOrderIdBytes;
  EXPECT_THAT(FailedChecks(), ElementsAre("order-columns"));
}

// Sequences are each server's own: after a step both would give the same business number.
TEST_F(PreflightTest, DefaultsThatDifferPerShard_AreRefused) {
  auto both = [&](const std::string& statements) {
    for (int server : {kSource, kTarget}) servers_[server]->Sql("USE shop; " + statements);
  };
  both(
      "CREATE SEQUENCE s; ALTER TABLE orders ADD business BIGINT DEFAULT NEXT VALUE FOR s,"
      " ADD short BIGINT UNSIGNED DEFAULT (UUID_SHORT() + 1),"
      " ADD host VARCHAR(99) DEFAULT (CONCAT('of ', DATABASE())),"
      " ADD opaque VARCHAR(36) DEFAULT UUID(), ADD said VARCHAR(36) DEFAULT 'it''s nextval(1)',"
      " ADD due DATETIME DEFAULT (NOW() + INTERVAL 2 DAY),"
      " ADD kind ENUM('a', 'b') DEFAULT 'a', ADD flags BIT(3) DEFAULT b'101',"
      " ADD total DECIMAL(9, 2) DEFAULT (CAST(ROUND(1.5) AS DECIMAL(9, 2)))");
  EXPECT_THAT(Failed(), Each(HasSubstr("column-defaults: business has nextval(), short has"
                                       " uuid_short(), host has database()")));
  EXPECT_THAT(FailedChecks(), ElementsAre("column-defaults"));
  both(
      "ALTER TABLE orders ALTER business DROP DEFAULT, ALTER short DROP DEFAULT,"
      " ALTER host DROP DEFAULT");
  EXPECT_THAT(Failed(), IsEmpty());
  both(
      "ALTER TABLE orders DROP business, DROP short, DROP host, DROP opaque, DROP said, DROP due,"
      " DROP kind, DROP flags, DROP total; DROP SEQUENCE s");
}

TEST_F(PreflightTest, RowsOnTheTarget_AreFound) {
  auto put = [&](int server, const std::string& statement) {
    auto session = SqlSession::Open(As(server)).value();
    ASSERT_TRUE(session->Run(statement).ok()) << statement;
  };
  const std::string moving = Number(IdOf(25, 1)), staying = Number(IdOf(2000, 1));
  put(kSource, "INSERT INTO orders (order_id, number) VALUES (" + moving + ", 'n\xC3\xA9')");
  put(kTarget, "INSERT INTO orders (order_id, number) VALUES (" + staying + ", 'x')");
  EXPECT_THAT(Failed(), IsEmpty());
  put(kTarget, "UPDATE orders SET number = 'n\xC3\xA9'");
  EXPECT_THAT(Failed(), ElementsAre(HasSubstr("unique-keys: key number")));
  put(kTarget, "DELETE FROM orders");
  put(kSource, "INSERT INTO wide (order_id, code) VALUES (X'000c800000000001', -5)");  // gene 25
  put(kTarget, "INSERT INTO wide (order_id, code) VALUES (X'7d00000000000001', -5)");
  EXPECT_THAT(Failed(), ElementsAre(HasSubstr("unique-keys: key code")));
  put(kTarget, "DELETE FROM wide");

  put(kTarget, "INSERT INTO items (order_id, line) VALUES (" + moving +
                   ", 'l');"
                   "INSERT INTO wide (order_id) VALUES (X'000c80000000000000000000000001ff')");
  EXPECT_THAT(Failed(), ElementsAre("stray-rows: in items, wide"));
  // They are the move's own, once it has begun.
  servers_[kTarget]->Sql(
      "CREATE TABLE shop.locus_copy (move VARCHAR(64)); INSERT INTO shop.locus_copy VALUES"
      " ('first.1>2')");
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kTarget]->Sql("DROP TABLE shop.locus_copy");
  for (int server : {kSource, kTarget}) {
    put(server, "DELETE FROM orders; DELETE FROM items; DELETE FROM wide");
  }
  EXPECT_THAT(Failed(), IsEmpty());
}

// The routing table of other shards, two shards in one place, a second move, one that was not
// ended.
TEST_F(PreflightTest, MistakesOfTheOperator_AreRefused) {
  options_.move.ranges = {{1500, 1509}};
  EXPECT_THAT(Failed(), UnorderedElementsAre("fence-owner: vnode 1500 has no row",
                                             HasSubstr("fence-owner: vnodes 1000-65535 own [0,")));
  options_.move.ranges = {{0, 9}};
  servers_[kSource]->Sql("UPDATE shop.locus_fence SET own_lo = 500, other = 'c'");
  EXPECT_THAT(Failed(), ElementsAre("fence-owner: vnodes 0-999 own [500, 10000), other c"));
  servers_[kSource]->Sql("UPDATE shop.locus_fence SET own_lo = 0, other = NULL, server_id = 9");
  EXPECT_THAT(Failed(), ElementsAre("fence-server: bound to server 9"));
  servers_[kSource]->Sql("UPDATE shop.locus_fence SET server_id = 1");
  const auto other =
      mariadb::MovedTables::Create(As(kSource), options_.move.tables, options_.move.movers);
  ASSERT_TRUE(other->Install("other.2>1").ok());
  EXPECT_THAT(Failed(), ElementsAre("other-moves: other.2>1"));
  ASSERT_TRUE(other->Remove("other.2>1", {}).ok());
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kSource]->Sql(
      "CREATE TABLE shop.locus_move (move VARCHAR(64), phase VARCHAR(16), vnodes TEXT, status "
      "TEXT);"
      "INSERT INTO shop.locus_move VALUES ('far.1>3', 'READY', '9-15,40-49', ''), ('old.1>3', "
      "'DONE',"
      " '0-9', ''), ('first.1>2', 'COPYING', '0-9', '{\"copied\": {\"rows_per_second\": "
      "5000.5}}')");
  EXPECT_THAT(Failed(), ElementsAre("overlapping-moves: far.1>3 is READY, vnodes 9-15"));
  EXPECT_EQ(mariadb::CollectFacts(options_).copied_a_second, 5000.5);
  servers_[kSource]->Sql("DROP TABLE shop.locus_move");
  options_.move.target.server = As(kSource);
  EXPECT_THAT(FailedChecks(), UnorderedElementsAre("same-database", "fence-owner"));
  options_.move.target.server.hosts[0].port = 1;
  EXPECT_THAT(FailedChecks(), ElementsAre("login"));
}

TEST_F(PreflightTest, Candidates_AreEachRefused) {
  ExpectEach(kReplica,
             {{"candidate-read-only", "SET GLOBAL read_only = OFF", "SET GLOBAL read_only = ON"},
              {"gtid-strict-mode", "SET GLOBAL gtid_strict_mode = OFF",
               "SET GLOBAL gtid_strict_mode = ON"},
              {"candidate-follows", "STOP SLAVE", "DO 1"},
              {"replicate-filters", "SET GLOBAL replicate_ignore_db = 'x'",
               "SET GLOBAL replicate_ignore_db = ''; START SLAVE"}});
}

}  // namespace
}  // namespace locus
