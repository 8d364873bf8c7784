// SPDX-License-Identifier: Apache-2.0
// What docs/start/choosing.md says of counters that have no engine of locus behind them, and of
// counters of MariaDB: what is kept, and what repeats.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/engine/mysql.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_counting";

struct Numbers {
  int64_t auto_increment = 0;
  int64_t ticket = 0;
  int64_t sequencer = 0;

  friend bool operator==(const Numbers&, const Numbers&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Numbers& numbers) {
    return out << numbers.auto_increment << " " << numbers.ticket << " " << numbers.sequencer;
  }
};
Numbers AllAt(int64_t number) { return {number, number, number}; }

void MakeCounters(MariadbServer& server) {
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(server.OptionsFor(kDatabase)).ok());
  server.Sql(
      "USE locus_counting; CREATE TABLE numbered (id BIGINT PRIMARY KEY AUTO_INCREMENT);"
      "CREATE TABLE ticket (name VARCHAR(64) PRIMARY KEY, n BIGINT NOT NULL);"
      "INSERT INTO ticket VALUES ('orders', 0)");
}

// The next one of each.
Numbers Next(MariadbServer& server) {
  auto last_insert_id = [&](const std::string& statement) {
    const auto results =
        server.Sql(absl::StrCat("USE ", kDatabase, ";", statement, ";SELECT LAST_INSERT_ID()"));
    int64_t number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(*results.back().rows.at(0).at(0), &number));
    return number;
  };
  Numbers numbers;
  numbers.auto_increment = last_insert_id("INSERT INTO numbered VALUES ()");
  numbers.ticket =
      last_insert_id("UPDATE ticket SET n = LAST_INSERT_ID(n + 1) WHERE name = 'orders'");
  auto sequencer = MysqlSequencer::Open(server.Account(kDatabase), {});
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  numbers.sequencer = (*sequencer)->Next("orders").value();
  return numbers;
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(SurvivalTest, MariadbKilledThenRestoredFromADump_GoesOnThenRepeats) {
  MariadbServer server;
  ASSERT_TRUE(server.Start());
  MakeCounters(server);
  EXPECT_EQ(Next(server), AllAt(1));
  server.KillHard();
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(Next(server), AllAt(2));

  const std::string login =
      absl::StrCat(" --no-defaults -h127.0.0.1 -P", server.port(), " -uroot ", kDatabase);
  const std::string dump = server.path("dump.sql"), log = server.path("client.log");
  // Not by way of its output, in which a complaint of the client would become a statement.
  ASSERT_EQ(RunProgram({"sh", "-c", "mariadb-dump" + login + " --result-file=" + dump}, log), 0)
      << TextOf(log);
  EXPECT_EQ(Next(server), AllAt(3));
  ASSERT_EQ(RunProgram({"sh", "-c", "mariadb" + login}, log, dump), 0) << TextOf(log);
  EXPECT_EQ(Next(server), AllAt(3)) << "the page says that these repeat";
}

TEST(SurvivalTest, MariadbFailedOverToAReplicaThatLags_Repeats) {
  MariadbServer primary(ReplicaSettings(1)), replica(ReplicaSettings(2));
  for (MariadbServer* server : {&primary, &replica}) ASSERT_TRUE(server->Start());
  Replicate(primary, replica);
  MakeCounters(primary);
  EXPECT_EQ(Next(primary), AllAt(1));
  WaitForReplica(primary, replica);
  CutOff(replica);
  EXPECT_EQ(Next(primary), AllAt(2));
  primary.KillHard();
  Promote(replica);
  EXPECT_EQ(Next(replica), AllAt(2)) << "the page says that these repeat";
}

TEST(SurvivalTest, RedisThatFlushesEachWriteKilled_IncrGoesOn) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  ASSERT_TRUE(server.Start());
  for (const char* number : {"1", "2", "3"}) EXPECT_EQ(server.Ask("INCR orders"), number);
  server.KillHard();
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(server.Ask("INCR orders"), "4");
}

}  // namespace
}  // namespace locus
