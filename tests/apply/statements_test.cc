// SPDX-License-Identifier: Apache-2.0
// Which statements in a real server's log stop a stream, and what is said of them.
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/mysql/marker_tables.h"
#include "tests/apply/two_servers.h"

namespace locus {
namespace {

using mysql::ChangeApplier;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAsText[] =
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION binlog_format = "
    "STATEMENT;"
    " ";

class StatementsTest : public TwoServersTest {
 protected:
  // Runs it in the moved tables' database, and follows the log.
  absl::Status After(const std::string& statements) {
    servers_[0]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
    return Follow(*applier_, 0);
  }
  void SetUp() override {
    TwoServersTest::SetUp();
    servers_[0]->Sql(
        "CREATE OR REPLACE DATABASE far; CREATE TABLE far.heartbeat (a INT); CREATE TABLE"
        " far.items (a INT); CREATE TABLE locus_shop.beat (a INT, items INT)");
    applier_ = OpenTo(1);
    ASSERT_TRUE(Follow(*applier_, 0).ok());
  }
  // The stream stops there, and goes on behind it.
  std::string Stops(const std::string& statements) {
    const absl::Status status = After(statements);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << statements << ": " << status;
    EXPECT_TRUE(stream::IsCannotPass(status)) << statements;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2"))) << statements;
    servers_[1]->Sql(absl::StrCat("UPDATE locus_shop.locus_checkpoint SET position = '",
                                  PositionOf(0).ToString(), "'"));
    applier_ = OpenTo(1);
    return std::string(status.message());
  }

  std::unique_ptr<ChangeApplier> applier_;
};

TEST_F(StatementsTest, HarmlessOnes_StopNothing) {
  for (const char* statements : {
           "CREATE TABLE preitems (items INT COMMENT 'of items'); DROP TABLE preitems",
           "CREATE VIEW items_v AS SELECT * FROM items; DROP VIEW items_v",
           "CREATE EVENT items_e ON SCHEDULE EVERY 1 YEAR DO DELETE FROM items; DROP EVENT items_e",
           "CREATE PROCEDURE items_p() DROP TABLE items; DROP PROCEDURE items_p",
           "CREATE FUNCTION items_f() RETURNS INT RETURN 1; DROP FUNCTION items_f",
           "CREATE USER items_ro IDENTIFIED BY 'items'; SET PASSWORD FOR items_ro ="
           " PASSWORD('items'); GRANT SELECT ON locus_shop.items TO items_ro; DROP USER items_ro",
           "CREATE ROLE items; DROP ROLE items",
           "OPTIMIZE TABLE items; ANALYZE TABLE items",
           "ALTER TABLE items COMMENT 'DROP a', FORCE; CREATE INDEX items_i ON items (note)",
           "ALTER DATABASE locus_shop COMMENT 'items'",
           "CREATE TABLE IF NOT EXISTS items (a INT)",
           "CREATE TEMPORARY TABLE items (a INT); DROP TEMPORARY TABLE items",
           "CREATE TRIGGER items_t BEFORE INSERT ON beat FOR EACH ROW SET NEW.a = 1; DROP TRIGGER"
           " items_t",
           "USE far; ALTER TABLE items ADD b INT; TRUNCATE items; DROP TABLE items",
           "CREATE DATABASE other_items; DROP DATABASE other_items",
           "EXECUTE IMMEDIATE 'CREATE TABLE items2 (a INT) /* items */'",
           "SET STATEMENT max_statement_time = 9 FOR CREATE TABLE items3 LIKE items",
           "DROP TABLE items2 /*!999999 , items */, items3",
       }) {
    const absl::Status status = After(statements);
    EXPECT_TRUE(status.ok()) << statements << ": " << status;
    EXPECT_EQ(applier_->counts().unguarded, 0u) << statements;
  }
  for (const char* rows :
       {"USE far; INSERT INTO heartbeat VALUES (1)",
        "INSERT INTO beat (items) VALUES (1); UPDATE beat SET items = 2 WHERE items = 1;"
        " DELETE FROM beat WHERE items = 2; REPLACE INTO far.heartbeat VALUES (RAND())"}) {
    const absl::Status status = After(absl::StrCat(kAsText, rows));
    EXPECT_TRUE(status.ok()) << rows << ": " << status;
  }
  uint64_t sequence = 0;
  ASSERT_TRUE(After(InsertIn(5, sequence)).ok());
  EXPECT_EQ(Sum(1), Sum(0));
}

TEST_F(StatementsTest, ChangesOfAMovedTable_StopAndAreNotQuoted) {
  for (const char* statements : {
           "ALTER TABLE items ADD hunter2 INT",
           "USE far; ALTER TABLE locus_shop . `items` DROP hunter2",
           "/*!50000 ALTER TABLE items */ ADD a INT COMMENT 'hunter2'",
           "EXECUTE IMMEDIATE 'ALTER TABLE /*M!100100 items */ DROP a'",
           "PREPARE s FROM 'ALTER TABLE items ADD a INT COMMENT ''hunter2'''; EXECUTE s",
           "CREATE PROCEDURE p() ALTER TABLE items DROP a; CALL p()",
           "SET sql_mode = 'ANSI_QUOTES'; ALTER TABLE \"items\" ADD \"a,b\" INT",
           "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; ALTER TABLE items COMMENT '\\', DROP `a,b` -- '",
           "RENAME TABLE beat TO b2, items TO moved, moved TO items, b2 TO beat",
           "CREATE UNIQUE INDEX u ON items (order_id, line, version)",
           "DROP INDEX u ON items",
           "TRUNCATE items",
           "DROP TABLE IF EXISTS missing, beat, `items`",
       }) {
    EXPECT_THAT(Stops(statements), HasSubstr("table \"items\" may have been changed"))
        << statements;
  }
  EXPECT_THAT(Stops("CREATE OR REPLACE DATABASE locus_shop"), HasSubstr("the tables are gone"));
}

TEST_F(StatementsTest, SpacesOfTheClientsCharacterSet_HideNoTable) {
  for (const char* statements : {
           "SET NAMES latin1; ALTER TABLE \xA0items ADD a INT",
           "SET NAMES latin1; ALTER TABLE items\xA0"
           "DROP a",
           "SET NAMES latin1; RENAME TABLE items\xA0TO moved, moved TO items",
           "SET NAMES latin1; TRUNCATE TABLE \xA0items",
       }) {
    EXPECT_THAT(Stops(statements), HasSubstr("table \"items\" may have been changed"))
        << statements;
  }
}

TEST_F(StatementsTest, ModesOfOneStatement_DoNotChangeHowItsTextIsRead) {
  EXPECT_THAT(
      Stops("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SET STATEMENT sql_mode = '' FOR ALTER"
            " TABLE items COMMENT '\\', DROP note -- '"),
      AllOf(HasSubstr("SET STATEMENT sql_mode hides which table its statement changes"),
            HasSubstr("set sql_mode by SET SESSION instead"), Not(HasSubstr("binlog_format"))));
}

TEST_F(StatementsTest, ShapesThatLookLikeIndexes_Stop) {
  for (const char* statements : {"ALTER TABLE items ADD vector INT",
                                 "ALTER TABLE items ADD UNIQUE INDEX u (order_id, line, version)",
                                 "CREATE OR REPLACE INDEX u ON items (order_id, line, version)"}) {
    EXPECT_THAT(Stops(statements), HasSubstr("table \"items\" may have been changed"))
        << statements;
  }
}

TEST_F(StatementsTest, RowsOfAMovedTableAsText_StopAndAreNotQuoted) {
  EXPECT_THAT(Stops(absl::StrCat(kAsText,
                                 "INSERT INTO items (order_id, line, note) VALUES (1, 'a',"
                                 " 'hunter2')")),
              HasSubstr("rows of table \"items\" may have been changed by INSERT"));
  EXPECT_THAT(Stops(absl::StrCat(kAsText, "UPDATE beat JOIN items SET note = 'hunter2'")),
              HasSubstr("by UPDATE, which is in the log as text; set binlog_format=ROW"));
  EXPECT_THAT(Stops(absl::StrCat(kAsText, "USE far; DELETE FROM i USING locus_shop.items AS i")),
              HasSubstr("by DELETE"));
  EXPECT_THAT(Stops(absl::StrCat(kAsText, "ANALYZE DELETE FROM items WHERE note = 'hunter2'")),
              HasSubstr("is in the log as text, and may change rows"));
  EXPECT_THAT(Stops(absl::StrCat(
                  "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO beat VALUES"
                  " (1, 1); RETURN 1; END; ",
                  kAsText, "DO f()")),
              HasSubstr("is in the log as text, and may change rows"));
}

TEST_F(StatementsTest, TriggersOfAMovedTable_AreCounted) {
  ASSERT_TRUE(After("CREATE TRIGGER t AFTER INSERT ON items FOR EACH ROW SET @a = 'hunter2'").ok());
  EXPECT_EQ(applier_->counts().unguarded, 1u);
  EXPECT_EQ(applier_->unguarded_text(), "CREATE TRIGGER of table \"items\"");
}

}  // namespace
}  // namespace locus
