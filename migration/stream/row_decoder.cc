// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/row_decoder.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/stream/inflate.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::Quoted;

namespace {

// Replaces the value, and keeps the memory of a string that already lies there.
void SetBytes(Value& value, std::string_view bytes) {
  Bytes* before = std::get_if<Bytes>(&value);
  Bytes& place = before != nullptr ? *before : value.emplace<Bytes>();
  place.bytes.assign(bytes.data(), bytes.size());
}

int64_t SignExtended(uint64_t value, unsigned bytes) {
  const unsigned shift = 64 - 8 * bytes;
  return static_cast<int64_t>(value << shift) >> shift;
}

bool DecodeInteger(const Column& column, ByteReader& bytes, Value& value) {
  const uint64_t number = bytes.Little(column.size);
  if (column.is_unsigned) {
    value = number;
  } else {
    value = SignExtended(number, column.size);
  }
  return true;
}

void DecodeYear(const Column& column, ByteReader& bytes, Value& value) {
  const uint64_t offset = bytes.Byte();
  const uint64_t year = offset == 0 ? 0 : 1900 + offset;
  if (column.is_unsigned) {
    value = year;
  } else {
    value = static_cast<int64_t>(year);
  }
}

// Nine decimal digits take four bytes, fewer take these.
constexpr std::array<uint8_t, 10> kBytesOfDigits = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
constexpr std::array<uint32_t, 10> kPowersOfTen = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
constexpr unsigned kDigitsInGroup = 9;

// Appends a number as `digits` digits; without leading zeros where `text` has no digit yet.
void AppendDigits(std::string& text, uint32_t number, unsigned digits, bool leading_zeros) {
  char buffer[kDigitsInGroup];
  for (unsigned i = digits; i > 0; --i) {
    buffer[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
  unsigned from = 0;
  while (!leading_zeros && from < digits && buffer[from] == '0') ++from;
  text.append(buffer + from, digits - from);
}

// Groups of digits, most significant first; all bits inverted if negative, and the first bit
// inverted, so that bytes sort as numbers do.
bool DecodeDecimal(const Column& column, ByteReader& bytes, Value& value) {
  const unsigned whole = column.precision - column.scale;
  const unsigned first = whole % kDigitsInGroup, last = column.scale % kDigitsInGroup;
  const size_t size = kBytesOfDigits[first] + whole / kDigitsInGroup * 4 +
                      column.scale / kDigitsInGroup * 4 + kBytesOfDigits[last];
  std::string_view stored = bytes.Bytes(size);
  if (stored.size() != size) return false;
  const bool negative = (static_cast<unsigned char>(stored[0]) & 0x80) == 0;
  char plain[32] = {};  // 65 digits take 30 bytes
  LOCUS_CHECK(size <= sizeof plain);
  for (size_t i = 0; i < size; ++i) {
    plain[i] = static_cast<char>(negative ? ~stored[i] : stored[i]);
  }
  plain[0] = static_cast<char>(plain[0] ^ 0x80);

  Decimal* before = std::get_if<Decimal>(&value);
  std::string& text = (before != nullptr ? *before : value.emplace<Decimal>()).text;
  text.clear();
  if (negative) text += '-';
  const size_t sign = text.size();
  ByteReader groups({plain, size});
  bool fits = true, any = false;
  auto append = [&](unsigned digits, bool leading_zeros) {
    const uint32_t number = static_cast<uint32_t>(groups.Big(kBytesOfDigits[digits]));
    fits = fits && number < kPowersOfTen[digits];
    any = any || number != 0;
    AppendDigits(text, number, digits, leading_zeros);
  };
  if (first != 0) append(first, false);
  for (unsigned i = 0; i < whole / kDigitsInGroup; ++i) {
    append(kDigitsInGroup, text.size() > sign);
  }
  if (text.size() == sign) text += '0';
  if (column.scale != 0) text += '.';
  for (unsigned i = 0; i < column.scale / kDigitsInGroup; ++i) append(kDigitsInGroup, true);
  if (last != 0) append(last, true);
  if (negative && !any) text.erase(0, 1);  // there is no -0
  return fits;
}

// The fraction of a second, in microseconds, of `scale` digits.
uint32_t Fraction(ByteReader& bytes, uint8_t scale) {
  constexpr std::array<uint32_t, 4> kUnit = {0, 10000, 100, 1};
  const unsigned size = (scale + 1u) / 2;
  return size == 0 ? 0 : static_cast<uint32_t>(bytes.Big(size)) * kUnit[size];
}
constexpr uint32_t kMicros = 1000000;

Date DateFrom(uint64_t year_and_month, uint64_t day) {
  return {static_cast<uint16_t>(year_and_month / 13), static_cast<uint8_t>(year_and_month % 13),
          static_cast<uint8_t>(day)};
}

bool DecodeDate(ByteReader& bytes, Value& value) {
  const uint64_t packed = bytes.Little(3);
  const Date date{static_cast<uint16_t>(packed >> 9), static_cast<uint8_t>(packed >> 5 & 15),
                  static_cast<uint8_t>(packed & 31)};
  value = date;
  return date.month <= 12 && date.year <= 9999;
}

bool DecodeDateTime(const Column& column, ByteReader& bytes, Value& value) {
  constexpr uint64_t kOffset = 0x8000000000;
  const uint64_t stored = bytes.Big(5);
  const uint64_t packed = stored - kOffset;
  DateTime time;
  const uint64_t days = packed >> 17;
  time.date = DateFrom(days >> 5, days & 31);
  time.hours = static_cast<uint8_t>(packed >> 12 & 31);
  time.minutes = static_cast<uint8_t>(packed >> 6 & 63);
  time.seconds = static_cast<uint8_t>(packed & 63);
  time.microseconds = Fraction(bytes, column.scale);
  value = time;
  return stored >= kOffset && days >> 5 <= 9999 * 13 + 12 && time.hours < 24 && time.minutes < 60 &&
         time.seconds < 60 && time.microseconds < kMicros;
}

// A number whose middle is zero, whole seconds in its upper 24 bits. Its fraction, of 0 to 3 bytes,
// belongs to it: of a negative time all of it is a two's complement.
bool DecodeTime(const Column& column, ByteReader& bytes, Value& value) {
  const unsigned fraction_bytes = (column.scale + 1u) / 2;
  const uint64_t stored = bytes.Big(3 + fraction_bytes);
  int64_t packed = static_cast<int64_t>(stored) - (int64_t{1} << (23 + 8 * fraction_bytes));
  Time time;
  time.negative = packed < 0;
  if (packed < 0) packed = -packed;
  const uint64_t fraction =
      static_cast<uint64_t>(packed) & ((uint64_t{1} << 8 * fraction_bytes) - 1);
  const uint64_t whole = static_cast<uint64_t>(packed) >> 8 * fraction_bytes;
  constexpr std::array<uint32_t, 4> kUnit = {0, 10000, 100, 1};
  time.hours = static_cast<uint16_t>(whole >> 12);
  time.minutes = static_cast<uint8_t>(whole >> 6 & 63);
  time.seconds = static_cast<uint8_t>(whole & 63);
  time.microseconds = static_cast<uint32_t>(fraction) * kUnit[fraction_bytes];
  value = time;
  return time.hours <= 838 && time.minutes < 60 && time.seconds < 60 && time.microseconds < kMicros;
}

bool DecodeTimestamp(const Column& column, ByteReader& bytes, Value& value) {
  const int64_t seconds = static_cast<int64_t>(bytes.Big(4));
  const uint32_t fraction = Fraction(bytes, column.scale);
  value = Timestamp{seconds * kMicros + fraction};
  return fraction < kMicros;
}

// The bytes of a text or a blob, unpacked and padded.
bool SetText(const Column& column, std::string_view stored, Value& value) {
  if (column.compressed && !stored.empty()) {
    absl::StatusOr<std::string> unpacked = UnpackColumn(stored, kMostUnpackedBytes);
    if (!unpacked.ok()) return false;
    value = Bytes{*std::move(unpacked)};
    return true;
  }
  SetBytes(value, stored);
  if (column.padded) {
    if (stored.size() > column.size) return false;
    std::get<Bytes>(value).bytes.resize(column.size, '\0');
  }
  return true;
}

// False: the bytes are no value of the column, or end before it does.
bool DecodeValue(const Column& column, ByteReader& bytes, Value& value) {
  switch (column.kind) {
    case ColumnKind::kInteger:
      return DecodeInteger(column, bytes, value);
    case ColumnKind::kYear:
      DecodeYear(column, bytes, value);
      return true;
    case ColumnKind::kFloat:
      value = std::bit_cast<float>(static_cast<uint32_t>(bytes.Little(4)));
      return true;
    case ColumnKind::kDouble:
      value = std::bit_cast<double>(bytes.Little(8));
      return true;
    case ColumnKind::kDecimal:
      return DecodeDecimal(column, bytes, value);
    case ColumnKind::kBit: {
      const uint64_t bits = bytes.Big((column.size + 7) / 8);
      value = Bits{bits};
      return column.size == 64 || bits >> column.size == 0;
    }
    case ColumnKind::kText: {
      const size_t size = static_cast<size_t>(bytes.Little(column.size < 256 ? 1 : 2));
      return SetText(column, bytes.Bytes(size), value);
    }
    case ColumnKind::kBlob:
    case ColumnKind::kGeometry: {
      const size_t size = static_cast<size_t>(bytes.Little(column.size));
      return SetText(column, bytes.Bytes(size), value);
    }
    case ColumnKind::kEnum:
      value = EnumNumber{static_cast<uint16_t>(bytes.Little(column.size))};
      return true;
    case ColumnKind::kSet:
      value = SetBits{bytes.Little(column.size)};
      return true;
    case ColumnKind::kDate:
      return DecodeDate(bytes, value);
    case ColumnKind::kTime:
      return DecodeTime(column, bytes, value);
    case ColumnKind::kDateTime:
      return DecodeDateTime(column, bytes, value);
    case ColumnKind::kTimestamp:
      return DecodeTimestamp(column, bytes, value);
  }
  LOCUS_UNREACHABLE();
}

std::optional<ChangeKind> KindOf(EventType type) {
  switch (type) {
    case EventType::kWriteRowsV1:
    case EventType::kWriteRowsV2:
      return ChangeKind::kInsert;
    case EventType::kUpdateRowsV1:
    case EventType::kUpdateRowsV2:
      return ChangeKind::kUpdate;
    case EventType::kDeleteRowsV1:
    case EventType::kDeleteRowsV2:
      return ChangeKind::kDelete;
    default:
      return std::nullopt;
  }
}

// Whether the first `columns` bits are all set.
bool IsFull(std::string_view bits, uint64_t columns) {
  for (uint64_t i = 0; i < columns; ++i) {
    if ((static_cast<unsigned char>(bits[i / 8]) >> i % 8 & 1) == 0) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<RowsHeader> ParseRowsHeader(const Event& event) {
  constexpr uint64_t kEndsStatement = 1;
  const std::optional<ChangeKind> kind = KindOf(event.header.type);
  LOCUS_CHECK(kind.has_value());
  ByteReader reader(event.body);
  RowsHeader header;
  header.kind = *kind;
  header.table_id = reader.Little(6);
  header.ends_statement = (reader.Little(2) & kEndsStatement) != 0;
  bool ok = true;
  if (event.header.type >= EventType::kWriteRowsV2) {
    const uint64_t more = reader.Little(2);  // counts itself; what it holds is for other engines
    ok = more >= 2;
    reader.Bytes(ok ? static_cast<size_t>(more) - 2 : 0);
  }
  header.columns = reader.Packed();
  ok = ok && reader.ok() && header.columns <= reader.rest().size() * 8;
  if (ok) {
    const size_t bitmap = static_cast<size_t>(header.columns + 7) / 8;
    header.present = reader.Bytes(bitmap);
    if (header.kind == ChangeKind::kUpdate) header.present_after = reader.Bytes(bitmap);
  }
  header.rows = reader.rest();
  if (!ok || !reader.ok()) {
    return absl::DataLossError(absl::StrCat("malformed event of rows, type ",
                                            static_cast<int>(event.header.type), ", ",
                                            event.body.size(), " bytes"));
  }
  return header;
}

absl::Status CheckImage(const RowsHeader& header, const TableLayout& table) {
  const std::string place = absl::StrCat(Quoted(table.database), ".", Quoted(table.table));
  if (header.columns != table.columns.size()) {
    return absl::DataLossError(absl::StrCat("rows of ", header.columns, " columns for ", place,
                                            ", which has ", table.columns.size()));
  }
  if (IsFull(header.present, header.columns) &&
      (header.kind != ChangeKind::kUpdate || IsFull(header.present_after, header.columns))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("rows of ", place, " lack columns; set binlog_row_image=FULL in every session"));
}

absl::Status DecodeRow(const TableLayout& table, ByteReader& rows, Row& row) {
  const size_t count = table.columns.size();
  row.resize(count);
  std::string_view nulls = rows.Bytes((count + 7) / 8);
  for (size_t i = 0; i < count && rows.ok(); ++i) {
    if ((static_cast<unsigned char>(nulls[i / 8]) >> i % 8 & 1) != 0) {
      row[i] = Null();
    } else if (!DecodeValue(table.columns[i], rows, row[i])) {
      return absl::DataLossError(absl::StrCat("malformed row of ", Quoted(table.database), ".",
                                              Quoted(table.table), ": column ",
                                              Quoted(table.columns[i].name)));
    }
  }
  if (rows.ok()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("malformed row of ", Quoted(table.database), ".",
                                          Quoted(table.table), ": it ends within a value"));
}

std::string_view ToString(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kInsert:
      return "insert";
    case ChangeKind::kUpdate:
      return "update";
    case ChangeKind::kDelete:
      return "delete";
    case ChangeKind::kStatement:
      return "schema change";
  }
  return "unknown";
}

}  // namespace locus::stream
