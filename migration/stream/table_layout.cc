// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/table_layout.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/stream/byte_reader.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::Quoted;
using internal::ToAbsl;

namespace {

// The types of columns, as the server numbers them.
enum WireType : uint8_t {
  kTiny = 1,
  kShort = 2,
  kLong = 3,
  kFloat = 4,
  kDouble = 5,
  kOldTimestamp = 7,
  kLongLong = 8,
  kInt24 = 9,
  kDate = 10,
  kOldTime = 11,
  kOldDateTime = 12,
  kYear = 13,
  kNewDate = 14,
  kVarchar = 15,
  kBit = 16,
  kTimestamp2 = 17,
  kDateTime2 = 18,
  kTime2 = 19,
  kBlobCompressed = 140,
  kVarcharCompressed = 141,
  kNewDecimal = 246,
  kEnum = 247,
  kSet = 248,
  kBlob = 252,
  kString = 254,
  kGeometry = 255,
};

// The kinds of optional metadata.
enum class Field : uint8_t {
  kSignedness = 1,
  kDefaultCharset = 2,
  kColumnCharset = 3,
  kColumnName = 4,
  kSetValues = 5,
  kEnumValues = 6,
  kPrimaryKey = 8,
  kPrimaryKeyWithPrefix = 9,
  kEnumAndSetDefaultCharset = 10,
  kEnumAndSetColumnCharset = 11,
};

bool IsNumber(const Column& column) {
  switch (column.kind) {
    case ColumnKind::kInteger:
    case ColumnKind::kYear:
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
    case ColumnKind::kDecimal:
      return true;
    default:
      return false;
  }
}

bool IsText(const Column& column) {
  return column.kind == ColumnKind::kText || column.kind == ColumnKind::kBlob ||
         column.kind == ColumnKind::kGeometry;
}

bool IsChoice(const Column& column) {
  return column.kind == ColumnKind::kEnum || column.kind == ColumnKind::kSet;
}

// Builds one layout. `Malformed` and `Refused` name the table.
class LayoutParser {
 public:
  explicit LayoutParser(std::string_view body) : body_size_(body.size()), reader_(body) {}

  absl::StatusOr<TableLayout> Parse() && {
    reader_.Little(6);  // the table's number
    reader_.Little(2);  // flags
    layout_.database = Name();
    layout_.table = Name();
    const uint64_t count = reader_.Packed();
    if (!reader_.ok() || count == 0 || count > kMostColumns) return Malformed("column count");
    std::string_view types = reader_.Bytes(static_cast<size_t>(count));
    ByteReader sizes(reader_.PackedBytes());
    layout_.columns.resize(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
      LOCUS_RETURN_IF_ERROR(ParseType(i, static_cast<uint8_t>(types[i]), sizes));
    }
    if (!sizes.ok() || !sizes.empty()) return Malformed("column sizes");
    std::string_view nullable = reader_.Bytes((types.size() + 7) / 8);
    if (!reader_.ok()) return Malformed("columns");
    for (size_t i = 0; i < types.size(); ++i) {
      layout_.columns[i].nullable = (static_cast<unsigned char>(nullable[i / 8]) >> i % 8 & 1) != 0;
    }
    LOCUS_RETURN_IF_ERROR(ParseFields());
    return std::move(layout_);
  }

 private:
  std::string Name() {
    std::string name(reader_.Bytes(reader_.Byte()));
    reader_.Bytes(1);  // a NUL
    return name;
  }

  std::string Place() const {
    return absl::StrCat("TABLE_MAP of ", Quoted(layout_.database), ".", Quoted(layout_.table));
  }
  absl::Status Malformed(std::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(Place(), ", ", body_size_, " bytes: malformed ", ToAbsl(what)));
  }
  absl::Status Refused(size_t column, std::string_view why) const {
    return absl::FailedPreconditionError(
        absl::StrCat(Place(), ": column ", column + 1, " ", ToAbsl(why)));
  }

  absl::Status ParseType(size_t index, uint8_t type, ByteReader& sizes) {
    Column& column = layout_.columns[index];
    auto number = [&column](ColumnKind kind, uint32_t size) {
      column.kind = kind;
      column.size = size;
    };
    switch (type) {
      case kTiny:
        number(ColumnKind::kInteger, 1);
        break;
      case kShort:
        number(ColumnKind::kInteger, 2);
        break;
      case kInt24:
        number(ColumnKind::kInteger, 3);
        break;
      case kLong:
        number(ColumnKind::kInteger, 4);
        break;
      case kLongLong:
        number(ColumnKind::kInteger, 8);
        break;
      case kYear:
        number(ColumnKind::kYear, 1);
        break;
      case kFloat:
        number(ColumnKind::kFloat, sizes.Byte());
        if (column.size != 4) return Malformed("FLOAT");
        break;
      case kDouble:
        number(ColumnKind::kDouble, sizes.Byte());
        if (column.size != 8) return Malformed("DOUBLE");
        break;
      case kDate:
      case kNewDate:
        column.kind = ColumnKind::kDate;
        break;
      case kTime2:
      case kDateTime2:
      case kTimestamp2:
        column.kind = type == kTime2       ? ColumnKind::kTime
                      : type == kDateTime2 ? ColumnKind::kDateTime
                                           : ColumnKind::kTimestamp;
        column.scale = sizes.Byte();
        if (column.scale > 6) return Malformed("digits of a second");
        break;
      case kOldTimestamp:
      case kOldTime:
      case kOldDateTime:
        // Its rows may have fractions of a second, whose length the log does not contain.
        return Refused(
            index,
            "is a time in the format before MySQL 5.6; set mysql56_temporal_format=ON and"
            " run ALTER TABLE ... FORCE");
      default:
        return ParseSizedType(index, type, sizes);
    }
    return absl::OkStatus();
  }

  absl::Status ParseSizedType(size_t index, uint8_t type, ByteReader& sizes) {
    Column& column = layout_.columns[index];
    switch (type) {
      case kNewDecimal:
        column.kind = ColumnKind::kDecimal;
        column.precision = sizes.Byte();
        column.scale = sizes.Byte();
        if (column.precision == 0 || column.precision > 65 || column.scale > column.precision) {
          return Malformed("DECIMAL");
        }
        return absl::OkStatus();
      case kBit: {
        const uint32_t odd_bits = sizes.Byte(), whole_bytes = sizes.Byte();
        column.kind = ColumnKind::kBit;
        column.size = whole_bytes * 8 + odd_bits;
        if (odd_bits > 7 || column.size == 0 || column.size > 64) return Malformed("BIT");
        return absl::OkStatus();
      }
      case kVarcharCompressed:
      case kVarchar:
        column.kind = ColumnKind::kText;
        column.compressed = type == kVarcharCompressed;
        column.size = static_cast<uint32_t>(sizes.Little(2));
        return absl::OkStatus();
      case kBlobCompressed:
      case kBlob:
      case kGeometry:
        column.kind = type == kGeometry ? ColumnKind::kGeometry : ColumnKind::kBlob;
        column.compressed = type == kBlobCompressed;
        column.size = sizes.Byte();
        if (column.size < 1 || column.size > 4) return Malformed("BLOB");
        return absl::OkStatus();
      case kString:
        return ParseString(column, sizes);
      default:
        return Refused(index, absl::StrCat("has type ", type, ", which this reader does not know"));
    }
  }

  absl::Status ParseString(Column& column, ByteReader& sizes) {
    const uint8_t first = sizes.Byte(), second = sizes.Byte();
    if (first == kEnum || first == kSet) {
      column.kind = first == kEnum ? ColumnKind::kEnum : ColumnKind::kSet;
      column.size = second;
      const bool fits =
          first == kEnum ? second == 1 || second == 2 : (second >= 1 && second <= 4) || second == 8;
      return fits ? absl::OkStatus() : Malformed("ENUM or SET");
    }
    // A length above 255 has its high bits, inverted, in the bits 4 and 5 of the type.
    if ((first | 0x30) != kString) return Malformed("CHAR");
    column.kind = ColumnKind::kText;
    column.size = second | static_cast<uint32_t>((first & 0x30) ^ 0x30) << 4;
    is_char_.resize(layout_.columns.size());
    is_char_[static_cast<size_t>(&column - layout_.columns.data())] = true;
    return absl::OkStatus();
  }

  absl::Status ParseFields() {
    bool named = false, signs = false, text_charsets = false;
    while (!reader_.empty()) {
      const Field field{reader_.Byte()};
      ByteReader bytes(reader_.PackedBytes());
      if (!reader_.ok()) return Malformed("metadata");
      absl::Status parsed;
      switch (field) {
        case Field::kSignedness:
          parsed = ParseSigns(bytes);
          signs = true;
          break;
        case Field::kDefaultCharset:
        case Field::kColumnCharset:
          parsed = ParseCharsets(bytes, field == Field::kDefaultCharset, IsText);
          text_charsets = true;
          break;
        case Field::kEnumAndSetDefaultCharset:
        case Field::kEnumAndSetColumnCharset:
          parsed = ParseCharsets(bytes, field == Field::kEnumAndSetDefaultCharset, IsChoice);
          break;
        case Field::kColumnName:
          parsed = ParseNames(bytes);
          named = true;
          break;
        case Field::kSetValues:
        case Field::kEnumValues:
          parsed =
              ParseValues(bytes, field == Field::kSetValues ? ColumnKind::kSet : ColumnKind::kEnum);
          break;
        case Field::kPrimaryKey:
        case Field::kPrimaryKeyWithPrefix:
          parsed = ParseKey(bytes, field == Field::kPrimaryKeyWithPrefix);
          break;
        default:  // a shape's kind, and what later servers add about columns: no row depends on it
          break;
      }
      LOCUS_RETURN_IF_ERROR(parsed);
    }
    bool numbers = false, texts = false;
    for (const Column& column : layout_.columns) {
      numbers = numbers || IsNumber(column);
      texts = texts || IsText(column);
    }
    if (named && (signs || !numbers) && (text_charsets || !texts)) return Finish();
    return absl::FailedPreconditionError(
        absl::StrCat(Place(),
                     " has no names, signs or character sets; set"
                     " binlog_row_metadata=FULL, and start after that"));
  }

  // The checks that need the character sets.
  absl::Status Finish() {
    is_char_.resize(layout_.columns.size());
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      Column& column = layout_.columns[i];
      column.padded = is_char_[i] && column.charset == kBinaryCharset;
    }
    return absl::OkStatus();
  }

  absl::Status ParseSigns(ByteReader bytes) {
    size_t bit = 0;
    uint8_t byte = 0;
    for (Column& column : layout_.columns) {
      if (!IsNumber(column)) continue;
      if (bit % 8 == 0) byte = bytes.Byte();
      column.is_unsigned = (byte >> (7 - bit % 8) & 1) != 0;
      ++bit;
    }
    return bytes.ok() && bytes.empty() ? absl::OkStatus() : Malformed("signs");
  }

  absl::Status ParseCharsets(ByteReader bytes, bool with_default, bool (*counts)(const Column&)) {
    std::vector<Column*> columns;
    for (Column& column : layout_.columns) {
      if (counts(column)) columns.push_back(&column);
    }
    if (with_default) {
      const uint32_t charset = static_cast<uint32_t>(bytes.Packed());
      for (Column* column : columns) column->charset = charset;
      while (!bytes.empty()) {
        const uint64_t index = bytes.Packed();
        const uint32_t other = static_cast<uint32_t>(bytes.Packed());
        if (!bytes.ok() || index >= columns.size()) return Malformed("character sets");
        columns[static_cast<size_t>(index)]->charset = other;
      }
    } else {
      for (Column* column : columns) column->charset = static_cast<uint32_t>(bytes.Packed());
    }
    return bytes.ok() && bytes.empty() ? absl::OkStatus() : Malformed("character sets");
  }

  absl::Status ParseNames(ByteReader bytes) {
    for (Column& column : layout_.columns) column.name = bytes.PackedBytes();
    return bytes.ok() && bytes.empty() ? absl::OkStatus() : Malformed("column names");
  }

  absl::Status ParseValues(ByteReader bytes, ColumnKind kind) {
    for (Column& column : layout_.columns) {
      if (column.kind != kind) continue;
      column.values.clear();
      const uint64_t count = bytes.Packed();
      // Each value takes a byte at least.
      if (!bytes.ok() || count > bytes.rest().size()) return Malformed("values");
      for (uint64_t i = 0; i < count; ++i) column.values.emplace_back(bytes.PackedBytes());
    }
    return bytes.ok() && bytes.empty() ? absl::OkStatus() : Malformed("values");
  }

  absl::Status ParseKey(ByteReader bytes, bool with_prefix) {
    layout_.primary_key.clear();
    while (!bytes.empty()) {
      const uint64_t column = bytes.Packed();
      const uint64_t prefix = with_prefix ? bytes.Packed() : 0;
      if (!bytes.ok() || column >= layout_.columns.size()) return Malformed("primary key");
      layout_.primary_key.push_back({static_cast<uint32_t>(column), static_cast<uint32_t>(prefix)});
    }
    return absl::OkStatus();
  }

  const size_t body_size_;
  ByteReader reader_;
  TableLayout layout_;
  std::vector<bool> is_char_;  // of fixed length; may be shorter than the columns
};

}  // namespace

absl::StatusOr<TableName> ParseTableName(std::string_view body) {
  ByteReader reader(body);
  TableName name;
  name.id = reader.Little(6);
  reader.Little(2);  // flags
  name.database = reader.Bytes(reader.Byte());
  const bool first_ended = reader.Bytes(1) == std::string_view("\0", 1);
  name.table = reader.Bytes(reader.Byte());
  const bool ended = reader.Bytes(1) == std::string_view("\0", 1);
  if (!reader.ok() || !first_ended || !ended || body.size() > kMostTableMapBytes) {
    return absl::DataLossError(absl::StrCat("malformed TABLE_MAP event, ", body.size(), " bytes"));
  }
  return name;
}

absl::StatusOr<TableLayout> ParseTableLayout(std::string_view body) {
  LOCUS_RETURN_IF_ERROR(ParseTableName(body).status());
  return LayoutParser(body).Parse();
}

}  // namespace locus::stream
