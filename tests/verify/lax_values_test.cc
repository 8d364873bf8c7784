// SPDX-License-Identifier: Apache-2.0
// Values that sessions of clients store under sql_mode = '', and that no strict
// session could.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/apply/row_copier.h"
#include "migration/fence/moved_tables.h"
#include "tests/verify/verify_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kSignalled = 1644, kNull = 1048, kNoDefault = 1364;

class LaxValuesTest : public VerifyTest {
 protected:
  // `goods` with a key column `k` beside the order's; its triggers on both
  // shards.
  void MakeGoods(const std::string& key, const std::string& more, bool replaces = false) {
    SetUp();  // without what the case before has left
    table_ = MovedTable();
    table_.guard.name = "goods";
    table_.primary_key = {"order_id", "k"};
    table_.replaces = replaces;
    for (size_t i : {0, 1}) {
      servers_[i]->Sql(absl::StrCat("USE ", kDatabase,
                                    "; CREATE TABLE goods (order_id BIGINT UNSIGNED NOT NULL, k ",
                                    key, " NOT NULL, v INT NOT NULL, ", more,
                                    "version BIGINT UNSIGNED NOT NULL DEFAULT 1,"
                                    " PRIMARY KEY (order_id, k))"));
      auto tables = mysql::MovedTables::Create(As(i, "mover"), {table_}, {"mover@127.0.0.1"});
      ASSERT_TRUE(tables.ok()) << tables.status();
      ASSERT_EQ(tables->Install("first"), absl::OkStatus());
      ASSERT_EQ(tables->Verify("first"), absl::OkStatus());
    }
    start_ = PositionOf(0);
  }
  // The server's error number.
  unsigned Client(size_t server, const std::string& statement, const std::string& mode = "") {
    auto session = SqlSession::Open(As(server, "locus")).value();
    EXPECT_TRUE(session->Run(absl::StrCat("SET sql_mode = '", mode, "'")).ok());
    auto results = session->Run(statement);
    message_ = results.ok() ? "" : std::string(results.status().message());
    return session->error();
  }
  static std::string Goods(size_t server, const std::string& columns) {
    return servers_[server]->Value(absl::StrCat("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(' ', ",
                                                columns,
                                                ") ORDER BY k | 0), '') FROM locus_shop.goods"));
  }
  absl::Status Copy(uint64_t rows) {
    auto applier = mysql::ChangeApplier::Open(OptionsTo(1), start_);
    if (!applier.ok()) return applier.status();
    mysql::CopierOptions options;
    options.source = As(0, "mover");
    options.table = table_;
    options.ranges = {{0, 99}};
    options.least_rows = options.most_rows = rows;
    while (true) {
      // Anew for each chunk: it goes on from the text of its checkpoint.
      auto copier = mysql::RowCopier::Open(options, **applier);
      if (!copier.ok()) return copier.status();
      auto more = (*copier)->CopyChunk();
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
    }
  }
  absl::Status Stream(size_t to) {
    auto applier = mysql::ChangeApplier::Open(OptionsTo(to), to == 1 ? start_ : back_start_);
    return applier.ok() ? Follow(**applier, 1 - to) : applier.status();
  }
  void ExpectEqual(uint64_t rows) {
    auto verifier = mysql::RowVerifier::Open(Comparing(table_, 1));
    ASSERT_TRUE(verifier.ok()) << verifier.status();
    for (bool more = true; more;) {
      auto slice = (*verifier)->VerifySlice();
      ASSERT_TRUE(slice.ok()) << slice.status();
      more = *slice;
    }
    EXPECT_THAT(Lines(**verifier), testing::IsEmpty());
    EXPECT_EQ((*verifier)->counts().rows, rows);
  }

  std::string message_;
};

// Beside it one of each other type, with a value that a strict session would
// refuse or change.
TEST_F(LaxValuesTest, EnumOfNoMember_MovesForthAndBackWithAllThatIsBesideIt) {
  constexpr char kMore[] =
      "e ENUM('a', 'b') NOT NULL, f ENUM('x') NULL, s "
      "SET('p', 'q') NOT NULL, y YEAR NOT NULL,"
      " d DATE NOT NULL, d2 DATE NOT NULL, d3 DATE, t "
      "DATETIME(3) NOT NULL, ts TIMESTAMP NOT NULL"
      " DEFAULT '2020-01-01', du TIME(2), de "
      "DECIMAL(5,2), fl FLOAT, db DOUBLE, b BIT(64),"
      " c CHAR(3) CHARACTER SET latin1, u UUID, i6 INET6, "
      "i4 INET4, j JSON, te TEXT CHARACTER SET"
      " ucs2, bl BLOB, bi BINARY(4), ";
  constexpr char kValues[] =
      ", 'zzz', 'zzz', 'p,zzz', 'zzz', '0000-00-00', "
      "'2026-02-31', '2026-00-10',"
      " '0000-00-00', '0000-00-00', '999:59:59.999', "
      "123456.789, 0.1, 0.1, ~0, 'long',"
      " '123e4567-e89b-12d3-a456-426655440000', '::1', "
      "'10.0.0.1', '{\"a\": 1}', 'text', X'00ff',"
      " 'b', 1)";
  const std::string insert = "INSERT INTO goods VALUES (7, ";
  for (bool copied : {true, false}) {
    MakeGoods("ENUM('c', 'b', 'a')", kMore, /*replaces=*/true);
    if (HasFatalFailure()) return;
    for (const char* key : {"'zzz'", "'b'", "'a'"}) {
      const std::string row = absl::StrCat(insert, key, ", 1", kValues);
      ASSERT_EQ(Client(0, row, "ALLOW_INVALID_DATES"), 0u) << message_;
    }
    ASSERT_EQ(Client(0, insert + "'c', 1, 'a', 'x'" + std::string(kValues).substr(14)), 0u)
        << message_;
    if (copied) {
      for (uint64_t rows : {1, 1000}) {
        ASSERT_EQ(Copy(rows), absl::OkStatus());
        if (rows == 1) servers_[1]->Sql("USE locus_shop; DELETE FROM locus_copy; TRUNCATE goods");
      }
      start_ = PositionOf(0);
    }
    ASSERT_EQ(Client(0,
                     "UPDATE goods SET v = 2 WHERE k = 0; DELETE FROM goods "
                     "WHERE k = 2"),
              0u);
    EXPECT_EQ(Stream(1), absl::OkStatus());
    ExpectEqual(3);
    back_start_ = PositionOf(1);
    ASSERT_EQ(Client(1,
                     "REPLACE INTO goods SELECT order_id, k, 9, e, f, s, y, d, "
                     "d2, d3, t, ts, du,"
                     " de, fl, db, b, c, u, i6, i4, j, te, bl, bi, 1 FROM "
                     "goods WHERE k = 0",
                     "ALLOW_INVALID_DATES"),
              0u)
        << message_;
    ASSERT_EQ(Client(1, "UPDATE goods SET e = 'zzz' WHERE k = 1"), 0u) << message_;
    ASSERT_EQ(Client(1, "UPDATE goods SET e = 'a' WHERE k = 3"), 0u) << message_;
    EXPECT_EQ(Stream(0), absl::OkStatus());
    ExpectEqual(3);
    EXPECT_EQ(Goods(0, "k | 0, e | 0, f | 0, v"), "0 0 0 9,1 0 1 1,3 1 0 1");
    back_start_ = PositionOf(1);
    ASSERT_EQ(Client(1, "DELETE FROM goods WHERE k = 0"), 0u);
    EXPECT_EQ(Stream(0), absl::OkStatus());
    ExpectEqual(2);
  }
}

// The target's column is too narrow, as no preflight would let pass: the
// session that is not strict must not cut it.
TEST_F(LaxValuesTest, ValueBesideTheEnumThatTheShardWouldChange_IsRefused) {
  MakeGoods("ENUM('a')", "");
  servers_[1]->Sql("USE locus_shop; ALTER TABLE goods MODIFY v TINYINT NOT NULL");
  ASSERT_EQ(Client(0, "INSERT INTO goods (order_id, k, v) VALUES (7, 'zzz', 300)"), 0u);
  const absl::Status streamed = Stream(1);
  EXPECT_TRUE(absl::IsDataLoss(streamed)) << streamed;
  EXPECT_THAT(std::string(streamed.message()), HasSubstr("give the ENUM one of its members"));
  EXPECT_EQ(Goods(1, "v"), "");
  // The same session, behind the error.
  auto applier = OpenTo(1);
  EXPECT_TRUE(absl::IsDataLoss(Follow(*applier, 0)));
  servers_[1]->Sql("USE locus_shop; ALTER TABLE goods MODIFY v INT NOT NULL");
  EXPECT_EQ(Follow(*applier, 0), absl::OkStatus());
  ExpectEqual(1);
  servers_[1]->Sql("USE locus_shop; TRUNCATE goods; ALTER TABLE goods MODIFY v TINYINT NOT NULL");
  ASSERT_EQ(Client(0, "INSERT INTO goods (order_id, k, v) VALUES (7, 'a', 301)"), 0u);
  EXPECT_THAT(std::string(Follow(*applier, 0).message()),
              HasSubstr("a row of \"goods\" cannot be written"));
}

TEST_F(LaxValuesTest, KeyColumnWithoutAValue_HasThePostsOfTheKeyThatIsStored) {
  for (const char* type : {"INT", "ENUM('a')", "SET('a')", "BIT(9)", "VARBINARY(9)", "DATE",
                           "TIMESTAMP", "TIMESTAMP(3) DEFAULT '2020-01-01'", "YEAR"}) {
    const bool stamp = absl::StartsWith(type, "TIMESTAMP");
    for (bool replaces : {false, true}) {
      SCOPED_TRACE(absl::StrCat(type, replaces ? " replaces" : ""));
      MakeGoods(type, "", replaces);
      if (HasFatalFailure()) return;
      const std::string at = "SET timestamp = 1700000000.5; ";
      const std::string left_out = at + "INSERT INTO goods (order_id, v) VALUES (7, 1)";
      const std::string null = at + "INSERT INTO goods (order_id, k, v) VALUES (7, NULL, 1)";
      const std::string several = null + ", (8, NULL, 1)";
      // As without locus.
      if (!stamp) {
        EXPECT_EQ(Client(0, left_out, "STRICT_ALL_TABLES"), kNoDefault) << message_;
        EXPECT_EQ(Client(0, null, "STRICT_ALL_TABLES"), kNull) << message_;
        EXPECT_EQ(Client(0, null), kNull) << message_;
      }
      for (const std::string& insert : {several, stamp ? null : left_out}) {
        ASSERT_EQ(Client(0, insert), 0u) << message_;
        ASSERT_EQ(Client(0, "UPDATE goods SET v = 2; DELETE FROM goods"), 0u) << message_;
        // Its version would be below that of the deleted row.
        EXPECT_EQ(Client(0, insert), kSignalled) << message_;
        EXPECT_THAT(message_, HasSubstr("give each column of the primary key a value"));
        // Another row has no part in it, nor the next one.
        EXPECT_EQ(Client(0, absl::StrCat("INSERT INTO goods (order_id, k, v) VALUES (9, ",
                                         stamp ? "'2020-01-01'" : "1", ", 1)")),
                  0u)
            << message_;
        EXPECT_EQ(Client(0, at + "REPLACE INTO goods (order_id, k, v) VALUES "
                                 "(10, NULL, 1), (11,"
                                 " NULL, 1)"),
                  0u)
            << message_;
        EXPECT_EQ(Client(0, at + "REPLACE INTO goods (order_id, k, v) VALUES "
                                 "(10, NULL, 1), (11,"
                                 " NULL, 1)"),
                  kSignalled)
            << message_;
        servers_[0]->Sql(
            "USE locus_shop; DELETE FROM goods; DELETE FROM "
            "locus_tombstone WHERE tbl"
            " <> ''; UPDATE locus_tombstone SET version = 0");
      }
    }
  }
}

// Both have the text of '0000-00-00' before the server gives the one its value.
TEST_F(LaxValuesTest, InstantSetToNull_IsAChangeOfTheKey) {
  MakeGoods("TIMESTAMP", "");
  ASSERT_EQ(Client(0, "INSERT INTO goods (order_id, k, v) VALUES (7, '0000-00-00', 1)"), 0u);
  EXPECT_EQ(Client(0, "UPDATE goods SET v = 2"), 0u) << message_;
  EXPECT_EQ(Client(0, "UPDATE goods SET k = NULL"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("primary key of a row cannot change"));
}

TEST_F(LaxValuesTest, PostsThatAreGone_AreMissedForTheKeyThatIsStored) {
  MakeGoods("INT", "");
  servers_[0]->Sql("DELETE FROM locus_shop.locus_tombstone");
  EXPECT_EQ(Client(0, "INSERT INTO goods (order_id, v) VALUES (7, 1)"), kSignalled);
  EXPECT_THAT(message_, HasSubstr("lacks its posts"));
}

}  // namespace
}  // namespace locus
