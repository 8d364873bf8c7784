// SPDX-License-Identifier: Apache-2.0
// The facts about real servers: a pair that passes, and each change that breaks a check.
#include "migration/fence/moved_tables.h"
#include "tests/preflight/preflight_fixture.h"

namespace locus {
namespace {

using preflight::Finding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

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

// They would write until the guards are there, and then be refused; on a candidate, when it is
// promoted.
TEST_F(PreflightTest, SessionsFromBeforeTheFormatWasSet_AreRefused) {
  for (const int at : {kSource, kReplica}) {
    SCOPED_TRACE(at);
    MariadbServer& server = *servers_[at];
    MysqlOptions service = As(at);
    service.user = "service";
    server.Sql("SET GLOBAL binlog_format = MIXED");
    auto old = SqlSession::Open(service).value();
    // The mark of the primary, which a replica also has, says nothing about the replica's sessions.
    server.Sql(
        absl::StrCat("SET GLOBAL binlog_format = ROW; SET sql_log_bin = 0; DROP TABLE IF EXISTS"
                     " shop.locus_sessions_",
                     at + 1));
    const auto failed = [&] {
      for (const Finding& finding : Findings()) {
        if (!finding.ok && finding.check == "open-sessions") return finding;
      }
      return Finding();
    };
    EXPECT_THAT(failed().found, HasSubstr("of service@127.0.0.1"));
    EXPECT_THAT(failed().place, HasSubstr(absl::StrCat(":", server.port())));
    const std::string remedy = failed().remedy;
    server.Sql(remedy.substr(0, remedy.find("; then let")));
    auto young = SqlSession::Open(service).value();
    EXPECT_TRUE(WaitUntil([&] {
      return absl::StartsWith(failed().found, "1 may have begun before SET GLOBAL: ");
    })) << failed().found;
    old = nullptr;
    EXPECT_TRUE(WaitUntil([&] { return Failed().empty(); })) << "the young one may stay";
    server.Sql(absl::StrCat("SET sql_log_bin = ", at == kReplica ? 0 : 1, "; ", NoOldSessions(at)));
  }
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

// The remedy as well.
TEST_F(PreflightTest, SecondDomainInTheLog_IsRefusedUntilItIsGone) {
  MariadbServer& target = *servers_[kTarget];
  target.Sql("SET SESSION gtid_domain_id = 5; INSERT INTO shop.others VALUES (7)");
  EXPECT_THAT(Failed(), ElementsAre(HasSubstr("gtid-domains: 2 domains in ")));
  target.Sql("DELETE FROM shop.others; FLUSH BINARY LOGS");
  // A log is deleted once the server has noted that a crash no longer needs it.
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

// A fact that the mover may not read is a failure that names the GRANT.
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
      mysql::MovedTables::Create(As(kSource), options_.move.tables, options_.move.movers);
  ASSERT_TRUE(other->Install("other.2>1").ok());
  EXPECT_THAT(Failed(), ElementsAre("other-moves: other.2>1"));
  ASSERT_TRUE(other->Remove("other.2>1").ok());
  EXPECT_THAT(Failed(), IsEmpty());
  servers_[kSource]->Sql(
      "CREATE TABLE shop.locus_move (move VARCHAR(64), phase VARCHAR(16), vnodes TEXT, status "
      "TEXT);"
      "INSERT INTO shop.locus_move VALUES ('far.1>3', 'READY', '9-15,40-49', ''), ('old.1>3', "
      "'DONE',"
      " '0-9', ''), ('first.1>2', 'COPYING', '0-9', '{\"copied\": {\"rows_per_second\": "
      "5000.5}}')");
  EXPECT_THAT(Failed(), ElementsAre("overlapping-moves: far.1>3 is READY, vnodes 9-15"));
  EXPECT_EQ(mysql::CollectFacts(options_).copied_a_second, 5000.5);
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
