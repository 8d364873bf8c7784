// SPDX-License-Identifier: Apache-2.0
// locus verify on two databases of one server.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;

class VerifyCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("LOCUS_SHARD_PASSWORD", "s3cret", 1), 0);
    for (std::string* database : {&source_, &target_}) {
      *database = FreshMariadbDatabase().database;
      Sql(*database,
          "CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(20), rev BIGINT"
          " UNSIGNED NOT NULL DEFAULT 3, shard_gene SMALLINT UNSIGNED AS (order_id >> 47) STORED,"
          " KEY (shard_gene)); INSERT INTO orders (order_id, name) SELECT (seq << 47) + seq, 'Ada'"
          " FROM seq_0_to_99");
    }
  }
  void TearDown() override { unsetenv("LOCUS_SHARD_PASSWORD"); }

  void Sql(const std::string& database, const std::string& statements) {
    server_.Sql(absl::StrCat("USE ", database, "; ", statements));
  }
  std::string Uri(const std::string& database) const {
    return absl::StrCat("mysql://locus@127.0.0.1:", server_.port(), "/", database);
  }
  std::vector<std::string> Words(const std::vector<std::string>& more = {},
                                 const std::string& vnodes = "0..99") const {
    std::vector<std::string> words = {"verify",     "--source", Uri(source_),          "--target",
                                      Uri(target_), "--table",  "orders:order_id:rev", "--vnodes",
                                      vnodes};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  MariadbServer& server_ = SharedMariadb();
  std::string source_, target_;
};

TEST_F(VerifyCommandTest, EqualShards_AreEqual) {
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "100 rows compared: equal\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(RunLocus(Words({}, "5..9,20,30-31")).out, "8 rows compared: equal\n");
  EXPECT_EQ(RunLocus(Words({"--table", "orders:gene=shard_gene:rev"})).out,
            "200 rows compared: equal\n");
}

TEST_F(VerifyCommandTest, Differences_ArePrintedAndAreExitStatus1) {
  Sql(target_,
      "UPDATE orders SET name = 'Grace' WHERE order_id = 0; DELETE FROM orders WHERE shard_gene = "
      "7;"
      "UPDATE orders SET rev = 4 WHERE shard_gene = 50");
  Outcome outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("orders 0: one version with different columns (version 3 on the "
                        "source, version 3 on the target); name: 3 bytes "));
  EXPECT_THAT(outcome.out, HasSubstr("orders 985162418487303: missing on the target (version 3 on "
                                     "the source, never seen on the target)\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("orders 7036874417766450: different versions (version 3 on the "
                        "source, version 4 on the target)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("100 rows compared: 3 different\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Grace")));
  EXPECT_EQ(RunLocus(Words({}, "8..49")).exit, 0) << "not among these";
  outcome = RunLocus(Words({"--values"}, "0"));
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.out, HasSubstr("; name: 'Ada' <> 'Grace'\n"));
}

TEST_F(VerifyCommandTest, OneDatabaseByTwoAddresses_IsRefused) {
  std::string other = Uri(source_);
  other.replace(other.find("127.0.0.1"), 9, "localhost");
  for (const std::string& target : {Uri(source_), other}) {
    const Outcome outcome = RunLocus({"verify", "--source", Uri(source_), "--target", target,
                                      "--table", "orders:order_id:rev", "--vnodes", "0..99"});
    EXPECT_EQ(outcome.exit, 1) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("are one database, which is equal to itself"));
  }
}

TEST_F(VerifyCommandTest, Json_IsOneObject) {
  Sql(target_, "UPDATE orders SET name = X'FF' WHERE order_id = 0");
  Sql(source_, "UPDATE orders SET name = NULL WHERE order_id = 0");
  Outcome outcome = RunLocus(Words({"--json", "--values"}));
  EXPECT_EQ(outcome.exit, 1);
  auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["rows"], 100);
  EXPECT_EQ(json["differences"], 1);
  EXPECT_EQ(json["still_changing"], 0);
  const auto& row = json["rows_that_differ"][0];
  EXPECT_EQ(row["table"], "orders");
  EXPECT_EQ(row["key"], "0");
  EXPECT_EQ(row["kind"], "columns");
  EXPECT_EQ(row["source"]["version"], 3);
  EXPECT_EQ(row["columns"][0]["name"], "name");
  EXPECT_EQ(row["columns"][0]["source"], nullptr);
  EXPECT_EQ(row["columns"][0]["target"]["bytes"], 1);
  EXPECT_TRUE(json.contains("slices"));
  EXPECT_EQ(nlohmann::json::parse(RunLocus(Words({"--json"}, "5")).out)["equal"], true);
}

TEST_F(VerifyCommandTest, From_GoesOnThere) {
  Sql(target_, "DELETE FROM orders WHERE shard_gene = 7");
  EXPECT_EQ(RunLocus(Words({"--from", "- 6 orders"}, "5,6,7")).exit, 1);
  EXPECT_EQ(RunLocus(Words({"--from", "985162418487303 7 orders"}, "5,6,7")).exit, 0);
  Outcome outcome = RunLocus(Words({"--from", "x"}));
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the position of the comparison is \"x\""));
}

TEST_F(VerifyCommandTest, Failures_NameThePlaceAndNotThePassword) {
  Outcome outcome = RunLocus(Words({"--move", "peak"}));
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("locus_checkpoint"));
  Sql(target_, "DROP TABLE orders");
  outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("has no table \"orders\""));
  ASSERT_EQ(setenv("LOCUS_SHARD_PASSWORD", "wr0ng", 1), 0);
  outcome = RunLocus(Words());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("locus verify: mariadb 127.0.0.1"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("wr0ng")));
}

TEST_F(VerifyCommandTest, WrongUsage_NamesTheWord) {
  for (const char* vnodes : {"", "x", "5..4", "0..65536", "0..9,9..10", "1,,2", "1..2..3", "-1"}) {
    Outcome outcome = RunLocus(Words({}, vnodes));
    EXPECT_EQ(outcome.exit, 2) << vnodes;
    EXPECT_THAT(outcome.err, HasSubstr("--vnodes")) << vnodes;
  }
  for (const char* table : {"", "orders", "orders:", ":order_id", "a:b:c:d", "orders:gene="}) {
    Outcome outcome = RunLocus(Words({"--table", table}));
    EXPECT_EQ(outcome.exit, 2) << table;
    EXPECT_THAT(outcome.err, HasSubstr("--table")) << table;
  }
  Outcome outcome = RunLocus({"verify", "--source", "sqlite:x.db", "--target", Uri(target_),
                              "--table", "orders:order_id", "--vnodes", "1"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--source is not mysql://"));
  outcome = RunLocus({"verify"});
  EXPECT_EQ(outcome.exit, 2);
}

}  // namespace
}  // namespace locus
