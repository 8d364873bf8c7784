// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_CHANGE_H_
#define LOCUS_MIGRATION_STREAM_CHANGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "migration/stream/statement.h"

// The changes of a transaction: rows before and after, and statements that change tables.

namespace locus::stream {

// How the log stores a column.
enum class ColumnKind : uint8_t {
  kInteger,  // TINYINT to BIGINT
  kYear,
  kFloat,
  kDouble,
  kDecimal,
  kBit,
  // CHAR (without trailing spaces), VARCHAR, BINARY, VARBINARY; UUID, INET4, INET6 as their bytes.
  kText,
  kBlob,      // TEXT and BLOB of any length, JSON
  kGeometry,  // the SRID in 4 bytes, little-endian, then WKB
  kEnum,
  kSet,
  kDate,
  kTime,
  kDateTime,
  kTimestamp,
};

constexpr uint32_t kBinaryCharset = 63;

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kInteger;
  bool is_unsigned = false;  // of a number
  bool nullable = false;
  // The values are stored compressed (attribute COMPRESSED). They are unpacked when read.
  bool compressed = false;
  // BINARY, UUID, INET4, INET6: values have `size` bytes. The log leaves out trailing zeros, which
  // come back when read.
  bool padded = false;
  uint8_t scale = 0;      // digits after the point, of a decimal or of seconds
  uint8_t precision = 0;  // of a decimal, all of its digits
  // The bytes of a number or of the length before a blob; the most bytes of a text; of BIT the
  // number of bits.
  uint32_t size = 0;
  // The collation's number (information_schema.COLLATIONS.ID) of a text, an enumeration or a set;
  // 63: bytes.
  uint32_t charset = 0;
  std::vector<std::string> values;  // of an enumeration or set, from number 1 or bit 0 on
};

// One part of the primary key.
struct KeyPart {
  uint32_t column = 0;  // index in TableLayout::columns
  uint32_t prefix = 0;  // characters that count; 0: all
};

// A table as the log describes it before its rows. All columns, in order: also the INVISIBLE and
// generated ones, the period of a system-versioned table, and what the server adds for a UNIQUE
// key on a BLOB (DB_ROW_HASH_1).
struct TableLayout {
  std::string database;
  std::string table;
  std::vector<Column> columns;
  std::vector<KeyPart> primary_key;  // empty: none
};

// Values keep exactly what is needed to write them again by a prepared statement.
struct Null {
  friend bool operator==(Null, Null) = default;
};
struct Decimal {
  std::string text;  // "-12.50": as many digits after the point as the column has
  friend bool operator==(const Decimal&, const Decimal&) = default;
};
struct Bytes {
  std::string bytes;  // in the column's character set
  friend bool operator==(const Bytes&, const Bytes&) = default;
};
struct Bits {
  uint64_t bits = 0;
  friend bool operator==(Bits, Bits) = default;
};
struct EnumNumber {
  uint16_t number = 0;  // 0: the value of an invalid assignment, ''
  friend bool operator==(EnumNumber, EnumNumber) = default;
};
struct SetBits {
  uint64_t bits = 0;
  friend bool operator==(SetBits, SetBits) = default;
};
// Parts may be zero: 0000-00-00, 2026-00-00. Days need not exist: 2026-02-31 with
// ALLOW_INVALID_DATES.
struct Date {
  uint16_t year = 0;
  uint8_t month = 0;
  uint8_t day = 0;
  friend bool operator==(const Date&, const Date&) = default;
};
struct Time {
  bool negative = false;
  uint16_t hours = 0;  // up to 838
  uint8_t minutes = 0;
  uint8_t seconds = 0;
  uint32_t microseconds = 0;
  friend bool operator==(const Time&, const Time&) = default;
};
struct DateTime {
  Date date;
  uint8_t hours = 0;
  uint8_t minutes = 0;
  uint8_t seconds = 0;
  uint32_t microseconds = 0;
  friend bool operator==(const DateTime&, const DateTime&) = default;
};
struct Timestamp {
  int64_t microseconds = 0;  // since 1970 in UTC; 0: '0000-00-00 00:00:00'
  friend bool operator==(Timestamp, Timestamp) = default;
};

// Integers and YEAR are int64_t, or uint64_t where the column is unsigned.
using Value = std::variant<Null, int64_t, uint64_t, float, double, Decimal, Bytes, Bits, EnumNumber,
                           SetBits, Date, Time, DateTime, Timestamp>;
using Row = std::vector<Value>;

enum class ChangeKind : uint8_t { kInsert, kUpdate, kDelete, kStatement };

struct Change {
  ChangeKind kind = ChangeKind::kInsert;
  // Of a row: its table, shared by all rows of one layout.
  std::shared_ptr<const TableLayout> table;
  Row before;           // of an update or a delete
  Row after;            // of an insert or an update
  Statement statement;  // of kStatement
};

std::string_view ToString(ChangeKind kind);  // "insert", ...

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_CHANGE_H_
