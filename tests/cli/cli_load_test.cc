// SPDX-License-Identifier: Apache-2.0
// locus load against MariaDB: databases of one server stand for shards.
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "tests/cli/command.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using testing::WriteFile;

// Shard 1 owns genes 0..99, shard 2 the rest.
class LoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("LOCUS_SHARD_PASSWORD", "s3cret", 1), 0);
    for (std::string* database : {&first_, &second_}) {
      *database = FreshMariadbDatabase().database;
      server_.Sql(absl::StrCat(
          "CREATE TABLE ", *database,
          ".orders (order_id BIGINT UNSIGNED PRIMARY KEY, version INT UNSIGNED NOT NULL DEFAULT 1, "
          "shard_gene SMALLINT UNSIGNED AS (order_id >> 47) STORED, KEY (shard_gene))"));
    }
    WriteTable({});
  }
  void TearDown() override { unsetenv("LOCUS_SHARD_PASSWORD"); }

  std::string Endpoint(const std::string& database) const {
    return absl::StrCat("mysql://127.0.0.1:", server_.port(), "/", database);
  }
  void WriteTable(std::vector<VnodeMove> moves) {
    std::vector<Shard> shards = {
        {.id = 1, .name = "one", .endpoint = Endpoint(first_), .labels = {}},
        {.id = 2, .name = "two", .endpoint = Endpoint(second_), .labels = {}}};
    WriteFile(table_,
              RoutingTable::Make(1, shards, {{99, 1}, {65535, 2}}, std::move(moves))->ToJson());
  }
  void Insert(const std::string& database, int gene, int sequence) {
    server_.Sql(absl::StrCat("INSERT INTO ", database, ".orders (order_id) VALUES ((", gene,
                             " << 47) + ", sequence, ")"));
  }
  std::vector<std::string> Words(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"load", "--table", table_, "--user", "locus"});
    return words;
  }

  MariadbServer& server_ = SharedMariadb();
  TemporaryDirectory directory_;
  std::string table_ = directory_ / "table.json";
  std::string first_;
  std::string second_;
};

TEST_F(LoadTest, Rows_AreCountedPerVnodeOfTheirShard) {
  for (int i = 0; i < 3; ++i) Insert(first_, 7, i);
  Insert(first_, 99, 0);
  Insert(second_, 100, 0);
  Insert(second_, 65535, 5);
  Insert(second_, 65535, 6);
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "vnode,load\n7,3\n99,1\n100,1\n65535,2\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(LoadTest, RowsOfVnodesThatTheShardDoesNotOwn_AreLeftOutAndTold) {
  Insert(first_, 7, 0);
  Insert(first_, 200, 0);
  Insert(first_, 200, 1);
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.out, "vnode,load\n7,1\n");
  EXPECT_EQ(outcome.err,
            "locus load: left out a load of 2 in vnodes that the table gives to other shards\n");
}

TEST_F(LoadTest, MovingVnode_CountsOnceThoughBothShardsHoldItsOrders) {
  WriteTable({{7, 8, 2, 5000}});
  Insert(first_, 7, 0);
  Insert(second_, 7, 0);  // its copy
  Insert(second_, 7, 1);
  Insert(second_, 6, 0);
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.out, "vnode,load\n7,2\n");
  EXPECT_THAT(outcome.err, HasSubstr("2 vnodes are moving"));
  EXPECT_THAT(outcome.err, HasSubstr("left out a load of 1"));
}

TEST_F(LoadTest, Writes_AreInsertsAndUpdatesASecond) {
  for (int i = 0; i < 10; ++i) Insert(first_, 7, i);
  Insert(second_, 300, 0);
  Insert(second_, 400, 0);
  server_.Sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
  RunningCommand command(Words({"--by", "writes", "--seconds", "10"}));
  // Both shards were counted for the first time: asked, and at rest since.
  auto value = [&](const std::string& query) { return server_.Value(query); };
  ASSERT_TRUE(testing::Eventually([&] {
    return value(
               "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE 'SELECT shard_gene%'") ==
               "2" &&
           value(
               "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'locus' AND "
               "command = 'Sleep'") == "2";
  }));
  server_.Sql(absl::StrCat("INSERT INTO ", first_, ".orders (order_id) SELECT order_id + 10 FROM ",
                           first_, ".orders; UPDATE ", first_,
                           ".orders SET version = version + 1 WHERE order_id < (7 << 47) + 10; "
                           "UPDATE ",
                           second_,
                           ".orders SET version = version + 10 WHERE order_id = 300 << 47"));
  Outcome outcome = command.Finish();
  server_.Sql("SET GLOBAL general_log = OFF");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  double seven = 0;
  double three_hundred = 0;
  ASSERT_EQ(
      std::sscanf(outcome.out.c_str(), "vnode,load\n7,%lf\n300,%lf\n", &seven, &three_hundred), 2)
      << outcome.out;
  EXPECT_GT(seven, 0);
  EXPECT_LE(seven, 20 / 10.0);
  EXPECT_NEAR(seven / three_hundred, 2, 0.5);
  EXPECT_THAT(outcome.out, Not(HasSubstr("400,")));
}

TEST_F(LoadTest, NoRows_AreAHeaderAndAWord) {
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out, "vnode,load\n");
  EXPECT_EQ(outcome.err, "locus load: no vnode has any load, so there is nothing to plan with\n");
}

TEST_F(LoadTest, WhatItPrints_IsWhatPlanReads) {
  for (int gene = 0; gene < 300; gene += 3) Insert(gene < 100 ? first_ : second_, gene, 0);
  std::string load = directory_ / "load.csv";
  WriteFile(load, RunLocus(Words()).out);
  Outcome plan = RunLocus({"plan", "--table", table_, "--load", load, "--json"});
  EXPECT_EQ(plan.exit, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("peak_after"));
}

TEST_F(LoadTest, ShardWithoutVnodes_IsNotAsked) {
  std::vector<Shard> shards = {
      {.id = 1, .name = "one", .endpoint = Endpoint(first_), .labels = {}},
      {.id = 2, .name = "left", .endpoint = "mysql://127.0.0.1:1/x", .weight = 0, .labels = {}}};
  WriteFile(table_, RoutingTable::Make(1, shards, {{65535, 1}})->ToJson());
  Insert(first_, 7, 0);
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "vnode,load\n7,1\n");
}

TEST_F(LoadTest, OtherTable_IsReadByItsName) {
  server_.Sql(absl::StrCat("RENAME TABLE ", first_, ".orders TO ", first_, ".order$1, ", second_,
                           ".orders TO ", second_, ".order$1"));
  server_.Sql(absl::StrCat("INSERT INTO ", first_, ".order$1 (order_id) VALUES (1 << 47)"));
  EXPECT_EQ(RunLocus(Words({"--table-name", "order$1"})).out, "vnode,load\n1,1\n");
  Outcome missing = RunLocus(Words());
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, StartsWith("locus load: shard \"one\": "));
  EXPECT_THAT(missing.err, HasSubstr("orders"));
}

TEST_F(LoadTest, WrongPassword_NamesTheShardAndNotThePassword) {
  ASSERT_EQ(setenv("LOCUS_SHARD_PASSWORD", "wr0ng", 1), 0);
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("locus load: shard \"one\": "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("wr0ng")));
}

TEST_F(LoadTest, GeneThatIsNone_IsRefused) {
  server_.Sql(absl::StrCat("ALTER TABLE ", first_,
                           ".orders MODIFY shard_gene SMALLINT UNSIGNED AS "
                           "(NULL) STORED; INSERT INTO ",
                           first_, ".orders (order_id) VALUES (1)"));
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a row has shard_gene NULL, which is not 0..65535"));
}

TEST_F(LoadTest, ShardThatIsNoMariadb_IsNamed) {
  WriteFile(table_, RoutingTable::MakeEven({{"odd", "redis://127.0.0.1:1/0"}})->ToJson());
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("shard \"odd\": its endpoint is not mysql://HOST:PORT/DB"));
}

TEST_F(LoadTest, WrongUsage_NamesTheWord) {
  for (const char* name : {"", "a b", "a`b", "orders;"}) {
    EXPECT_EQ(RunLocus(Words({"--table-name", name})).exit, 2) << name;
  }
  for (const char* option : {"--seconds", "--timeout"}) {
    for (const char* value : {"0", "3601", "x", "1.5"}) {
      Outcome outcome = RunLocus(Words({option, value}));
      EXPECT_EQ(outcome.exit, 2);
      EXPECT_THAT(outcome.err, HasSubstr(option));
    }
  }
  EXPECT_EQ(RunLocus(Words({"--by", "reads"})).exit, 2);
  EXPECT_EQ(RunLocus({"load", "--table", table_}).exit, 2);
}

}  // namespace
}  // namespace locus
