// SPDX-License-Identifier: Apache-2.0
#include "tests/stream/value_text.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace locus {

using namespace stream;  // NOLINT: all of it is about these

namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

std::string Hex(const std::string& bytes) {
  return absl::AsciiStrToUpper(absl::BytesToHexString(bytes));
}

std::string WithFraction(const std::string& whole, uint32_t microseconds, uint8_t scale) {
  if (scale == 0) return whole;
  return absl::StrCat(whole, ".", absl::StrFormat("%06u", microseconds).substr(0, scale));
}

std::string DateText(const Date& date) {
  return absl::StrFormat("%04u-%02u-%02u", date.year, date.month, date.day);
}
std::string TimeText(const Time& time, uint8_t scale) {
  return absl::StrCat(
      time.negative ? "-" : "",
      WithFraction(absl::StrFormat("%02u:%02u:%02u", time.hours, time.minutes, time.seconds),
                   time.microseconds, scale));
}
std::string DateTimeText(const DateTime& time, uint8_t scale) {
  return WithFraction(absl::StrFormat("%s %02u:%02u:%02u", DateText(time.date), time.hours,
                                      time.minutes, time.seconds),
                      time.microseconds, scale);
}
std::string TimestampText(Timestamp time, uint8_t scale) {
  return WithFraction(absl::StrCat(time.microseconds / 1000000),
                      static_cast<uint32_t>(time.microseconds % 1000000), scale);
}

std::string DoubleText(double number) { return absl::StrFormat("%a", number); }

std::string Binary(uint64_t bits, unsigned width) {
  std::string text = "b'";
  for (unsigned i = width; i > 0; --i) text += (bits >> (i - 1) & 1) != 0 ? '1' : '0';
  return text + "'";
}

// mariadb-binlog prints a string without what its column pads with, and escapes neither quotes nor
// backslashes.
std::string PrintedBytes(const Column& column, std::string bytes) {
  while (column.padded && !bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  std::string text = "'";
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if (number < 0x20) {
      absl::StrAppend(&text, "\\x", absl::Hex(number, absl::kZeroPad2));
    } else {
      text += byte;
    }
  }
  return text + "'";
}

}  // namespace

std::string Selected(const Column& column) {
  const std::string name = absl::StrCat("`", column.name, "`");
  switch (column.kind) {
    case ColumnKind::kText:
      // UUID and INET are no strings to HEX.
      if (column.padded) return absl::StrCat("HEX(CAST(", name, " AS BINARY(", column.size, ")))");
      return absl::StrCat("HEX(", name, ")");
    case ColumnKind::kBlob:
    case ColumnKind::kGeometry:
      return absl::StrCat("HEX(", name, ")");
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:  // as text it is rounded to the digits that its column shows
      return absl::StrCat("CAST(", name, " AS DOUBLE)");
    case ColumnKind::kBit:
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
      return absl::StrCat("CAST(", name, " AS UNSIGNED)");
    case ColumnKind::kInteger:  // it may be ZEROFILL
    case ColumnKind::kYear:
      return absl::StrCat(name, " + 0");
    case ColumnKind::kTimestamp:
      return absl::StrCat("UNIX_TIMESTAMP(", name, ")");
    default:
      return name;
  }
}

std::optional<std::string> AsSelected(const Column& column, const Value& value) {
  if (std::holds_alternative<Null>(value)) return std::nullopt;
  return std::visit(
      Overloaded{[](Null) { return std::string(); },
                 [](int64_t number) { return absl::StrCat(number); },
                 [](uint64_t number) { return absl::StrCat(number); },
                 [](float number) { return DoubleText(number); },
                 [](double number) { return DoubleText(number); },
                 [](const Decimal& decimal) { return decimal.text; },
                 [](const Bytes& bytes) { return Hex(bytes.bytes); },
                 [](Bits bits) { return absl::StrCat(bits.bits); },
                 [](EnumNumber number) { return absl::StrCat(number.number); },
                 [](SetBits bits) { return absl::StrCat(bits.bits); },
                 [](const Date& date) { return DateText(date); },
                 [&](const Time& time) { return TimeText(time, column.scale); },
                 [&](const DateTime& time) { return DateTimeText(time, column.scale); },
                 [&](Timestamp time) { return TimestampText(time, column.scale); }},
      value);
}

std::optional<std::string> Normalized(const Column& column,
                                      const std::optional<std::string>& answer) {
  if (!answer) return answer;
  if (column.kind == ColumnKind::kFloat || column.kind == ColumnKind::kDouble) {
    return DoubleText(std::strtod(answer->c_str(), nullptr));
  }
  return answer;
}

std::string AsPrinted(const Column& column, const Value& value) {
  return std::visit(
      Overloaded{
          [](Null) { return std::string("NULL"); },
          [&](int64_t number) { return absl::StrCat(number); },
          [&](uint64_t number) { return absl::StrCat(number); },
          [](float number) { return absl::StrFormat("%g", number); },
          [](double number) { return absl::StrFormat("%g", number); },
          [](const Decimal& decimal) { return decimal.text; },
          [&](const Bytes& bytes) { return PrintedBytes(column, bytes.bytes); },
          [&](Bits bits) { return Binary(bits.bits, column.size); },
          [](EnumNumber number) { return absl::StrCat(number.number); },
          [&](SetBits bits) {  // its bytes as they lie in memory
            return Binary(__builtin_bswap64(bits.bits) >> (64 - column.size * 8), column.size * 8);
          },
          [](const Date& date) {
            return absl::StrCat("'", absl::StrReplaceAll(DateText(date), {{"-", ":"}}), "'");
          },
          [&](const Time& time) { return absl::StrCat("'", TimeText(time, column.scale), "'"); },
          [&](const DateTime& time) {
            return absl::StrCat("'", DateTimeText(time, column.scale), "'");
          },
          [&](Timestamp time) { return TimestampText(time, column.scale); }},
      value);
}

std::string NormalizedPrint(const Column& column, const std::string& printed) {
  if (printed == "NULL") return printed;
  switch (column.kind) {
    case ColumnKind::kInteger: {
      // "-56 (200)": the same bytes as a signed and as an unsigned number.
      const size_t other = printed.find(" (");
      if (other == printed.npos) return printed;
      if (!column.is_unsigned) return printed.substr(0, other);
      return printed.substr(other + 2, printed.size() - other - 3);
    }
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
      return absl::StrFormat("%g", std::strtod(printed.c_str(), nullptr));
    case ColumnKind::kYear:
      return printed == "1900" ? "0" : printed;  // it adds 1900 to the 0 of year 0000
    default:
      return printed;
  }
}

}  // namespace locus
