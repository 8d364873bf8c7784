// SPDX-License-Identifier: Apache-2.0
// The facts about tables of real servers, and each change that breaks a check.
#include "tests/preflight/preflight_fixture.h"

namespace locus {
namespace {

using preflight::Finding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class PreflightTablesTest : public PreflightTest {};

TEST_F(PreflightTablesTest, TablesThatCannotMove_AreEachRefused) {
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

// Its rows would stay where no client may write them.
TEST_F(PreflightTablesTest, GuardedTableThatTheFileDoesNotName_IsRefused) {
  const std::string last = options_.move.tables.back().guard.name;
  options_.move.tables.pop_back();
  EXPECT_THAT(Failed(), Each(HasSubstr("guarded-tables: " + last + ": not in the move file")));
  EXPECT_THAT(FailedChecks(), ElementsAre("guarded-tables"));
}

// It may be an archive, so it does not fail.
TEST_F(PreflightTablesTest, TableWithTheOrderIdThatTheFileDoesNotName_IsWarnedOf) {
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

TEST_F(PreflightTablesTest, Columns_AreEachRefused) {
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
TEST_F(PreflightTablesTest, DefaultsThatDifferPerShard_AreRefused) {
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

TEST_F(PreflightTablesTest, RowsOnTheTarget_AreFound) {
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

}  // namespace
}  // namespace locus
