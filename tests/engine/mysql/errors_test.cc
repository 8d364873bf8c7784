// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/errors.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus::mysql {
namespace {

using absl::StatusCode;

TEST(ErrorsTest, EachKindOfError_HasItsVerdict) {
  struct Case {
    unsigned number;
    const char* sqlstate;
    Verdict verdict;
  };
  const Verdict transient{StatusCode::kUnavailable, false, false};
  const Verdict reconnect{StatusCode::kUnavailable, false, true};
  const Verdict conflict{StatusCode::kUnavailable, true, false};
  const Verdict permanent{StatusCode::kFailedPrecondition, false, false};
  const Verdict refused{StatusCode::kFailedPrecondition, false, true};
  for (const Case& one : std::vector<Case>{
           {1213, "40001", conflict},   {1205, "HY000", conflict},  {1020, "HY000", conflict},
           {1062, "23000", conflict},   {1526, "HY000", permanent}, {1064, "42000", permanent},
           {1054, "42S22", permanent},  {1142, "42000", permanent}, {1406, "22001", permanent},
           {1264, "22003", permanent},  {1366, "22007", permanent}, {1366, "HY000", permanent},
           {1452, "23000", permanent},  {1048, "23000", permanent}, {1364, "HY000", permanent},
           {1193, "HY000", permanent},  {1235, "42000", permanent}, {1136, "21S01", permanent},
           {1461, "42000", transient},  {1114, "HY000", transient}, {1021, "HY000", transient},
           {1969, "70100", transient},  {1317, "70100", transient}, {1644, "45000", transient},
           {99999, "HY000", transient}, {1040, "08004", reconnect}, {1203, "42000", reconnect},
           {1927, "70100", reconnect},  {1290, "HY000", reconnect}, {2006, "HY000", reconnect},
           {2013, "HY000", reconnect},  {5012, "HY000", reconnect}, {1047, "08S01", reconnect},
           {1153, "08S01", refused},    {2014, "HY000", refused},   {2020, "HY000", refused},
           {1045, "28000", refused},    {1049, "42000", refused},   {2026, "HY000", reconnect},
           {2059, "HY000", refused},    {1265, "01000", permanent}, {1262, "01000", permanent},
           {1411, "HY000", permanent}}) {
    const Verdict verdict = Judge(one.number, one.sqlstate);
    EXPECT_EQ(verdict.code, one.verdict.code) << one.number;
    EXPECT_EQ(verdict.conflict, one.verdict.conflict) << one.number;
    EXPECT_EQ(verdict.leave, one.verdict.leave) << one.number;
  }
  EXPECT_EQ(Judge(1146, "42S02").code, StatusCode::kNotFound);
  EXPECT_EQ(Judge(1690, "22003").code, StatusCode::kOutOfRange);
  EXPECT_EQ(Judge(4025, "23000").code, StatusCode::kDataLoss);
}

TEST(ErrorsTest, ValuesOfRows_AreNotQuoted) {
  EXPECT_EQ(TextWithoutValues(1062, "Duplicate entry 'it's-x' for key 'mail'"),
            "Duplicate entry for key 'mail'");
  EXPECT_EQ(TextWithoutValues(1062, "?"), "Duplicate entry for key ");
  EXPECT_EQ(TextWithoutValues(1062, "'"), "Duplicate entry for key ");
  EXPECT_EQ(TextWithoutValues(1526, "Table has no partition for value 7"),
            "The table has no partition for a value");
  EXPECT_EQ(TextWithoutValues(1114, "The table 't' is full"), "The table 't' is full");
}

// Errors that repeat however often the statement is tried, as a server reports them.
TEST(ErrorsTest, StatementsThatStayWrong_ArePermanent) {
  MariadbServer server;
  ASSERT_TRUE(server.Start());
  server.Sql(
      "CREATE DATABASE locus_d; CREATE TABLE locus_d.p (a INT PRIMARY KEY, b INT NOT NULL) "
      "PARTITION"
      " BY RANGE (a) (PARTITION p0 VALUES LESS THAN (5)); CREATE TABLE locus_d.t (a INT PRIMARY "
      "KEY,"
      " b VARCHAR(2), c INT NOT NULL, CHECK (a < 100))");
  auto session = SqlSession::Open(server.Account("locus_d")).value();
  for (const char* statement :
       {"INSERT INTO p VALUES (7, 1)", "SELEKT 1", "SELECT x FROM t", "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1, 'abc', 1)", "INSERT INTO t VALUES (1, 'a', 'x')",
        "INSERT INTO t VALUES (1, 'a', NULL)", "INSERT INTO t (a, b) VALUES (1, 'a')",
        "SET SESSION no_such_variable = 1", "SELECT @@no_such_variable", "DROP USER nobody",
        "INSERT INTO t VALUES (99999999999, 'a', 1)", "SELECT nothing()", "USE nowhere"}) {
    const absl::Status status = session->Run(statement).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << statement << ": " << status;
  }
}

}  // namespace
}  // namespace locus::mysql
