// SPDX-License-Identifier: Apache-2.0
// The version of a row only rises, for any writes of clients.
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/guard_sql.h"
#include "tests/fence/fence_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kSignalled = 1644;
constexpr char kDatabase[] = "locus_shop";

class VersionTriggersTest : public FencedServerTest {
 protected:
  void SetUp() override {
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE items (order_id BIGINT UNSIGNED, line VARBINARY(20), note INT,"
        " version BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line)); ",
        absl::StrJoin(CreateTombstones(), "; ")));
    table_.guard.name = "items";
    table_.primary_key = {"order_id", "line"};
    ASSERT_TRUE(table_.Check().ok());
    MakeVersionTriggers(*server_, kDatabase, table_);
    session_ = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
  }

  void MakeThemAnew(bool replaces) {
    for (const VersionTrigger& trigger : VersionTriggersOf(table_, {"mover@127.0.0.1"})) {
      server_->Sql(absl::StrCat("DROP TRIGGER ", kDatabase, ".", trigger.name));
    }
    table_.replaces = replaces;
    MakeVersionTriggers(*server_, kDatabase, table_);
  }
  unsigned Try(const std::string& statement) {
    auto results = session_->Run(statement);
    message_ = results.ok() ? "" : std::string(results.status().message());
    return session_->error();
  }
  uint64_t RowVersion(const std::string& line) {
    const std::string value =
        server_->Value("SELECT version FROM locus_shop.items WHERE line = '" + line + "'");
    return value.empty() ? 0 : std::stoull(value);
  }
  uint64_t Tombstone(const std::string& line) {
    const std::string pk = absl::StrCat("'1:7", line.size(), ":", line, "'");
    const std::string value = server_->Value(
        absl::StrCat("SELECT version FROM locus_shop.locus_tombstone WHERE bucket = CRC32(", pk,
                     ") & 65535 AND tbl = 'items' AND pk = ", pk));
    return value.empty() ? 0 : std::stoull(value);
  }

  MovedTable table_;
  std::unique_ptr<SqlSession> session_;
  std::string message_;
};

// Behind it a row could neither change nor be deleted.
TEST_F(VersionTriggersTest, VersionNearTheEnd_IsRefusedBeforeItCanOverflow) {
  const std::string insert = "INSERT INTO items (order_id, line, version) VALUES (7, 'a', ";
  for (bool replaces : {false, true}) {
    MakeThemAnew(replaces);
    for (const char* version : {"18446744073709551615", "9223372036854775808"}) {
      EXPECT_EQ(Try(absl::StrCat(insert, version, ")")), kSignalled) << version;
      EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED a version of 2^63 or more"));
    }
    EXPECT_EQ(Try(absl::StrCat(insert, "9223372036854775806)")), 0u) << message_;
    EXPECT_EQ(Try("UPDATE items SET version = 18446744073709551615"), kSignalled) << message_;
    EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED a version of 2^63 or more"));
    for (int note : {1, 2}) {
      EXPECT_EQ(Try(absl::StrCat("UPDATE items SET note = ", note)), 0u) << message_;
    }
    EXPECT_EQ(RowVersion("a"), uint64_t{1} << 63);
    EXPECT_EQ(Try("UPDATE items SET note = 3"), kSignalled) << message_;
    EXPECT_EQ(Try("DELETE FROM items"), 0u) << message_;
    EXPECT_EQ(Tombstone("a"), (uint64_t{1} << 63) + 1);
    server_->Sql(
        "USE locus_shop; DELETE FROM locus_tombstone WHERE tbl <> ''; UPDATE"
        " locus_tombstone SET version = 0");
  }
  // One from before the triggers.
  server_->Sql(
      "USE locus_shop; DROP TRIGGER locus_version_items_before_insert; INSERT INTO items (order_id,"
      " line, version) VALUES (7, 'a', 18446744073709551615)");
  for (const char* statement : {"UPDATE items SET note = 1", "DELETE FROM items"}) {
    EXPECT_EQ(Try(statement), kSignalled) << message_;
    EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED a version of 2^63 or more"));
  }
}

TEST_F(VersionTriggersTest, Update_RaisesByOneAtLeast) {
  EXPECT_EQ(Try("INSERT INTO items VALUES (7, 'a', 0, 1)"), 0u);
  EXPECT_EQ(Try("UPDATE items SET note = 1"), 0u);
  EXPECT_EQ(RowVersion("a"), 2u);
  EXPECT_EQ(Try("UPDATE items SET note = 2, version = version + 1"), 0u);
  EXPECT_EQ(RowVersion("a"), 3u);
  EXPECT_EQ(Try("UPDATE items SET note = 3, version = 1"), 0u);
  EXPECT_EQ(RowVersion("a"), 4u);
  EXPECT_EQ(Try("UPDATE items SET note = 3, version = 100"), 0u);
  EXPECT_EQ(RowVersion("a"), 100u);
}

TEST_F(VersionTriggersTest, DeletedAndInsertedAgain_IsAboveItsTombstone) {
  EXPECT_EQ(Try("INSERT INTO items VALUES (7, 'a', 0, 5); DELETE FROM items"), 0u);
  EXPECT_EQ(Tombstone("a"), 6u);
  EXPECT_EQ(RowVersion("a"), 0u);
  EXPECT_EQ(Try("INSERT INTO items (order_id, line, note) VALUES (7, 'a', 1)"), 0u);
  EXPECT_EQ(RowVersion("a"), 7u);
}

TEST_F(VersionTriggersTest, Replace_IsRefusedUnlessItsVersionIsAbove) {
  EXPECT_EQ(Try("REPLACE INTO items VALUES (7, 'a', 0, 5)"), 0u) << "there was no such row";
  EXPECT_EQ(Try("REPLACE INTO items VALUES (7, 'a', 1, 6)"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED REPLACE of a row that exists"));
  EXPECT_EQ(RowVersion("a"), 5u);
  EXPECT_EQ(Try("REPLACE INTO items VALUES (7, 'a', 1, 7)"), 0u);
  EXPECT_EQ(Tombstone("a"), 6u);
  EXPECT_EQ(RowVersion("a"), 7u);
}

TEST_F(VersionTriggersTest, ReplaceWhereClientsUseIt_IsAboveTheTombstoneThatItLeaves) {
  MakeThemAnew(true);
  EXPECT_EQ(Try("INSERT INTO items VALUES (7, 'a', 0, 5)"), 0u);
  EXPECT_EQ(Try("REPLACE INTO items VALUES (7, 'a', 1, 1)"), 0u);
  EXPECT_EQ(Tombstone("a"), 6u);
  EXPECT_EQ(RowVersion("a"), 7u);
}

TEST_F(VersionTriggersTest, PrimaryKey_CannotChange) {
  EXPECT_EQ(Try("INSERT INTO items VALUES (7, 'a', 0, 5)"), 0u);
  EXPECT_EQ(Try("UPDATE items SET line = 'A'"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("LOCUS_REFUSED the primary key"));
  EXPECT_EQ(Try("UPDATE items SET order_id = 8"), kSignalled);
}

TEST_F(VersionTriggersTest, Mover_WritesVersionsAsTheyAre) {
  MysqlOptions options = server_->Account(kDatabase);
  options.user = "mover";
  auto mover = SqlSession::Open(options).value();
  ASSERT_TRUE(mover
                  ->Run("INSERT INTO items VALUES (7, 'a', 0, 5); UPDATE items SET version = 3;"
                        "DELETE FROM items")
                  .ok());
  EXPECT_EQ(Tombstone("a"), 0u);
}

// Random statements of every kind on a few rows: what is known of a row, be it there or deleted,
// rises with each change of it.
class AnySequenceTest : public VersionTriggersTest, public ::testing::WithParamInterface<bool> {};

TEST_P(AnySequenceTest, OnlyRaises) {
  MakeThemAnew(GetParam());
  const std::vector<std::string> statements = {
      "INSERT INTO items VALUES (7, '$', #, 1)",
      "INSERT INTO items (order_id, line, note) VALUES (7, '$', #)",
      "INSERT IGNORE INTO items VALUES (7, '$', #, 3)",
      "REPLACE INTO items VALUES (7, '$', #, 2)",
      "REPLACE INTO items (order_id, line, note) VALUES (7, '$', #)",
      "INSERT INTO items VALUES (7, '$', #, 1) ON DUPLICATE KEY UPDATE note = #",
      "INSERT INTO items VALUES (7, '$', #, 1) ON DUPLICATE KEY UPDATE note = #, version = 1",
      "UPDATE items SET note = # WHERE line = '$'",
      "UPDATE items SET note = #, version = 0 WHERE line = '$'",
      "DELETE FROM items WHERE line = '$'",
  };
  const std::vector<std::string> lines = {"a", "bb", "A"};
  std::map<std::string, std::string> before;
  std::map<std::string, uint64_t> highest;
  std::mt19937_64 random(20261122);
  for (int i = 1; i <= 600; ++i) {
    const std::string& line = lines[random() % lines.size()];
    const std::string statement = absl::StrReplaceAll(statements[random() % statements.size()],
                                                      {{"$", line}, {"#", absl::StrCat(i)}});
    const unsigned error = Try(statement);
    const bool refused =
        error == kSignalled && !GetParam() && absl::StartsWith(statement, "REPLACE");
    ASSERT_TRUE(error == 0 || error == 1062 || refused) << statement << message_;
    const uint64_t row = RowVersion(line), tombstone = Tombstone(line);

    ASSERT_TRUE(row == 0 || row > tombstone) << statement;
    const std::string now = server_->Value(
        "SELECT COALESCE((SELECT note FROM locus_shop.items WHERE line = '" + line + "'), '')");
    const uint64_t known = std::max(row, tombstone);
    if (now == before[line]) {
      ASSERT_GE(known, highest[line]) << statement;
    } else {
      ASSERT_GT(known, highest[line]) << statement;
    }
    before[line] = now;
    highest[line] = known;
  }
}

INSTANTIATE_TEST_SUITE_P(Replaces, AnySequenceTest, ::testing::Bool());

TEST(MovedTableTest, WhatCannotBe_IsRefusedByName) {
  MovedTable table;
  table.guard.name = "orders";
  EXPECT_TRUE(table.Check().ok());
  auto refusal = [](MovedTable changed) {
    EXPECT_TRUE(absl::IsInvalidArgument(changed.Check()));
    return std::string(changed.Check().message());
  };
  MovedTable changed = table;
  changed.guard.name = std::string(36, 'x');
  EXPECT_THAT(refusal(changed), HasSubstr("1 to 35 bytes"));
  changed = table;
  changed.primary_key = {};
  EXPECT_THAT(refusal(changed), HasSubstr("primary_key"));
  changed.primary_key = {"version"};
  EXPECT_THAT(refusal(changed), HasSubstr("other than the version"));
  changed = table;
  changed.version = "";
  EXPECT_THAT(refusal(changed), HasSubstr("version"));
}

}  // namespace
}  // namespace locus
