// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mysql/mariadb_replica.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus {
namespace {

// By the client program: our own connections refuse a server that is read-only.
void ByClient(MariadbServer& replica, const std::string& statements) {
  EXPECT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                        absl::StrCat("-P", replica.port()), "-uroot", "-e", statements},
                       replica.path("client.log")),
            0)
      << statements;
}

}  // namespace

MariadbServer::Settings ReplicaSettings(uint16_t server_id) {
  return {server_id, {"log-bin=binlog", "sync-binlog=1", "binlog-format=MIXED"}, {}};
}

void Replicate(MariadbServer& primary, MariadbServer& replica) {
  primary.Sql("CREATE USER repl@'%' IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO repl@'%'");
  replica.Sql(
      absl::StrCat("SET GLOBAL gtid_slave_pos=''; CHANGE MASTER TO MASTER_HOST='127.0.0.1',"
                   " MASTER_PORT=",
                   primary.port(),
                   ", MASTER_USER='repl', MASTER_PASSWORD='r', MASTER_USE_GTID=slave_pos;"
                   " START SLAVE; SET GLOBAL read_only=1"));
}

void WaitForReplica(MariadbServer& primary, MariadbServer& replica) {
  std::string position = primary.Value("SELECT @@gtid_binlog_pos");
  ByClient(replica, absl::StrCat("SELECT IF(MASTER_GTID_WAIT('", position,
                                 "', 100) = 0, 1, CAST('late' AS INT)) INTO @late"));
}

void CutOff(MariadbServer& replica) { ByClient(replica, "STOP SLAVE SQL_THREAD"); }

void Promote(MariadbServer& replica) {
  ByClient(replica, "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only=0");
}

void MakeReadOnly(MariadbServer& server) { ByClient(server, "SET GLOBAL read_only=1"); }

}  // namespace locus
