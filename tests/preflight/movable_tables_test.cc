// SPDX-License-Identifier: Apache-2.0
// For each type of a column, its place in the key and each difference of the two tables: what
// preflight says is what triggers, copy, streams and comparison then do.
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/apply/row_copier.h"
#include "migration/fence/moved_tables.h"
#include "migration/preflight/judge.h"
#include "migration/preflight/preflight.h"
#include "tests/verify/verify_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class MovableTablesTest : public VerifyTest {
 protected:
  // A table `goods` of these columns and keys, without the version.
  void MakeTables(const std::string& source, const std::string& target, bool key_first = false) {
    SetUp();  // without what the case before has left
    table_ = MovedTable();
    table_.guard.name = "goods";
    table_.primary_key = {"order_id", "k"};
    if (key_first) std::swap(table_.primary_key[0], table_.primary_key[1]);
    for (size_t i = 0; i < 2; ++i) {
      servers_[i]->Sql(
          absl::StrCat("USE ", kDatabase,
                       "; SET SESSION foreign_key_checks = 0; DROP TABLE IF EXISTS goods,"
                       " parents; DELETE FROM locus_tombstone WHERE tbl <> '';"
                       " CREATE TABLE parents (order_id BIGINT UNSIGNED PRIMARY KEY);"
                       " CREATE TABLE goods (order_id BIGINT UNSIGNED NOT NULL,"
                       " version BIGINT UNSIGNED NOT NULL DEFAULT 1, ",
                       i == 0 ? source : target));
    }
  }
  static std::string WithKey(const std::string& type, bool key_first = false) {
    return absl::StrCat("k ", type, " NOT NULL, v INT, PRIMARY KEY (",
                        key_first ? "k, order_id" : "order_id, k", "))");
  }

  // The checks of tables that preflight says have failed.
  std::set<std::string> Preflight() {
    mysql::PreflightOptions options;
    options.move.name = "first.1>2";
    options.move.source = {1, "a", As(0, "mover")};
    options.move.target = {2, "b", As(1, "mover")};
    options.move.ranges = {{0, 99}};
    options.move.tables = {table_};
    options.move.movers = {"mover@127.0.0.1"};
    const std::set<std::string> of_tables = {"tables",
                                             "engine",
                                             "system-versioning",
                                             "primary-key",
                                             "order-columns",
                                             "version-column",
                                             "primary-key-bytes",
                                             "column-types",
                                             "column-defaults",
                                             "primary-key-types",
                                             "schemas",
                                             "rows",
                                             "stored-columns",
                                             "auto-increment",
                                             "compressed-columns",
                                             "foreign-keys-to-outside"};
    std::set<std::string> failed;
    for (const auto& finding : preflight::Judge(mysql::CollectFacts(options))) {
      if (!finding.ok && of_tables.contains(finding.check)) failed.insert(finding.check);
    }
    return failed;
  }

  absl::Status Copy() {
    mysql::CopierOptions options;
    options.source = As(0, "mover");
    options.table = table_;
    options.ranges = {{0, 99}};
    options.least_rows = options.most_rows = 1;
    auto applier = mysql::ChangeApplier::Open(OptionsTo(1), start_);
    if (!applier.ok()) return applier.status();
    while (true) {
      // Anew for each row: it goes on from the text of its checkpoint.
      auto copier = mysql::RowCopier::Open(options, **applier);
      if (!copier.ok()) return copier.status();
      auto more = (*copier)->CopyChunk();
      if (!more.ok()) return more.status();
      if (!*more) break;
    }
    return Follow(**applier, 0);
  }
  absl::Status Stream(size_t to) {
    auto applier = mysql::ChangeApplier::Open(OptionsTo(to), to == 1 ? start_ : back_start_);
    return applier.ok() ? Follow(**applier, 1 - to) : applier.status();
  }
  absl::Status Client(size_t server, const std::string& statement) {
    auto session = SqlSession::Open(As(server, "locus"));
    return session.ok() ? (*session)->Run(statement).status() : session.status();
  }
  static std::string Dead(size_t server) {
    return servers_[server]->Value(
        "SELECT COALESCE(GROUP_CONCAT(HEX(pk), ' ', version ORDER BY pk), '') FROM"
        " locus_shop.locus_tombstone WHERE tbl = 'goods'");
  }

  absl::Status Install() {
    for (size_t i = 0; i < 2; ++i) {
      auto tables = mysql::MovedTables::Create(As(i, "mover"), {table_}, {"mover@127.0.0.1"});
      if (!tables.ok()) return tables.status();
      if (auto status = tables->Install("first"); !status.ok()) return status;
      if (auto status = tables->Verify("first"); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // What a move does with three rows of these keys: copy, stream, stream back, comparison.
  absl::Status Run(const std::vector<std::string>& keys) {
    if (auto status = Install(); !status.ok()) return status;
    auto insert = [&](size_t i) {
      return absl::StrCat("INSERT INTO goods (order_id, k, v) VALUES (7, ", keys[i], ", 1)");
    };
    auto row = [&](size_t i) { return " WHERE order_id = 7 AND k = " + keys[i]; };
    // In a zone of its own: keys are the same instants in every session.
    const std::string pinned = "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+05:30'; ";
    // Before the rows: the stream brings again what the copy has.
    start_ = PositionOf(0);
    for (size_t i : {0, 1, 2}) {
      if (auto status = Client(0, pinned + insert(i)); !status.ok()) return status;
    }
    if (auto status = Copy(); !status.ok()) return status;
    for (const std::string& statement :
         {"UPDATE goods SET v = 2" + row(0), "DELETE FROM goods" + row(1),
          "DELETE FROM goods" + row(2), insert(2)}) {
      if (auto status = Client(0, pinned + statement); !status.ok()) return status;
    }
    if (auto status = Stream(1); !status.ok()) return status;
    back_start_ = PositionOf(1);
    for (const std::string& statement : {"DELETE FROM goods" + row(0), insert(1)}) {
      if (auto status = Client(1, pinned + statement); !status.ok()) return status;
    }
    if (auto status = Stream(0); !status.ok()) return status;
    if (Dead(0) != Dead(1)) return absl::DataLossError(absl::StrCat(Dead(0), " / ", Dead(1)));
    return Compare(2);
  }
  absl::Status Compare(uint64_t rows) {
    auto verifier = mysql::RowVerifier::Open(Comparing(table_, 1));
    if (!verifier.ok()) return verifier.status();
    for (bool more = true; more;) {
      auto slice = (*verifier)->VerifySlice();
      if (!slice.ok()) return slice.status();
      more = *slice;
      // As a later run goes on.
      auto options = Comparing(table_, 1);
      options.position = (*verifier)->position();
      if (auto again = mysql::RowVerifier::Open(options); !again.ok()) return again.status();
    }
    if (!Lines(**verifier).empty())
      return absl::DataLossError(absl::StrJoin(Lines(**verifier), "; "));
    if ((*verifier)->counts().rows != rows) return absl::DataLossError("rows are missing");
    return absl::OkStatus();
  }
};

struct KeyType {
  std::string type;
  std::vector<std::string> keys;
  bool moves;
  bool first = true;  // also as the first column of the primary key
};

std::string SetOf(size_t members) {
  std::vector<std::string> names;
  for (size_t i = 0; i < members; ++i) names.push_back(absl::StrCat("'m", i, "'"));
  return absl::StrCat("SET(", absl::StrJoin(names, ", "), ")");
}

const std::vector<KeyType>& KeyTypes() {
  static const auto* const types = new std::vector<KeyType>{
      {"INT", {"-5", "0", "7"}, true},
      {"BIGINT UNSIGNED", {"0", "18446744073709551615", "9"}, true},
      {"INT(6) ZEROFILL", {"1", "2", "3"}, false},
      {"VARBINARY(20)", {"''", "X'00ff'", "'a'"}, true},
      {"BINARY(4)", {"X'61000000'", "X'62000000'", "X'00000001'"}, true},
      {"VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", {"'a'", "'a '", "'b'"}, true},
      {"VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
       {"'a'", "'b'", "'c'"},
       false},
      {"VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
       {"'a'", "'b'", "'c'"},
       false},
      {"VARBINARY(980)", {"''", "'b'", "REPEAT('c', 980)"}, true},
      {"DATE", {"'2026-11-28'", "'0000-00-00'", "'2026-02-31'"}, true},
      {"DATETIME", {"'2026-11-28 01:02:03'", "'0000-00-00'", "'9999-12-31 23:59:59'"}, true},
      {"DATETIME(3)",
       {"'2026-11-28 01:02:03.004'", "'2026-11-28'", "'1000-01-01 00:00:00.120'"},
       true},
      {"TIME(2)", {"'-838:59:59.01'", "'00:00:00'", "'101:02:03.40'"}, true},
      {"YEAR", {"2026", "'0000'", "1901"}, true},
      {"DECIMAL(20,4)", {"-0.5", "1234567890123456.7891", "0"}, true},
      {"DECIMAL(3,3)", {"-0.125", "0.5", "0"}, true},
      {"TIMESTAMP", {"'2026-11-28 01:02:03'", "'0000-00-00'", "'2038-01-19 08:44:07'"}, true},
      {"TIMESTAMP(3)", {"'1970-01-01 05:30:00.5'", "'0000-00-00'", "'2020-01-01'"}, true},
      {"TIMESTAMP(6)", {"'2026-11-28 01:02:03.000004'", "'2026-11-28'", "'2020-01-01'"}, true},
      {"TIMESTAMP DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP",
       {"'2026-11-28'", "'2026-11-29'", "'2026-11-30'"},
       false},
      {"DATETIME DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP",
       {"'2026-11-28'", "'2026-11-29'", "'2026-11-30'"},
       false},
      {"ENUM('c','b','a')", {"'a'", "'b'", "'c'"}, true, false},
      {"ENUM('2','1','0') CHARACTER SET latin1", {"'0'", "'1'", "'2'"}, true, false},
      {"SET('b','a','c')", {"'a'", "''", "'b,c'"}, true, false},
      {SetOf(63), {"'m62'", "'m0,m62'", "'m61'"}, true, false},
      {SetOf(64), {"'m63'", "'m0,m63'", "'m62'"}, false},
      {"BIT(9)", {"1", "0", "300"}, true},
      {"BIT(64)", {"~0", "0", "1"}, true},
      {"FLOAT", {"1", "2", "0.1"}, false},
      {"DOUBLE", {"1", "2", "0.1"}, false},
      {"UUID", {"UUID()", "UUID()", "UUID()"}, false},
      {"INET4", {"'10.0.0.1'", "'10.0.0.2'", "'10.0.0.3'"}, false},
      {"INET6", {"'::1'", "'::2'", "'::3'"}, false},
  };
  return *types;
}

TEST_F(MovableTablesTest, TypeOfAKey_MovesOrIsRefused) {
  for (const KeyType& one : KeyTypes()) {
    for (bool key_first : {false, true}) {
      if (key_first && !one.moves) continue;
      const bool moves = one.moves && (one.first || !key_first);
      MakeTables(WithKey(one.type, key_first), WithKey(one.type, key_first), key_first);
      const std::set<std::string> failed = Preflight();
      EXPECT_EQ(failed.empty(), moves) << one.type << ": " << absl::StrJoin(failed, " ");
      const absl::Status run = Run(one.keys);
      EXPECT_EQ(run.ok(), moves) << one.type << (key_first ? " first: " : ": ") << run;
    }
  }
}

// A difference of the two tables, or a column that is not in the key.
struct Shape {
  const char* name;
  std::string source, target;  // from the column `k` on
  bool moves;                  // what the runner does with three rows; preflight refuses the rest
  bool one_way = false;        // the runner may notice it only with other rows: preflight refuses
  bool key_first = false;
};

std::string Plus(const std::string& more, const std::string& behind = "") {
  return absl::StrCat("k INT NOT NULL, v INT, ", more, "PRIMARY KEY (order_id, k))", behind);
}

const std::vector<Shape>& Shapes() {
  const std::string range = " PARTITION BY RANGE (k) (PARTITION a VALUES LESS THAN (2)";
  const std::string list = " PARTITION BY LIST (k) (PARTITION a VALUES IN (1";
  auto same = [](const char* name, const std::string& more, bool moves) {
    return Shape{name, Plus(more), Plus(more), moves};
  };
  static const auto* const shapes = new std::vector<Shape>{
      same("plain", "", true),
      same("point", "p POINT, ", false),
      same("every type",
           "a YEAR, b FLOAT, c DOUBLE, d DECIMAL(9,2), e BIT(9), f CHAR(3), g UUID, h INET4,"
           " i INET6, j TEXT, l LONGBLOB, m ENUM('a'), n SET('a'), o DATE, p TIME, q DATETIME(6),"
           " r TIMESTAMP NULL, s JSON, t TINYINT, u MEDIUMINT UNSIGNED, x INT AS (v + 1) STORED, "
           "y " +
               SetOf(64) + " DEFAULT 'm0,m63', ",
           true),
      {"column order", Plus("a INT, b INT, "), Plus("b INT, a INT, "), true},
      {"width of an integer", Plus("a INT(5), "), Plus("a INT(9), "), true},
      {"index that is not unique", Plus("KEY (v), "), Plus(""), true},
      {"column of the source", Plus("a INT, "), Plus(""), false},
      {"column of the target", Plus(""), Plus("a INT, "), false},
      {"type", Plus("a INT, "), Plus("a BIGINT, "), false},
      {"generated", Plus("a INT AS (v) STORED, "), Plus("a INT, "), false},
      {"values of a key", "k ENUM('1', '2', '3') NOT NULL, v INT, PRIMARY KEY (order_id, k))",
       "k ENUM('2', '1', '3') NOT NULL, v INT, PRIMARY KEY (order_id, k))", false},
      {"values of a column", Plus("a ENUM('1', '2', '3') DEFAULT '1', "),
       Plus("a ENUM('2', '1', '3') DEFAULT '1', "), false},
      {"enumeration first, an index of the order",
       "k ENUM('a', 'b', 'c') NOT NULL, v INT, KEY (order_id), PRIMARY KEY (k, order_id))",
       "k ENUM('a', 'b', 'c') NOT NULL, v INT, KEY (order_id), PRIMARY KEY (k, order_id))", true,
       false, true},
      {"partitions by date",
       "k TIMESTAMP NOT NULL, v INT, PRIMARY KEY (order_id, k)) PARTITION BY RANGE"
       " (UNIX_TIMESTAMP(k)) (PARTITION a VALUES LESS THAN (1577836800), PARTITION b VALUES LESS"
       " THAN MAXVALUE)",
       "k TIMESTAMP NOT NULL, v INT, PRIMARY KEY (order_id, k))", true},
      {"unique key by a prefix", Plus("s VARCHAR(20), UNIQUE u (s), "),
       Plus("s VARCHAR(20), UNIQUE u (s(1)), "), false, true},
      {"check of the target", Plus(""), Plus("CHECK (v < 2), "), false},
      {"check of the source", Plus("CHECK (v < 9), "), Plus(""), false, true},
      {"foreign key of the target", Plus(""),
       Plus("FOREIGN KEY (order_id) REFERENCES parents (order_id), "), false, true},
      {"foreign key of the source", Plus("FOREIGN KEY (order_id) REFERENCES parents (order_id), "),
       Plus(""), false, true},
      {"partitions, divided otherwise", Plus("", range + ", PARTITION b VALUES LESS THAN (9))"),
       Plus("", range + ", PARTITION b VALUES LESS THAN (4), PARTITION c VALUES LESS THAN (9))"),
       true},
      {"partitions by hash", Plus("", " PARTITION BY HASH (k) PARTITIONS 3"), Plus(""), true},
      {"partition that is missing", Plus("", range + ", PARTITION b VALUES LESS THAN (9))"),
       Plus("", range + ")"), false},
      {"partition of one side", Plus(""), Plus("", range + ")"), false},
      {"partition without an end", Plus("", range + ", PARTITION b VALUES LESS THAN MAXVALUE)"),
       Plus(""), true},
      {"value of a list", Plus("", list + ", 2, 3))"), Plus("", list + ", 2))"), false},
      {"list, divided otherwise", Plus("", list + ", 3, 2))"),
       Plus("", list + "), PARTITION b VALUES IN (2, 3))"), true},
  };
  return *shapes;
}

TEST_F(MovableTablesTest, ColumnsAndDifferences_MoveOrAreRefused) {
  for (const Shape& one : Shapes()) {
    MakeTables(one.source, one.target, one.key_first);
    const std::set<std::string> failed = Preflight();
    EXPECT_EQ(failed.empty(), one.moves) << one.name << ": " << absl::StrJoin(failed, " ");
    if (one.one_way) continue;
    const bool dates = absl::StrContains(one.source, "TIMESTAMP NOT");
    const absl::Status run =
        dates ? Run({"'2019-12-31'", "'2020-01-01'", "'2026-11-28'"}) : Run({"1", "2", "3"});
    EXPECT_EQ(run.ok(), one.moves) << one.name << ": " << run;
  }
}

// Why tables must be the same: three rules that only one side enforces.
TEST_F(MovableTablesTest, ForeignKeyOfTheSource_IsBrokenByTheWayBack) {
  MakeTables(Plus("FOREIGN KEY (order_id) REFERENCES parents (order_id), "), Plus(""));
  ASSERT_TRUE(Install().ok());
  back_start_ = PositionOf(1);
  ASSERT_TRUE(Client(1, "INSERT INTO goods (order_id, k) VALUES (7, 1)").ok());
  ASSERT_TRUE(Stream(0).ok());
  EXPECT_EQ(servers_[0]->Value("SELECT COUNT(*) FROM locus_shop.goods LEFT JOIN"
                               " locus_shop.parents USING (order_id) WHERE parents.order_id IS"
                               " NULL"),
            "1");
}

TEST_F(MovableTablesTest, CheckOfTheSource_EndsTheWayBack) {
  MakeTables(Plus("CHECK (v < 9), "), Plus(""));
  ASSERT_TRUE(Install().ok());
  back_start_ = PositionOf(1);
  ASSERT_TRUE(Client(1, "INSERT INTO goods (order_id, k, v) VALUES (7, 1, 10)").ok());
  EXPECT_THAT(std::string(Stream(0).message()), HasSubstr("(4025)"));
}

TEST_F(MovableTablesTest, UniquePrefixOfTheTarget_EndsTheWay) {
  MakeTables(Plus("s VARCHAR(20), UNIQUE u (s), "), Plus("s VARCHAR(20), UNIQUE u (s(1)), "));
  ASSERT_TRUE(Install().ok());
  start_ = PositionOf(0);
  ASSERT_TRUE(
      Client(0, "INSERT INTO goods (order_id, k, s) VALUES (7, 1, 'ab'), (7, 2, 'ac')").ok());
  EXPECT_THAT(std::string(Stream(1).message()), HasSubstr("unique key of another row"));
}

// An hour that comes twice: two instants have one text in the session's zone.
TEST_F(MovableTablesTest, InstantsOfOneText_AreTwoKeys) {
  MakeTables(WithKey("TIMESTAMP(3)"), WithKey("TIMESTAMP(3)"));
  table_.replaces = true;
  ASSERT_TRUE(Install().ok()) << Install();
  constexpr char kZone[] =
      "INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (9, 'N');"
      " INSERT INTO mysql.time_zone_name VALUES ('Test/Twice', 9);"
      " INSERT INTO mysql.time_zone_transition_type VALUES (9, 0, 7200, 1, 'S'), (9, 1, 3600, 0,"
      " 'W');"
      " INSERT INTO mysql.time_zone_transition VALUES (9, -2147483648, 0), (9, 1698541200, 1)";
  servers_[0]->Sql(kZone);
  start_ = PositionOf(0);
  const std::string zone = "SET time_zone = 'Test/Twice'; SET timestamp = ";
  auto at = [&](const char* instant, const char* statement) {
    return Client(0, absl::StrCat(zone, instant, "; ", statement));
  };
  constexpr char kInsert[] =
      "INSERT INTO goods (order_id, k, v) VALUES (7, CURRENT_TIMESTAMP(3), 1)";
  for (const char* instant : {"1698539400.5", "1698543000.5", "1698539460.25", "1698543120"}) {
    ASSERT_TRUE(at(instant, kInsert).ok()) << at(instant, kInsert);
  }
  EXPECT_EQ(servers_[0]->Value("SELECT COUNT(DISTINCT UNIX_TIMESTAMP(k)) FROM locus_shop.goods"),
            "4");
  // The same minute of the other hour.
  const absl::Status moved =
      at("1698543060.25",
         "UPDATE goods SET k = CURRENT_TIMESTAMP(3) WHERE UNIX_TIMESTAMP(k) = 1698539460.25");
  EXPECT_THAT(std::string(moved.message()), HasSubstr("primary key of a row cannot change"));
  ASSERT_TRUE(
      at("1698543000.5", "REPLACE INTO goods (order_id, k, v) VALUES (7, CURRENT_TIMESTAMP(3), 2)")
          .ok());
  ASSERT_TRUE(at("0", "DELETE FROM goods WHERE UNIX_TIMESTAMP(k) = 1698543120").ok());
  EXPECT_EQ(servers_[0]->Value("SELECT GROUP_CONCAT(version ORDER BY UNIX_TIMESTAMP(k)) FROM"
                               " locus_shop.goods"),
            "1,1,3");
  ASSERT_TRUE(Copy().ok()) << Copy();
  EXPECT_EQ(Compare(3), absl::OkStatus());
  EXPECT_EQ(servers_[1]->Value("SELECT GROUP_CONCAT(pk, ' ', version) FROM"
                               " locus_shop.locus_tombstone WHERE tbl = 'goods' AND pk LIKE"
                               " '%3120%'"),
            "1:714:1698543120.000 2");
}

// Its rows would say in the log nothing of the length of their fractions.
TEST_F(MovableTablesTest, TimesOfAnEarlierFormat_AreRefused) {
  for (MariadbServer* server : servers_) server->Sql("SET GLOBAL mysql56_temporal_format = OFF");
  for (const char* type : {"DATETIME", "TIMESTAMP", "TIME", "DATETIME(3)"}) {
    MakeTables(Plus(absl::StrCat("a ", type, ", ")), Plus(absl::StrCat("a ", type, ", ")));
    EXPECT_THAT(Preflight(), testing::ElementsAre("column-types")) << type;
    EXPECT_FALSE(Run({"1", "2", "3"}).ok()) << type;
  }
  for (MariadbServer* server : servers_) server->Sql("SET GLOBAL mysql56_temporal_format = ON");
}

}  // namespace
}  // namespace locus
