// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/row_decoder.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "migration/stream/table_layout.h"
#include "tests/stream/event_bytes.h"

namespace locus {
namespace {

using stream::ByteReader;
using stream::ColumnKind;
using stream::Row;
using stream::TableLayout;
using stream::Value;

// The TABLE_MAP that MariaDB 10.11.19 wrote for
//   a(id INT UNSIGNED PRIMARY KEY, b VARCHAR(20) CHARACTER SET latin1, c ENUM('x','y','z'),
//     d SET('p','q'), e BIT(13), f DECIMAL(20,5), g DATETIME(3), h TIMESTAMP(6) NULL, i TIME(2),
//     j YEAR, k DATE, l JSON, m UUID, n INET6, o GEOMETRY, p CHAR(5), q BINARY(5),
//     r INT INVISIBLE, s INET4, u TINYINT(1) UNSIGNED, v TEXT CHARACTER SET utf8mb3,
//     w VARCHAR(300), x CHAR(255) CHARACTER SET utf8mb4)
const char kTableMap[] =
    "1200000000000100017400016100"
    "17030ffefe10f61211130d0afcfefefffefe03fe01fc0ffe"
    "1e1400f701f8010501140503060204fe10fe1004fe05fe05fe04022c01cefc"
    "feff7f"
    "0101a8"
    "030b082e3f3f3f083f3f21082d"
    "070100"
    "042f02696401620163016401650166016701680169016a016b016c016d016e016f0170017101720173017501760177"
    "0178"
    "0a0108"
    "0505020170017106070301780179017a"
    "080100";

TEST(TableLayoutTest, TableOfTheServer_HasAllItsColumns) {
  auto layout = stream::ParseTableLayout(absl::HexStringToBytes(kTableMap));
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->database, "t");
  EXPECT_EQ(layout->table, "a");
  ASSERT_EQ(layout->columns.size(), 23u);
  ASSERT_EQ(layout->primary_key.size(), 1u);
  EXPECT_EQ(layout->primary_key[0].column, 0u);
  const auto& columns = layout->columns;
  EXPECT_TRUE(columns[0].is_unsigned);
  EXPECT_FALSE(columns[0].nullable);
  EXPECT_TRUE(columns[1].nullable);
  EXPECT_EQ(columns[1].charset, 8u);
  EXPECT_EQ(columns[2].kind, ColumnKind::kEnum);
  EXPECT_EQ(columns[2].values, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(columns[3].values, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(columns[4].size, 13u);
  EXPECT_EQ(columns[5].precision, 20);
  EXPECT_EQ(columns[5].scale, 5);
  EXPECT_FALSE(columns[5].is_unsigned);
  EXPECT_EQ(columns[6].scale, 3);
  EXPECT_TRUE(columns[9].is_unsigned) << "YEAR";
  EXPECT_EQ(columns[11].charset, 46u);
  EXPECT_TRUE(columns[12].padded);
  EXPECT_FALSE(columns[15].padded) << "CHAR";
  EXPECT_EQ(columns[16].name, "q");
  EXPECT_TRUE(columns[16].padded);
  EXPECT_EQ(columns[16].size, 5u);
  EXPECT_EQ(columns[22].size, 1020u);
  EXPECT_EQ(columns[22].charset, 45u);
}

TEST(TableLayoutTest, CutShortOrChanged_NeverReadsBeyond) {
  const std::string whole = absl::HexStringToBytes(kTableMap);
  for (size_t size = 0; size < whole.size(); ++size) {
    // Cut between two fields of the metadata it may be whole, without the last.
    absl::Status status = stream::ParseTableLayout(whole.substr(0, size)).status();
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status) || absl::IsFailedPrecondition(status));
    EXPECT_TRUE(!status.ok() || size >= 90) << size;
  }
}

TEST(TableLayoutTest, TypesWhoseRowsDoNotTellTheirLength_AreRefused) {
  for (const int type : {0, 6, 7, 11, 12, 20, 100, 245, 247, 248, 249, 250, 251, 253}) {
    absl::Status status =
        stream::ParseTableLayout(TableMapBody(1, "d", "t", {{static_cast<uint8_t>(type), "", "c"}}))
            .status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << type << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "column 1")) << status;
  }
}

TEST(TableLayoutTest, MetadataThatIsNotFull_IsRefused) {
  auto refused = [](const std::vector<PlainColumn>& columns, std::string_view more) {
    absl::Status status =
        stream::ParseTableLayout(TableMapBody(1, "d", "t", columns, more)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "binlog_row_metadata=FULL")) << status;
  };
  refused({{3, "", "i"}}, "");
  refused({{252, "\x02", "b"}}, "");
  // Nothing to say about a date but its name.
  EXPECT_TRUE(stream::ParseTableLayout(TableMapBody(1, "d", "t", {{10, "", "d"}})).ok());
}

TEST(TableLayoutTest, SizesThatNoColumnHas_AreMalformed) {
  const std::vector<PlainColumn> columns = {
      {4, "\x08", "float"},       {5, "\x04", "double"},       {246, "\x42\x01", "decimal"},
      {246, "\x05\x06", "scale"}, {16, "\x08\x01", "bit"},     {16, "\x01\x08", "bit"},
      {252, "\x05", "blob"},      {18, "\x07", "datetime"},    {254, "\xF7\x03", "enum"},
      {254, "\xF8\x05", "set"},   {254, "\x01\x05", "string"}, {3, "\x01", "int"},
  };
  for (const PlainColumn& column : columns) {
    EXPECT_TRUE(
        absl::IsDataLoss(stream::ParseTableLayout(TableMapBody(1, "d", "t", {column})).status()))
        << column.name;
  }
}

// One column of a table, and what its bytes are.
class OneColumn {
 public:
  OneColumn(uint8_t type, std::string size, std::string more = {}) {
    auto layout =
        stream::ParseTableLayout(TableMapBody(1, "d", "t", {{type, std::move(size), "c"}}, more));
    EXPECT_TRUE(layout.ok()) << layout.status();
    layout_ = layout.value_or(TableLayout());
  }
  absl::StatusOr<Value> Read(std::string_view hex) const {
    const std::string bytes(1, '\0');
    const std::string row = bytes + absl::HexStringToBytes({hex.data(), hex.size()});
    ByteReader reader(row);
    Row values;
    absl::Status status = stream::DecodeRow(layout_, reader, values);
    if (!status.ok()) return status;
    EXPECT_TRUE(reader.empty());
    return values[0];
  }

 private:
  TableLayout layout_;
};

const char kSigned[] = "\x01\x01\x00";
std::string Signed() { return {kSigned, 3}; }
std::string Binary() { return "\x02\x01\x3F"; }

TEST(RowDecoderTest, ValuesThatNoServerWrites_AreMalformed) {
  const OneColumn date(10, ""), datetime(18, std::string(1, '\0')), time(19, std::string(1, '\0')),
      datetime6(18, "\x06"), decimal(246, "\x0A\x02", Signed()), bit(16, "\x03\x01"),
      binary(254, "\xFE\x05", Binary());
  EXPECT_EQ(*date.Read("000000"), Value(stream::Date{0, 0, 0}));
  EXPECT_FALSE(date.Read("A001F0").ok()) << "month 13";
  EXPECT_EQ(*datetime.Read("8000000000"), Value(stream::DateTime()));
  EXPECT_FALSE(datetime.Read("7FFFFFFFFF").ok()) << "before year 0";
  EXPECT_FALSE(datetime.Read("800000003C").ok()) << "second 60";
  EXPECT_FALSE(datetime.Read("8000000F00").ok()) << "minute 60";
  EXPECT_FALSE(datetime.Read("8000018000").ok()) << "hour 24";
  EXPECT_FALSE(datetime.Read("FFFFFFFFFF").ok());
  EXPECT_FALSE(datetime6.Read("80000000000F4240").ok()) << "1000000 microseconds";
  EXPECT_FALSE(time.Read("FFFFFF").ok()) << "above 838:59:59";
  EXPECT_FALSE(bit.Read("08").ok()) << "a fourth bit";
  EXPECT_EQ(*decimal.Read("8000000001"), Value(stream::Decimal{"0.01"}));
  EXPECT_EQ(*decimal.Read("7FFFFFFFFE"), Value(stream::Decimal{"-0.01"}));
  EXPECT_EQ(*decimal.Read("7FFFFFFFFF"), Value(stream::Decimal{"0.00"})) << "there is no -0";
  EXPECT_FALSE(decimal.Read("8000000064").ok()) << "100 hundredths";
  EXPECT_EQ(*binary.Read("026162"), Value(stream::Bytes{std::string("ab\0\0\0", 5)}));
  EXPECT_FALSE(binary.Read("06616263646566").ok()) << "longer than its column";
}

TEST(RowDecoderTest, RowThatEndsEarly_IsMalformedAtEveryByte) {
  auto layout = stream::ParseTableLayout(OrdersBody());
  ASSERT_TRUE(layout.ok()) << layout.status();
  const std::string row = OrderRow(-7, "value");
  Row values;
  ByteReader whole(row);
  ASSERT_TRUE(stream::DecodeRow(*layout, whole, values).ok());
  EXPECT_EQ(values, (Row{Value(int64_t{-7}), Value(stream::Bytes{"value"})}));
  for (size_t size = 0; size < row.size(); ++size) {
    ByteReader part(std::string_view(row).substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(stream::DecodeRow(*layout, part, values))) << size;
  }
}

TEST(RowDecoderTest, HeadersOfBothVersions_AreRead) {
  auto parse = [](stream::EventType type, const std::string& body) {
    return stream::ParseRowsHeader({{0, type, 0, 0, 0, 0}, body});
  };
  const std::string row = OrderRow(1, "x");
  const std::string first_body = RowsBody(5, row);
  auto first = parse(stream::EventType::kWriteRowsV1, first_body);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string second_body =
      Little(uint64_t{5}, 6) + Little(uint16_t{1}) + Little(uint16_t{4}) + "ab" + "\x02\xFF" + row;
  auto second = parse(stream::EventType::kWriteRowsV2, second_body);
  ASSERT_TRUE(second.ok()) << second.status();
  for (const auto& header : {*first, *second}) {
    EXPECT_EQ(header.table_id, 5u);
    EXPECT_TRUE(header.ends_statement);
    EXPECT_EQ(header.columns, 2u);
    EXPECT_EQ(header.rows, row);
  }
  const std::string update_body =
      Little(uint64_t{5}, 6) + Little(uint16_t{0}) + "\x02\xFF\xFE" + row + row;
  auto update = parse(stream::EventType::kUpdateRowsV1, update_body);
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(update->present_after, "\xFE");
  EXPECT_EQ(update->rows.size(), 2 * row.size());
  for (size_t size = 0; size < 10; ++size) {
    EXPECT_FALSE(parse(stream::EventType::kWriteRowsV1, RowsBody(5, row).substr(0, size)).ok());
    EXPECT_FALSE(parse(stream::EventType::kWriteRowsV2, second_body.substr(0, size)).ok());
  }
  // More columns than the event has bits, and extra bytes that it lacks.
  EXPECT_FALSE(parse(stream::EventType::kWriteRowsV1, RowsBody(5, "", true, 200, "")).ok());
  EXPECT_FALSE(parse(stream::EventType::kWriteRowsV2,
                     Little(uint64_t{5}, 6) + Little(uint16_t{1}) + Little(uint16_t{1}))
                   .ok());
}

}  // namespace
}  // namespace locus
