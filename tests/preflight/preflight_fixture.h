// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PREFLIGHT_PREFLIGHT_FIXTURE_H_
#define LOCUS_TESTS_PREFLIGHT_PREFLIGHT_FIXTURE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/preflight/judge.h"
#include "migration/preflight/preflight.h"
#include "tests/fence/fence_fixture.h"

namespace locus {

inline constexpr char kTables[] =
    "CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, number VARCHAR(40) CHARACTER SET"
    " latin1, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, version BIGINT UNSIGNED NOT NULL"
    " DEFAULT 1, UNIQUE (number));"
    "CREATE TABLE items (order_id BIGINT UNSIGNED, line VARBINARY(20), note INT, version BIGINT"
    " UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line));"
    "CREATE TABLE wide (order_id VARBINARY(16) PRIMARY KEY, code BIGINT, version BIGINT UNSIGNED"
    " NOT NULL DEFAULT 1, UNIQUE (code));"
    "CREATE TABLE others (id BIGINT UNSIGNED PRIMARY KEY)";

inline constexpr char kMover[] =
    "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret';"
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, TRIGGER ON shop.* TO mover@'127.0.0.1';"
    "GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS, SLAVE MONITOR ON *.* TO"
    " mover@'127.0.0.1'; GRANT SELECT ON mysql.* TO mover@'127.0.0.1';"
    "CREATE USER service@'%' IDENTIFIED BY 's3cret';"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO service@'%'";

// Tests set variables of the log, and their sessions end a moment later.
inline std::string NoOldSessions(int server) {
  return absl::StrCat("CREATE OR REPLACE TABLE shop.locus_sessions_", server + 1,
                      " (newest BIGINT UNSIGNED PRIMARY KEY) SELECT 0 AS newest");
}

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
      servers_[i]->Sql(NoOldSessions(i));
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
  static MysqlOptions As(int server) {
    MysqlOptions options = servers_[server]->Account("shop");
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

  std::vector<preflight::Finding> Findings() {
    return preflight::Judge(mysql::CollectFacts(options_));
  }
  // "check: found".
  std::vector<std::string> Failed() {
    std::vector<std::string> failed;
    for (const preflight::Finding& finding : Findings()) {
      if (!finding.ok) failed.push_back(absl::StrCat(finding.check, ": ", finding.found));
    }
    return failed;
  }
  std::set<std::string> FailedChecks() {
    std::set<std::string> failed;
    for (const preflight::Finding& finding : Findings()) {
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
    EXPECT_THAT(Failed(), ::testing::IsEmpty());
  }

  static inline MariadbServer* servers_[3];
  mysql::PreflightOptions options_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_PREFLIGHT_PREFLIGHT_FIXTURE_H_
