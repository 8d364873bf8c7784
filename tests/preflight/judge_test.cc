// SPDX-License-Identifier: Apache-2.0
// Judgements on made-up facts.
#include "migration/preflight/judge.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/fence/fence_difference.h"
#include "migration/fence/user_triggers.h"
#include "tests/support/golden.h"

namespace locus::preflight {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::map<std::string, std::string> Variables(const std::string& server_id) {
  return {{"version", "10.11.6-MariaDB-log"},
          {"log_bin", "ON"},
          {"binlog_format", "ROW"},
          {"binlog_row_image", "FULL"},
          {"binlog_row_metadata", "FULL"},
          {"binlog_checksum", "CRC32"},
          {"log_bin_compress", "OFF"},
          {"gtid_strict_mode", "ON"},
          {"sync_binlog", "1"},
          {"innodb_flush_log_at_trx_commit", "1"},
          {"wsrep_on", "OFF"},
          {"gtid_binlog_pos", "0-1-99"},
          {"read_only", "OFF"},
          {"log_slave_updates", "ON"},
          {"binlog_expire_logs_seconds", "0"},
          {"max_connections", "151"},
          {"max_allowed_packet", "16777216"},
          {"log_bin_trust_function_creators", "ON"},
          {"time_zone", "SYSTEM"},
          {"system_time_zone", "UTC"},
          {"hostname", "h" + server_id},
          {"port", "3306"},
          {"datadir", "/d"},
          {"server_id", server_id}};
}

Server GoodServer(const std::string& name, const std::string& server_id) {
  Server server;
  server.place = name;
  server.database = "shop";
  server.user = server.current_user = "mover@10.0.0.5";
  server.variables = Variables(server_id);
  server.grants = {"GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS ON *.* TO `mover`@`10.0.0.5`",
                   "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, TRIGGER ON `shop`.* TO "
                   "`mover`@`10.0.0.5`"};
  return server;
}

Column ColumnOf(const std::string& name, const std::string& type) {
  Column column;
  column.name = name;
  column.type = type;
  return column;
}

Shard GoodShard(const std::string& name, const std::string& server_id, bool source) {
  Shard shard;
  shard.server = GoodServer(name, server_id);
  Table table;
  table.engine = "InnoDB";
  table.type = "BASE TABLE";
  table.rows = 1000;
  table.columns = {ColumnOf("order_id", "bigint(20) unsigned"), ColumnOf("at", "timestamp"),
                   ColumnOf("version", "bigint(20) unsigned")};
  table.keys = {{"PRIMARY", {"order_id"}, {"order_id"}}};
  table.schema.columns = {
      {.name = "order_id", .data_type = "bigint", .column_type = "bigint(20) unsigned"},
      {.name = "at", .data_type = "timestamp", .column_type = "timestamp"},
      {.name = "version", .data_type = "bigint", .column_type = "bigint(20) unsigned"}};
  table.schema.indexes = {{"PRIMARY", {"order_id"}}};
  shard.schema = Schema();
  shard.schema->tables["orders"] = table;
  shard.schema->triggers = {{"locus_guard_orders_insert", "orders", "mover@10.0.0.5"}};
  shard.fence = std::optional(source ? std::vector<FenceRow>{{0, 999, 0, 10000, 1, ""}}
                                     : std::vector<FenceRow>{{1000, 1999, 0, 10000, 2, ""}});
  shard.accounts = Accounts();
  shard.accounts->known = {"mover@10.0.0.5", "shop@%"};
  shard.accounts->dangerous = {{"root@localhost", {"DROP on *.*"}}};
  return shard;
}

Facts GoodFacts() {
  Facts facts;
  facts.move = "peak.1>2";
  facts.ranges = {{10, 19}};
  MovedTable table;
  table.guard.name = "orders";
  facts.tables = {table};
  facts.movers = {"mover@10.0.0.5"};
  facts.source = GoodShard("a", "1", true);
  facts.target = GoodShard("b", "2", false);
  Candidate candidate;
  candidate.server = GoodServer("replica of a", "3");
  candidate.server.variables["read_only"] = "ON";
  candidate.follows = std::vector<uint64_t>{1};
  facts.source.candidates = {candidate};
  facts.collisions = std::vector<Collision>{{"orders", "number", 1000, 0}};
  return facts;
}

std::set<std::string> Failed(const Facts& facts) {
  std::set<std::string> checks;
  for (const Finding& finding : Judge(facts)) {
    if (finding.ok) continue;
    checks.insert(finding.check);
    EXPECT_FALSE(finding.found.empty()) << finding.check;
    EXPECT_FALSE(finding.needed.empty()) << finding.check;
    EXPECT_FALSE(finding.remedy.empty()) << finding.check;
  }
  return checks;
}

TEST(JudgeTest, AllAsItMustBe_NothingFails) {
  EXPECT_THAT(Failed(GoodFacts()), IsEmpty());
  EXPECT_TRUE(AllOk(Judge(GoodFacts())));
}

struct Break {
  const char* check;
  std::function<void(Facts&)> change;
};

const std::vector<Break>& Breaks() {
  auto set = [](const char* variable, const char* value) {
    return [=](Facts& facts) { facts.source.server.variables[variable] = value; };
  };
  auto column = [](Facts& facts, size_t i) -> Column& {
    // On both, so that the schemas do not differ.
    facts.target.schema->tables.at("orders").columns.resize(3);
    return facts.source.schema->tables.at("orders").columns[i];
  };
  auto same = [](Facts& facts) {
    const Table& table = facts.source.schema->tables.at("orders");
    facts.target.schema->tables.at("orders").columns = table.columns;
    facts.target.schema->tables.at("orders").keys = table.keys;
  };
  static const auto* const breaks = new std::vector<Break>{
      {"login", [](Facts& f) { f.target.server.login = absl::UnavailableError("is gone"); }},
      {"server-version", set("version", "10.4.1-MariaDB")},
      {"server-version", set("version", "8.0.36")},
      {"log-bin", set("log_bin", "OFF")},
      {"binlog-format", set("binlog_format", "MIXED")},
      {"binlog-row-image", set("binlog_row_image", "MINIMAL")},
      {"binlog-row-metadata", set("binlog_row_metadata", "NO_LOG")},
      {"binlog-checksum", set("binlog_checksum", "NONE")},
      {"log-bin-compress", set("log_bin_compress", "ON")},
      {"gtid-strict-mode", set("gtid_strict_mode", "OFF")},
      {"sync-binlog", set("sync_binlog", "0")},
      {"flush-log", set("innodb_flush_log_at_trx_commit", "2")},
      {"galera", set("wsrep_on", "ON")},
      {"gtid-domains", set("gtid_binlog_pos", "0-1-9,1-1-3")},
      {"text-writers",
       [](Facts& f) {
         f.source.server.text_writers = std::vector<std::string>{"orders", ""};
       }},
      {"binlog-filters",
       [](Facts& f) { f.source.server.binlog_filters = std::vector<std::string>{"x"}; }},
      {"binlog-filters",
       [](Facts& f) { f.source.server.binlog_filters = absl::InternalError("denied"); }},
      {"replicate-filters", set("replicate_wild_ignore_table", "shop.%")},
      {"binlog-retention", set("binlog_expire_logs_seconds", "3600")},
      {"binlog-retention",
       [](Facts& f) {
         f.source.server.variables["binlog_expire_logs_seconds"] = "172800";
         f.source.schema->tables.at("orders").rows = 2'000'000'000;
       }},
      {"user-xa", [](Facts& f) { f.target.server.prepared = uint64_t{1}; }},
      {"connections", [](Facts& f) { f.target.server.connected = uint64_t{140}; }},
      {"read-only", set("read_only", "ON")},
      {"rights", [](Facts& f) { f.source.server.grants.erase(f.source.server.grants.begin()); }},
      {"rights", [](Facts& f) { f.source.server.database = "other"; }},
      {"trigger-creation", set("log_bin_trust_function_creators", "OFF")},
      {"mover-listed", [](Facts& f) { f.target.server.user = "mover@10.0.0.6"; }},
      {"mover-account", [](Facts& f) { f.target.server.current_user = "mover@10.0.0.%"; }},
      {"accounts", [](Facts& f) { f.source.accounts = absl::InternalError("denied"); }},
      {"anonymous-accounts", [](Facts& f) { f.source.accounts->anonymous = {"localhost"}; }},
      {"proxy-accounts", [](Facts& f) { f.source.accounts->proxies = {"'x'@'%'"}; }},
      {"dangerous-rights",
       [](Facts& f) {
         f.source.accounts->dangerous = {{"shop@%", {"DROP on shop.*"}}};
       }},
      {"definers", [](Facts& f) { f.source.schema->triggers[0].definer = "gone@h"; }},
      {"tables", [](Facts& f) { f.target.schema->tables.clear(); }},
      {"tables", [](Facts& f) { f.target.schema = absl::InternalError("denied"); }},
      {"guarded-tables", [](Facts& f) { f.source.schema->guarded = {"payments"}; }},
      {"engine", [](Facts& f) { f.source.schema->tables.at("orders").engine = "Aria"; }},
      {"system-versioning",
       [](Facts& f) { f.source.schema->tables.at("orders").type = "SYSTEM VERSIONED"; }},
      {"primary-key",
       [=](Facts& f) {
         f.source.schema->tables.at("orders").keys[0].columns = {"order_id", "at"};
         same(f);
       }},
      {"primary-key-bytes",
       [=](Facts& f) {
         column(f, 0).collation = "utf8mb4_bin";  // 'a' is 'a ' to it
         same(f);
       }},
      {"order-columns",
       [=](Facts& f) {
         column(f, 0).type = "varchar(20)";
         same(f);
       }},
      {"version-column",
       [=](Facts& f) {
         column(f, 2).nullable = true;
         same(f);
       }},
      {"auto-increment",
       [=](Facts& f) {
         column(f, 0).extra = "auto_increment";
         same(f);
       }},
      {"column-defaults",
       [=](Facts& f) {
         column(f, 1).default_value = "nextval(`shop`.`s`)";
         same(f);
       }},
      {"stored-columns",
       [=](Facts& f) {
         column(f, 1);
         Column day = ColumnOf("day", "date");
         day.extra = "STORED GENERATED";
         day.generated = "cast(`at` as date)";
         f.source.schema->tables.at("orders").columns.push_back(day);
         same(f);
       }},
      {"compressed-columns",
       [=](Facts& f) {
         column(f, 1).type = "varchar(9) /*M!100301 COMPRESSED*/";
         same(f);
       }},
      {"foreign-keys-cascade",
       [](Facts& f) {
         f.source.schema->foreign_keys = {
             {"fk", "orders", "orders", "SET NULL", "RESTRICT", {"order_id"}, {"order_id"}}};
         f.target.schema->foreign_keys = f.source.schema->foreign_keys;
       }},
      {"foreign-keys-from-outside",
       [](Facts& f) {
         f.source.schema->foreign_keys = {{"fk", "items", "orders", "RESTRICT", "RESTRICT"}};
         f.target.schema->foreign_keys = f.source.schema->foreign_keys;
       }},
      {"foreign-keys-to-outside",
       [](Facts& f) {
         f.source.schema->foreign_keys = {{"fk", "orders", "shops", "RESTRICT", "RESTRICT"}};
         f.target.schema->foreign_keys = f.source.schema->foreign_keys;
       }},
      {"foreign-keys-across-orders",
       [](Facts& f) {
         f.source.schema->foreign_keys = {
             {"fk", "orders", "orders", "RESTRICT", "RESTRICT", {"replaces"}, {"order_id"}}};
         f.target.schema->foreign_keys = f.source.schema->foreign_keys;
       }},
      {"user-triggers",
       [](Facts& f) {
         for (Shard* shard : {&f.source, &f.target}) {
           shard->schema->triggers.push_back({"theirs", "orders", "mover@10.0.0.5"});
         }
       }},
      {"same-triggers",
       [](Facts& f) {
         for (Shard* shard : {&f.source, &f.target}) {
           Trigger trigger{"theirs", "orders", "mover@10.0.0.5"};
           trigger.body = internal::UserTriggerBegin(f.movers) + " SET NEW.a = 1; END";
           trigger.sql_mode = shard == &f.source ? "ANSI" : "";
           shard->schema->triggers.push_back(trigger);
         }
       }},
      {"candidate-login",
       [](Facts& f) { f.source.candidates[0].server.login = absl::UnavailableError("is gone"); }},
      {"candidate-log",
       [](Facts& f) { f.source.candidates[0].server.variables["log_slave_updates"] = "OFF"; }},
      {"candidate-read-only",
       [](Facts& f) { f.source.candidates[0].server.variables["read_only"] = "OFF"; }},
      {"candidate-server-id",
       [](Facts& f) { f.source.candidates[0].server.variables["server_id"] = "1"; }},
      {"candidate-follows",
       [](Facts& f) { f.source.candidates[0].follows = std::vector<uint64_t>{2}; }},
      {"candidate-follows",
       [](Facts& f) { f.source.candidates[0].follows = absl::InternalError("denied"); }},
      {"replicate-filters",
       [](Facts& f) { f.source.candidates[0].server.variables["replicate_do_db"] = "other"; }},
      {"fence", [](Facts& f) { f.source.fence = absl::InternalError("denied"); }},
      {"fence-server", [](Facts& f) { (*f.source.fence)->front().server_id = 9; }},
      {"guards",
       [](Facts& f) {
         f.begun = true;
         f.source.guards = absl::FailedPreconditionError("changed");
       }},
      {"fence-owner", [](Facts& f) { (*f.source.fence)->front().own_lo = 500; }},
      {"fence-owner", [](Facts& f) { (*f.source.fence)->front().hi = 15; }},
      {"fence-owner", [](Facts& f) { (*f.target.fence)->front().lo = 19; }},
      {"other-moves", [](Facts& f) { f.target.moves = std::vector<std::string>{"old.1>2"}; }},
      {"other-moves", [](Facts& f) { f.source.moves = std::vector<std::string>{"old.2>1"}; }},
      {"other-moves", [](Facts& f) { f.source.moves = absl::InternalError("denied"); }},
      {"overlapping-moves",
       [](Facts& f) {
         f.source.open_moves = std::vector<OpenMove>{{"other.1>3", "READY", {{12, 12}}}};
       }},
      {"overlapping-moves", [](Facts& f) { f.target.open_moves = absl::InternalError("denied"); }},
      {"same-database",
       [](Facts& f) {
         f.target.server.variables = f.source.server.variables;
         (*f.target.fence)->front().server_id = 1;
       }},
      {"replica-of-other",
       [](Facts& f) {
         // The rows of a replica are the source's own: no advice may be to delete them.
         f.target.follows = {1};
         f.strays = std::vector<std::string>{"orders"};
       }},
      {"replica-of-other",
       [](Facts& f) {
         f.source.follows = {7, 2};
       }},
      {"same-database",
       [](Facts& f) {
         f.target.server.variables = f.source.server.variables;
         (*f.target.fence)->front().server_id = 1;
         f.strays = std::vector<std::string>{"orders"};
       }},
      {"server-id",
       [](Facts& f) {
         f.target.server.variables["server_id"] = "1";
         (*f.target.fence)->front().server_id = 1;
       }},
      {"clocks", [](Facts& f) { f.target.server.clock = absl::Hours(1); }},
      {"clocks", [](Facts& f) { f.target.server.clock = -absl::Minutes(2); }},
      {"time-zones", [](Facts& f) { f.target.server.variables["time_zone"] = "+08:00"; }},
      {"max-allowed-packet",
       [](Facts& f) { f.target.server.variables["max_allowed_packet"] = "1024"; }},
      {"schemas",
       [](Facts& f) { f.target.schema->tables.at("orders").columns[1].type = "datetime"; }},
      {"schemas", [](Facts& f) { f.target.schema->tables.at("orders").columns.pop_back(); }},
      {"schemas", [](Facts& f) { f.source.schema->tables.at("orders").checks = {"`at` > 0"}; }},
      {"schemas",
       [](Facts& f) { f.target.schema->tables.at("orders").takes = "RANGE (`at`) below 7"; }},
      {"schemas",
       [](Facts& f) { f.target.schema->tables.at("orders").keys[0].shape = {"order_id(7)"}; }},
      {"rows", [](Facts& f) { f.target.schema->tables.at("orders").schema.columns.pop_back(); }},
      {"column-types",
       [](Facts& f) {
         f.source.schema->tables.at("orders").schema.columns[1].data_type = "point";
       }},
      {"primary-key-types",
       [](Facts& f) {
         f.source.schema->tables.at("orders").schema.columns[0].column_type = "bigint zerofill";
       }},
      {"open-sessions",
       [](Facts& f) {
         f.target.server.old_sessions = std::vector<Session>{{7, "shop@10.0.0.9"}};
       }},
      {"stray-rows", [](Facts& f) { f.strays = std::vector<std::string>{"orders"}; }},
      {"stray-rows", [](Facts& f) { f.strays = absl::UnavailableError("timeout"); }},
      {"unique-keys",
       [](Facts& f) {
         f.collisions = std::vector<Collision>{{"orders", "number", 1000, 1}};
       }},
  };
  return *breaks;
}

TEST(JudgeTest, EachThingThatIsWrong_FailsItsCheckAndNoOther) {
  for (const Break& broken : Breaks()) {
    Facts facts = GoodFacts();
    broken.change(facts);
    std::set<std::string> expected = {broken.check};
    // Its own check also reports a column that is not there.
    if (facts.target.schema.ok() && facts.target.schema->tables.contains("orders") &&
        facts.target.schema->tables.at("orders").columns.size() == 2) {
      expected.insert("version-column");
    }
    EXPECT_EQ(Failed(facts), expected) << broken.check;
  }
}

TEST(JudgeTest, EveryCheck_IsBrokenByATest) {
  std::set<std::string> broken, checks;
  for (const Break& each : Breaks()) broken.insert(each.check);
  for (const Finding& finding : Judge(GoodFacts())) checks.insert(finding.check);
  for (const char* never : {"disk-space", "candidates", "unlisted-tables"}) checks.erase(never);
  checks.insert("accounts");  // reported only where it fails
  EXPECT_EQ(broken, checks);
}

TEST(JudgeTest, EveryCheck_IsInTheManual) {
  std::ifstream file(golden::ProjectDirectory() + "/docs/move/preflight.md");
  const std::string manual(std::istreambuf_iterator<char>(file), {});
  for (const Finding& finding : Judge(GoodFacts())) {
    EXPECT_THAT(manual, HasSubstr("`" + finding.check + "`"));
  }
}

TEST(JudgeTest, LeftoversOfAMove_AreNoFindingOnceItHasBegun) {
  Facts facts = GoodFacts();
  facts.begun = true;
  facts.strays = std::vector<std::string>{"orders"};
  (*facts.source.fence)->front().own_lo = 500;
  EXPECT_THAT(Failed(facts), IsEmpty());
}

TEST(JudgeTest, GuardsThatAnotherMoveUses_AreNotMadeForOtherMovers) {
  Facts facts = GoodFacts();
  auto differs = [](FenceDifference::Kind kind) {
    return internal::RefusalOf("127.0.0.1:3306", {{kind, "trigger x is not ours"}});
  };
  facts.source.guards = differs(FenceDifference::Kind::kTriggerBody);
  EXPECT_THAT(Failed(facts), IsEmpty());
  facts.source.moves = std::vector<std::string>{facts.move, "other.1>9"};
  EXPECT_THAT(Failed(facts), ElementsAre("guards"));
  facts.source.guards = differs(FenceDifference::Kind::kTriggerMissing);
  EXPECT_THAT(Failed(facts), IsEmpty()) << "the other move makes one just now";
}

TEST(JudgeTest, ObjectsThatTheRunMakes_NeedNotBeThereBefore) {
  Facts facts = GoodFacts();
  facts.source.fence = std::optional<std::vector<FenceRow>>();
  facts.target.guards = absl::FailedPreconditionError("a trigger is missing");
  EXPECT_THAT(Failed(facts), IsEmpty());
}

TEST(JudgeTest, AdministratorsMoversAndRoot_MayHaveRights) {
  Facts facts = GoodFacts();
  facts.administrators = {"dba@%"};
  for (const char* name : {"dba@%", "mover@10.0.0.5", "root@10.0.0.1", "mariadb.sys@localhost"}) {
    facts.source.accounts->dangerous.push_back({name, {"DROP on *.*"}});
  }
  EXPECT_THAT(Failed(facts), IsEmpty());
  // A namesake of root is not root.
  facts.source.accounts->dangerous.push_back({"rooted@localhost", {"DROP on *.*"}});
  EXPECT_THAT(Failed(facts), ElementsAre("dangerous-rights"));
}

TEST(JudgeTest, MovesOfOtherShards_AreNoFinding) {
  Facts facts = GoodFacts();
  facts.source.moves = std::vector<std::string>{"peak.1>2", "peak.1>3", "old.11>2", "old.1>22"};
  EXPECT_THAT(Failed(facts), IsEmpty());
}

TEST(JudgeTest, MoverWithWildcard_NeedsSsl) {
  Facts facts = GoodFacts();
  facts.source.server.current_user = "mover@%";
  facts.source.server.grants[0] += " REQUIRE SSL";
  EXPECT_THAT(Failed(facts), IsEmpty());
}

TEST(JudgeTest, RemedyOfMissingRights_IsTheGrant) {
  Facts facts = GoodFacts();
  facts.source.server.grants = {"GRANT SELECT, INSERT, UPDATE ON `shop`.* TO `mover`@`10.0.0.5`"};
  for (const Finding& finding : Judge(facts)) {
    if (finding.ok) continue;
    EXPECT_EQ(finding.remedy,
              "GRANT DELETE, CREATE, DROP, TRIGGER ON `shop`.* TO 'mover'@'10.0.0.5'; GRANT "
              "REPLICATION SLAVE, BINLOG MONITOR, PROCESS ON *.* TO 'mover'@'10.0.0.5'");
  }
}

TEST(HasRightTest, GrantsOfAllKinds_AreRead) {
  auto has = [](const std::string& grant, const std::string& right, const std::string& database) {
    return HasRight({grant}, right, database);
  };
  EXPECT_TRUE(has("GRANT ALL PRIVILEGES ON *.* TO `m`@`%` WITH GRANT OPTION", "DROP", "shop"));
  EXPECT_TRUE(has("GRANT SELECT, DROP ON `shop`.* TO `m`@`%`", "DROP", "shop"));
  EXPECT_TRUE(has("GRANT DROP ON `sh%`.* TO `m`@`%`", "DROP", "shop"));
  EXPECT_TRUE(has("GRANT DROP ON `locus\\_shop`.* TO `m`@`%`", "DROP", "locus_shop"));
  EXPECT_FALSE(has("GRANT DROP ON `locus\\_shop`.* TO `m`@`%`", "DROP", "locusxshop"));
  EXPECT_FALSE(has("GRANT DROP ON `shop`.`orders` TO `m`@`%`", "DROP", "shop"));
  EXPECT_FALSE(has("GRANT DROP ON `shop`.* TO `m`@`%`", "DROP", ""));
  EXPECT_FALSE(has("GRANT DROP ROLE ON *.* TO `m`@`%`", "DROP", "shop"));
  EXPECT_FALSE(has("GRANT `admin` TO `m`@`%`", "DROP", "shop"));
  EXPECT_FALSE(has("REVOKE DROP ON *.* FROM m", "DROP", "shop"));
}

TEST(LogsNeededTest, BigTables_NeedLongerLogs) {
  Facts facts = GoodFacts();
  EXPECT_EQ(LogsNeeded(facts), absl::Hours(24));
  facts.source.schema->tables.at("orders").rows = 2000ull * 86400 * 10;  // ten days of copying
  EXPECT_EQ(LogsNeeded(facts), absl::Hours(24 * 30 + 2));
  facts.copied_a_second = 20'000;
  EXPECT_EQ(LogsNeeded(facts), absl::Hours(24 * 3 + 2));
}

}  // namespace
}  // namespace locus::preflight
