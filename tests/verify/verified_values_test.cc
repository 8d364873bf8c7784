// SPDX-License-Identifier: Apache-2.0
// Values of every type: equal ones are found equal, and any other bit is found.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/mysql/bound_statement.h"
#include "tests/verify/verify_fixture.h"

namespace locus {
namespace {

using internal::RowDifference;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Sample {
  const char* name;
  const char* type;
  const char* value;
  const char* other;  // as near to the value as can be
};

// Under a collation that calls 'abc' and 'ABC ' the same.
constexpr Sample kSamples[] = {
    {"tiny", "TINYINT", "5", "4"},
    {"medium", "MEDIUMINT", "-8388608", "-8388607"},
    {"big", "BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"},
    {"zeros", "INT(8) ZEROFILL", "7", "6"},
    {"price", "DECIMAL(30,10)", "1.0000000001", "1.0000000000"},
    {"ratio", "FLOAT", "0.1", "0.10000000894069672"},
    {"share", "DOUBLE", "0.1", "0.10000000000000002"},
    {"huge", "DOUBLE", "1e300", "1.0000000000000002e300"},
    {"money", "DOUBLE(20,2)", "12345678901.25", "12345678901.26"},
    {"flags", "BIT(40)", "b'1000000000000000000000000000000000000000'",
     "b'1000000000000000000000000000000000000001'"},
    {"wide_flags", "BIT(64)", "18446744073709551615", "18446744073709551614"},
    {"kind", "ENUM('a','b','c')", "2", "3"},
    {"tags", "SET('x','y','z')", "5", "4"},
    {"vintage", "YEAR", "2026", "2027"},
    {"born", "DATE", "'2026-02-28'", "'2026-03-01'"},
    {"took", "TIME(6)", "'-838:59:58.999999'", "'-838:59:58.999998'"},
    {"at", "DATETIME(6)", "'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000000'"},
    {"seen", "TIMESTAMP(6)", "'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'"},
    {"code", "CHAR(10) CHARACTER SET utf8mb4", "'abc'", "'ABC'"},
    {"note", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "'abc'", "'ABC '"},
    {"accent", "VARCHAR(20) CHARACTER SET utf8mb4", "_utf8mb4 X'65'", "_utf8mb4 X'C3A9'"},
    {"latin", "VARCHAR(20) CHARACTER SET latin1", "_latin1 X'E9'", "_latin1 X'E8'"},
    {"two_bytes", "VARCHAR(20) CHARACTER SET ucs2", "_ucs2 X'0041'", "_ucs2 X'4100'"},
    {"fixed", "BINARY(4)", "X'01000000'", "X'01000020'"},
    {"bytes", "VARBINARY(20)", "X'00'", "X'0000'"},
    {"small_text", "TINYTEXT CHARACTER SET utf8mb4", "'a'", "'a '"},
    {"story", "TEXT CHARACTER SET utf8mb4", "'long'", "'lonG'"},
    {"book", "LONGTEXT CHARACTER SET ucs2", "'long'", "'lonG'"},
    {"extra", "BLOB", "X'00FF'", "X'00FE'"},
    {"tree", "JSON", "'{\"a\": 1}'", "'{\"a\":1}'"},
    {"long_note", "VARCHAR(2000) CHARACTER SET utf8mb4", "REPEAT('x', 1500)",
     "CONCAT(REPEAT('x', 1499), 'y')"},
    {"packed", "BLOB COMPRESSED", "REPEAT('x', 500)", "CONCAT(REPEAT('x', 499), 'y')"},
    {"id", "UUID", "'123e4567-e89b-12d3-a456-426655440000'",
     "'123e4567-e89b-12d3-a456-426655440001'"},
    {"address", "INET6", "'2001:db8::1'", "'2001:db8::2'"},
    {"old_address", "INET4", "'10.0.0.1'", "'10.0.0.2'"},
    {"hidden", "INT INVISIBLE DEFAULT 9", "1", "0"},
};

class VerifiedValuesTest : public VerifyTest {
 protected:
  // A table of all samples, with a row that has their values.
  void MakeSamples(const char* null) {
    std::string columns, names, values;
    for (const Sample& sample : kSamples) {
      // INVISIBLE goes behind NOT NULL as well as before it.
      absl::StrAppend(&columns, ", `", sample.name, "` ", sample.type, " ", null);
      absl::StrAppend(&names, ", `", sample.name, "`");
      absl::StrAppend(&values, ", ", sample.value);
    }
    WriteBoth(absl::StrCat(
        "SET sql_mode = '', time_zone = '+00:00'; DROP TABLE IF EXISTS samples;"
        " CREATE TABLE samples (order_id BIGINT UNSIGNED PRIMARY KEY",
        columns, ", version BIGINT UNSIGNED NOT NULL); INSERT INTO samples (", "order_id, version",
        names, ") VALUES (7, 3", values, "), (8, 3", values, ")"));
    samples_.guard.name = "samples";
  }
  static void Set(const Sample& sample, const std::string& value) {
    Write(1, absl::StrCat("SET sql_mode = '', time_zone = '+00:00'; UPDATE samples SET `",
                          sample.name, "` = ", value, " WHERE order_id = 7"));
  }
  std::vector<std::string> ColumnsThatDiffer() {
    auto verifier = Verified(Comparing(samples_));
    EXPECT_LE(verifier->counts().differences, 1u);
    std::vector<std::string> names;
    for (const RowDifference& difference : verifier->differences()) {
      EXPECT_EQ(difference.kind, RowDifference::Kind::kColumns);
      EXPECT_EQ(difference.key, "7");
      for (const auto& column : difference.columns) names.push_back(column.name);
    }
    EXPECT_EQ(names.empty(), verifier->counts().equal());
    return names;
  }

  MovedTable samples_;
};

TEST_F(VerifiedValuesTest, ValuesThatMayBeNull_EachOtherBitIsFound) {
  MakeSamples("NULL");
  ASSERT_THAT(ColumnsThatDiffer(), IsEmpty());
  for (const Sample& sample : kSamples) {
    Set(sample, sample.other);
    EXPECT_THAT(ColumnsThatDiffer(), ElementsAre(sample.name));
    Set(sample, "NULL");
    EXPECT_THAT(ColumnsThatDiffer(), ElementsAre(sample.name)) << "NULL";
    Set(sample, sample.value);
  }
  EXPECT_THAT(ColumnsThatDiffer(), IsEmpty());
}

TEST_F(VerifiedValuesTest, ValuesThatAreNeverNull_EachOtherBitIsFound) {
  MakeSamples("NOT NULL");
  ASSERT_THAT(ColumnsThatDiffer(), IsEmpty());
  for (const Sample& sample : kSamples) {
    Set(sample, sample.other);
    EXPECT_THAT(ColumnsThatDiffer(), ElementsAre(sample.name));
    Set(sample, sample.value);
  }
  EXPECT_THAT(ColumnsThatDiffer(), IsEmpty());
}

// The server stores it as zero: a stream that brings it makes no difference.
TEST_F(VerifiedValuesTest, ZeroWithASign_IsZero) {
  WriteBoth(
      "CREATE TABLE samples (order_id BIGINT UNSIGNED PRIMARY KEY, share DOUBLE, ratio FLOAT,"
      " version BIGINT UNSIGNED NOT NULL DEFAULT 3); INSERT INTO samples VALUES (7, 0, 0, 3)");
  samples_.guard.name = "samples";
  const MysqlOptions options = As(1, "mover");
  std::string place;
  auto handle = mysql::LogInToAny(options, options.password.c_str(), place);
  ASSERT_TRUE(handle.ok()) << handle.status();
  for (const auto& [column, value] :
       {std::pair("share", stream::Value(-0.0)), std::pair("ratio", stream::Value(-0.0f))}) {
    auto update = mysql::BoundStatement::Prepare(
        handle->get(), place, absl::StrCat("UPDATE samples SET ", column, " = ?"));
    ASSERT_TRUE(update.ok()) << update.status();
    (*update)->Bind(value);
    ASSERT_TRUE((*update)->Execute().ok());
    EXPECT_THAT(ColumnsThatDiffer(), IsEmpty()) << column;
  }
}

// Rows whose values, one behind the other, are the same.
TEST_F(VerifiedValuesTest, ValuesShiftedBetweenColumns_AreFound) {
  for (const char* type : {"VARCHAR(20)", "VARBINARY(20)", "TEXT", "VARCHAR(2000)"}) {
    WriteBoth(
        absl::StrCat("SET sql_mode = ''; DROP TABLE IF EXISTS samples; CREATE TABLE samples ("
                     "order_id BIGINT UNSIGNED PRIMARY KEY, a ",
                     type, " NULL, b ", type, " NULL, c ", type,
                     " NOT NULL DEFAULT '', d INT NULL, e INT NULL, version BIGINT UNSIGNED"
                     " NOT NULL DEFAULT 3)"));
    samples_.guard.name = "samples";
    const std::vector<std::pair<const char*, const char*>> pairs = {
        {"a = 'ab', b = 'c'", "a = 'a', b = 'bc'"},
        {"b = 'ab', c = 'c'", "b = 'a', c = 'bc'"},
        {"a = 'x', b = NULL", "a = NULL, b = 'x'"},
        {"a = '', b = NULL", "a = NULL, b = ''"},
        {"a = 'N', b = ''", "a = '', b = 'N'"},
        {"a = NULL", "a = ''"},
        {"a = NULL", "a = 'N'"},
        {"a = NULL", "a = 'NULL'"},
        {"a = '1:x', b = ''", "a = '', b = '1:x'"},
        {"a = '2:ab', b = 'c'", "a = '2:a', b = 'bc'"},
        {"d = 1, e = 23", "d = 12, e = 3"},
        {"d = NULL, e = 1", "d = 1, e = NULL"},
        {"d = 0", "d = NULL"},
    };
    for (const auto& [here, there] : pairs) {
      WriteBoth("DELETE FROM samples; INSERT INTO samples (order_id) VALUES (7)");
      Write(0, absl::StrCat("UPDATE samples SET ", here));
      Write(1, absl::StrCat("UPDATE samples SET ", there));
      EXPECT_EQ(Verified(Comparing(samples_))->counts().differences, 1u)
          << type << ": " << here << " and " << there;
      Write(1, absl::StrCat("UPDATE samples SET ", here, ", a = DEFAULT, b = DEFAULT, d = DEFAULT,",
                            " e = DEFAULT, c = DEFAULT; UPDATE samples SET ", here));
      EXPECT_TRUE(Verified(Comparing(samples_))->counts().equal()) << type << ": " << here;
    }
  }
}

TEST_F(VerifiedValuesTest, LongValues_AreComparedWithAnyPacketSize) {
  WriteBoth(
      "SET sql_mode = ''; CREATE TABLE samples (order_id BIGINT UNSIGNED PRIMARY KEY, extra"
      " LONGBLOB, more LONGBLOB, version BIGINT UNSIGNED NOT NULL DEFAULT 3)");
  samples_.guard.name = "samples";
  // Each nearly as long as a packet may be; together longer.
  const std::string packet = servers_[1]->Value("SELECT @@max_allowed_packet - 200");
  WriteBoth(absl::StrCat("INSERT INTO samples (order_id, extra, more) VALUES (7, REPEAT('x', ",
                         packet, "), REPEAT('y', ", packet, ")), (8, 'a', 'b')"));
  EXPECT_THAT(ColumnsThatDiffer(), IsEmpty());
  Write(1,
        "UPDATE samples SET more = CONCAT(LEFT(more, OCTET_LENGTH(more) - 1), 'z') WHERE"
        " order_id = 7");
  EXPECT_THAT(ColumnsThatDiffer(), ElementsAre("more"));
}

// The server leaves such a row out of a sum, without a word.
TEST_F(VerifiedValuesTest, RowWithoutChecksum_IsAnError) {
  std::string columns, values;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&columns, ", c", i, " VARCHAR(1000) CHARACTER SET latin1",
                    i % 2 == 0 ? "" : " NOT NULL");
    absl::StrAppend(&values, ", REPEAT('x', 1000)");
  }
  WriteBoth(absl::StrCat("CREATE TABLE samples (order_id BIGINT UNSIGNED PRIMARY KEY", columns,
                         ", version BIGINT UNSIGNED NOT NULL DEFAULT 3); INSERT INTO samples VALUES"
                         " (7",
                         values, ", 3)"));
  samples_.guard.name = "samples";
  EXPECT_THAT(ColumnsThatDiffer(), IsEmpty());
  const std::string before = servers_[1]->Value("SELECT @@GLOBAL.max_allowed_packet");
  servers_[1]->Sql("SET GLOBAL max_allowed_packet = 16384");
  auto slice = MustOpen(Comparing(samples_))->VerifySlice();
  servers_[1]->Sql("SET GLOBAL max_allowed_packet = " + before);
  EXPECT_TRUE(absl::IsFailedPrecondition(slice.status())) << slice.status();
  EXPECT_THAT(std::string(slice.status().message()),
              HasSubstr("1 rows of \"samples\" have no checksum"));
  EXPECT_THAT(std::string(slice.status().message()),
              HasSubstr("max_allowed_packet, 16384 bytes; raise it on the target"));
}

TEST_F(VerifiedValuesTest, ValuesArePrinted_OnlyIfAskedFor) {
  WriteBoth(
      "CREATE TABLE samples (order_id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(500), version "
      "BIGINT"
      " UNSIGNED NOT NULL DEFAULT 3); INSERT INTO samples VALUES (7, 'Ada', 3)");
  Write(1, "UPDATE samples SET name = 'Grace'");
  samples_.guard.name = "samples";
  auto options = Comparing(samples_);
  auto lines = Lines(*Verified(options));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("samples 7: one version with different columns (version 3 on the "
                                  "source, version 3 on the target); name: 3 bytes "));
  EXPECT_THAT(lines[0], Not(HasSubstr("Ada")));
  options.with_values = true;
  lines = Lines(*Verified(options));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("; name: 'Ada' <> 'Grace'"));
  Write(1, "UPDATE samples SET name = REPEAT('g', 300)");
  EXPECT_THAT(Lines(*Verified(options))[0], HasSubstr("gg'... (300 bytes)"));
  Write(1, "UPDATE samples SET name = NULL");
  EXPECT_THAT(Lines(*Verified(options))[0], HasSubstr("'Ada' <> NULL"));
}

}  // namespace
}  // namespace locus
