// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/table_column.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "migration/stream/instant.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {

using stream::ColumnKind;

namespace {

std::string Fraction(uint32_t microseconds, unsigned digits) {
  return digits == 0 ? ""
                     : absl::StrCat(".", absl::StrFormat("%06u", microseconds).substr(0, digits));
}

// The most bytes of its KeyText.
uint64_t LongestText(const SchemaColumn& column, ColumnKind kind) {
  constexpr uint64_t kLongestDecimal = 68;  // 65 digits, a sign, a zero and a point
  constexpr uint64_t kLongestTime = 26;     // "9999-12-31 23:59:59.999999"
  if (kind == ColumnKind::kText) return column.octets;
  if (kind == ColumnKind::kInteger) return 20;
  return kind == ColumnKind::kDecimal ? kLongestDecimal : kLongestTime;
}

constexpr int64_t kMicros = 1'000'000;

// Of a SET; no member has a comma.
size_t MembersOf(const SchemaColumn& column) {
  return 1 +
         static_cast<size_t>(std::count(column.column_type.begin(), column.column_type.end(), ','));
}

}  // namespace

const char kSchemaColumns[] =
    "COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLLATION_NAME, CHARACTER_SET_NAME,"
    " CHARACTER_OCTET_LENGTH, IS_NULLABLE, IS_GENERATED, DATETIME_PRECISION, EXTRA";

SchemaColumn SchemaColumnIn(const std::vector<std::optional<std::string>>& row) {
  LOCUS_CHECK(row.size() == kSchemaColumnFields);
  auto text = [&](size_t i) { return row[i].value_or(""); };
  SchemaColumn column;
  column.name = text(0);
  column.data_type = text(1);
  column.column_type = text(2);
  column.collation = text(3);
  column.charset = text(4);
  column.octets = ParseDecimal(text(5), UINT64_MAX).value_or(0);
  column.nullable = text(6) != "NO";
  column.generated = text(7) == "ALWAYS";
  column.scale = static_cast<uint8_t>(ParseDecimal(text(8), 6).value_or(0));
  column.on_update = absl::StrContains(text(9), "on update");
  return column;
}

absl::StatusOr<ColumnKind> KindOf(std::string_view data_type) {
  constexpr std::array<std::pair<std::string_view, ColumnKind>, 36> kKinds = {{
      {"tinyint", ColumnKind::kInteger},
      {"smallint", ColumnKind::kInteger},
      {"mediumint", ColumnKind::kInteger},
      {"int", ColumnKind::kInteger},
      {"bigint", ColumnKind::kInteger},
      {"year", ColumnKind::kYear},
      {"float", ColumnKind::kFloat},
      {"double", ColumnKind::kDouble},
      {"decimal", ColumnKind::kDecimal},
      {"bit", ColumnKind::kBit},
      {"char", ColumnKind::kText},
      {"varchar", ColumnKind::kText},
      {"binary", ColumnKind::kText},
      {"varbinary", ColumnKind::kText},
      {"uuid", ColumnKind::kText},
      {"inet4", ColumnKind::kText},
      {"inet6", ColumnKind::kText},
      {"tinytext", ColumnKind::kBlob},
      {"text", ColumnKind::kBlob},
      {"mediumtext", ColumnKind::kBlob},
      {"longtext", ColumnKind::kBlob},
      {"tinyblob", ColumnKind::kBlob},
      {"blob", ColumnKind::kBlob},
      {"mediumblob", ColumnKind::kBlob},
      {"longblob", ColumnKind::kBlob},
      {"enum", ColumnKind::kEnum},
      {"set", ColumnKind::kSet},
      {"date", ColumnKind::kDate},
      {"time", ColumnKind::kTime},
      {"datetime", ColumnKind::kDateTime},
      {"timestamp", ColumnKind::kTimestamp},
  }};
  for (const auto& [name, kind] : kKinds) {
    if (!name.empty() && name == data_type) return kind;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("columns of type ", Quoted(data_type), " are not copied"));
}

absl::StatusOr<stream::Column> ColumnOf(const SchemaColumn& column) {
  stream::Column out;
  out.name = column.name;
  LOCUS_ASSIGN_OR_RETURN(out.kind, KindOf(column.data_type));
  if (absl::StrContains(column.column_type, "mariadb-5.3")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "is a time in the format before MySQL 5.6; set mysql56_temporal_format=ON and run ALTER"
        " TABLE ... FORCE"));
  }
  out.is_unsigned = absl::StrContains(column.column_type, "unsigned");
  out.nullable = column.nullable;
  out.scale = column.scale;
  return out;
}

bool IsKeyKind(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kInteger:
    case ColumnKind::kText:
    case ColumnKind::kYear:
    case ColumnKind::kDecimal:
    case ColumnKind::kDate:
    case ColumnKind::kTime:
    case ColumnKind::kDateTime:
    case ColumnKind::kTimestamp:
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
    case ColumnKind::kBit:
      return true;
    default:
      return false;
  }
}

KeyForm KeyFormOf(std::string_view data_type) {
  const absl::StatusOr<ColumnKind> kind = KindOf(data_type);
  return kind.ok() ? KeyFormOf(*kind) : KeyForm::kText;
}

KeyForm KeyFormOf(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kTimestamp:
      return KeyForm::kInstant;
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
    case ColumnKind::kBit:
      return KeyForm::kNumber;
    default:
      return KeyForm::kText;
  }
}

std::string SqlInstant(stream::Timestamp stamp) {
  stream::Column column;
  column.scale = 6;
  return absl::StrCat("'", KeyText(stream::InUtc(stamp), column), "'");
}

std::optional<stream::Timestamp> InstantIn(std::string_view key_text) {
  const size_t point = key_text.find('.');
  const auto seconds = ParseDecimal(key_text.substr(0, point), UINT32_MAX);
  if (!seconds) return std::nullopt;
  int64_t microseconds = static_cast<int64_t>(*seconds) * kMicros;
  if (point == key_text.npos) return stream::Timestamp{microseconds};
  const std::string_view digits = key_text.substr(point + 1);
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  int64_t unit = kMicros / 10;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    microseconds += (digit - '0') * unit;
    unit /= 10;
  }
  return stream::Timestamp{microseconds};
}

std::string KeyText(const stream::Value& value, const stream::Column& column) {
  auto date = [](const stream::Date& at) {
    return absl::StrFormat("%04d-%02d-%02d", at.year, at.month, at.day);
  };
  if (auto* bytes = std::get_if<stream::Bytes>(&value)) return bytes->bytes;
  if (auto* decimal = std::get_if<stream::Decimal>(&value)) return decimal->text;
  if (auto* day = std::get_if<stream::Date>(&value)) return date(*day);
  if (auto* at = std::get_if<stream::DateTime>(&value)) {
    return absl::StrCat(date(at->date),
                        absl::StrFormat(" %02d:%02d:%02d", at->hours, at->minutes, at->seconds),
                        Fraction(at->microseconds, column.scale));
  }
  if (auto* time = std::get_if<stream::Time>(&value)) {
    return absl::StrCat(
        time->negative ? "-" : "",
        absl::StrFormat("%02d:%02d:%02d", time->hours, time->minutes, time->seconds),
        Fraction(time->microseconds, column.scale));
  }
  if (auto* stamp = std::get_if<stream::Timestamp>(&value)) {
    if (stamp->microseconds == 0) return "0";
    return absl::StrCat(
        stamp->microseconds / kMicros,
        Fraction(static_cast<uint32_t>(stamp->microseconds % kMicros), column.scale));
  }
  std::string number;
  if (auto* one = std::get_if<stream::EnumNumber>(&value)) number = absl::StrCat(one->number);
  if (auto* set = std::get_if<stream::SetBits>(&value)) number = absl::StrCat(set->bits);
  if (auto* bits = std::get_if<stream::Bits>(&value)) number = absl::StrCat(bits->bits);
  if (auto* integer = std::get_if<int64_t>(&value)) number = absl::StrCat(*integer);
  if (auto* natural = std::get_if<uint64_t>(&value)) number = absl::StrCat(*natural);
  if (column.kind == ColumnKind::kYear && number == "0") return "0000";
  return number;
}

absl::Status CheckKey(std::string_view table, const std::vector<std::string>& key,
                      const std::vector<SchemaColumn>& columns) {
  auto refuse = [&](const std::string& what) {
    return absl::FailedPreconditionError(absl::StrCat("table ", Quoted(table), ": ", what));
  };
  uint64_t bytes = 0;
  for (const std::string& name : key) {
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const SchemaColumn& one) { return one.name == name; });
    if (column == columns.end()) continue;
    const absl::StatusOr<ColumnKind> kind = KindOf(column->data_type);
    // A trigger sees UUID, INET4 and INET6 as another text than the log has.
    const bool printed = kind.ok() && *kind == ColumnKind::kText && column->octets == 0;
    if (!kind.ok() || !IsKeyKind(*kind) || printed) {
      return refuse(absl::StrCat("column ", Quoted(name), " of the primary key is ",
                                 column->column_type,
                                 "; moves know keys of integers, bytes, text, DECIMAL, DATE,"
                                 " DATETIME, TIMESTAMP, TIME, YEAR, ENUM, SET and BIT"));
    }
    // An UPDATE of the stream names no column of the key, but would change it all the same.
    if (column->on_update) {
      return refuse(absl::StrCat("column ", Quoted(name), " of the primary key is ",
                                 column->column_type,
                                 " ON UPDATE CURRENT_TIMESTAMP: each UPDATE would change the key"));
    }
    // The server compares a SET with numbers below 2^63 only.
    if (*kind == ColumnKind::kSet && MembersOf(*column) > 63) {
      return refuse(absl::StrCat("column ", Quoted(name),
                                 " of the primary key is a SET of 64 members, of which no index"
                                 " finds the last by its number; a key's may have 63"));
    }
    if (absl::StrContains(column->column_type, "zerofill") || column->column_type == "year(2)") {
      return refuse(absl::StrCat("column ", Quoted(name), " of the primary key is ",
                                 column->column_type, ", which is shown as another number"));
    }
    const uint64_t text = LongestText(*column, *kind);
    bytes += text + absl::StrCat(text, ":").size();
  }
  if (bytes <= kMostKeyBytes) return absl::OkStatus();
  return refuse(absl::StrCat("a key may be ", bytes, " bytes as text, of which a tombstone takes ",
                             kMostKeyBytes, ": a DELETE would fail; make its columns shorter"));
}

}  // namespace locus::internal
