// SPDX-License-Identifier: Apache-2.0
#include "tests/stream/random_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace locus {

namespace {

uint64_t Below(Random& random, uint64_t limit) { return random() % limit; }

std::string HexLiteral(const std::string& bytes) {
  return absl::StrCat("X'", absl::BytesToHexString(bytes), "'");
}

std::function<std::string(Random&)> Integer(unsigned bits, bool is_unsigned) {
  return [=](Random& random) {
    // Ends of the range, and numbers of every length.
    uint64_t number = random() >> Below(random, 64);
    if (Below(random, 8) == 0) number = 0;
    if (Below(random, 8) == 0) number = ~uint64_t{0};
    if (Below(random, 8) == 0) number = uint64_t{1} << (bits - 1);
    const unsigned shift = 64 - bits;
    if (is_unsigned) return absl::StrCat(number << shift >> shift);
    return absl::StrCat(static_cast<int64_t>(number << shift) >> shift);
  };
}

std::string FloatLiteral(Random& random) {
  const auto number = std::bit_cast<float>(static_cast<uint32_t>(random()));
  if (!std::isfinite(number)) return "0";
  return absl::StrFormat("'%.9g'", number);
}

std::string DoubleLiteral(Random& random) {
  const auto number = std::bit_cast<double>(random());
  if (!std::isfinite(number)) return "-0.5";
  return absl::StrFormat("'%.17g'", number);
}

std::string Digits(Random& random, unsigned count) {
  std::string digits;
  const bool nines = Below(random, 8) == 0;
  for (unsigned i = 0; i < count; ++i) {
    digits += nines ? '9' : static_cast<char>('0' + Below(random, 10));
  }
  return digits;
}

std::function<std::string(Random&)> DecimalOf(unsigned precision, unsigned scale) {
  return [=](Random& random) {
    const unsigned whole = static_cast<unsigned>(Below(random, precision - scale + 1));
    const unsigned fraction = static_cast<unsigned>(Below(random, scale + 1));
    return absl::StrCat(Below(random, 2) == 0 ? "-" : "", "0", Digits(random, whole), ".",
                        Digits(random, fraction), "0");
  };
}

std::string RandomDate(Random& random) {
  if (Below(random, 6) == 0) return "0000-00-00";
  if (Below(random, 8) == 0) return "9999-12-31";
  return absl::StrFormat("%04d-%02d-%02d", Below(random, 10000), Below(random, 13),
                         Below(random, 32));
}

std::string RandomClock(Random& random) {
  return absl::StrFormat("%02d:%02d:%02d.%06d", Below(random, 24), Below(random, 60),
                         Below(random, 60), Below(random, 2) == 0 ? 0 : Below(random, 1000000));
}

std::string DateLiteral(Random& random) { return absl::StrCat("'", RandomDate(random), "'"); }
std::string DateTimeLiteral(Random& random) {
  return absl::StrCat("'", RandomDate(random), " ", RandomClock(random), "'");
}
std::string TimeLiteral(Random& random) {
  if (Below(random, 8) == 0) return Below(random, 2) == 0 ? "'838:59:59'" : "'-838:59:59'";
  return absl::StrFormat("'%s%02d:%02d:%02d.%06d'", Below(random, 2) == 0 ? "-" : "",
                         Below(random, 4) == 0 ? 0 : Below(random, 838), Below(random, 60),
                         Below(random, 60), Below(random, 2) == 0 ? 0 : Below(random, 1000000));
}
std::string TimestampLiteral(Random& random) {
  if (Below(random, 6) == 0) return "'0000-00-00 00:00:00'";
  return absl::StrFormat("FROM_UNIXTIME(%d.%06d)", 1 + Below(random, 2147483647),
                         Below(random, 1000000));
}

// Characters of which each character set has some; the others become question marks.
std::function<std::string(Random&)> Text(size_t most) {
  return [=](Random& random) {
    static const std::vector<std::string> kCharacters = {
        "a", "Z", " ", "'", "\\", "\"", "\t", "\n", "0", "é", "ß", "Ж", "я", "漢", "字", "ｱ", "😀"};
    std::string text;
    const size_t length =
        Below(random, 8) == 0 ? most : Below(random, std::min<size_t>(most, 40) + 1);
    for (size_t i = 0; i < length; ++i) text += kCharacters[Below(random, kCharacters.size())];
    return absl::StrCat("_utf8mb4 ", HexLiteral(text));
  };
}

std::function<std::string(Random&)> Binary(size_t most) {
  return [=](Random& random) {
    const size_t length =
        Below(random, 8) == 0 ? most : Below(random, std::min<size_t>(most, 40) + 1);
    std::string bytes;
    for (size_t i = 0; i < length; ++i) {
      bytes += static_cast<char>(Below(random, 4) == 0 ? 0 : Below(random, 256));
    }
    return HexLiteral(bytes);
  };
}

std::string Words(unsigned count) {
  std::string words;
  for (unsigned i = 0; i < count; ++i) absl::StrAppend(&words, i == 0 ? "" : ",", "'w", i, "'");
  return words;
}

std::string PointText(Random& random) {
  return absl::StrFormat("%d %d.5", static_cast<int>(Below(random, 360)) - 180, Below(random, 90));
}

std::string Uuid(Random& random) {
  std::string digits = absl::StrFormat("%016x%016x", random(), random());
  if (Below(random, 4) == 0) digits.assign(32, '0');
  for (size_t at : {20, 16, 12, 8}) digits.insert(at, "-");
  return absl::StrCat("'", digits, "'");
}

}  // namespace

std::vector<RandomColumn> NumberColumns() {
  std::vector<RandomColumn> columns;
  const std::vector<std::pair<std::string, unsigned>> integers = {
      {"TINYINT", 8}, {"SMALLINT", 16}, {"MEDIUMINT", 24}, {"INT", 32}, {"BIGINT", 64}};
  for (const auto& [name, bits] : integers) {
    columns.push_back({name, Integer(bits, false)});
    columns.push_back({name + " UNSIGNED", Integer(bits, true)});
  }
  columns.push_back({"BOOLEAN", Integer(1, true)});
  columns.push_back({"INT(7) ZEROFILL", Integer(20, true)});
  columns.push_back({"YEAR", [](Random& random) {
                       return absl::StrCat(Below(random, 4) == 0 ? 0 : 1901 + Below(random, 255));
                     }});
  columns.push_back({"FLOAT", FloatLiteral});
  columns.push_back({"FLOAT UNSIGNED", FloatLiteral});
  columns.push_back({"FLOAT(7,3)", DecimalOf(7, 3)});
  columns.push_back({"DOUBLE", DoubleLiteral});
  columns.push_back({"DOUBLE(15,4) UNSIGNED", DecimalOf(15, 4)});
  columns.push_back({"DECIMAL(20,5) UNSIGNED", DecimalOf(20, 5)});
  return columns;
}

std::vector<RandomColumn> DecimalColumns() {
  std::vector<RandomColumn> columns;
  auto add = [&columns](unsigned precision, unsigned scale) {
    columns.push_back(
        {absl::StrCat("DECIMAL(", precision, ",", scale, ")"), DecimalOf(precision, scale)});
  };
  for (unsigned scale = 0; scale <= 38; ++scale) {
    add(std::max(scale, 1u), scale);
    add(std::min(scale + 1 + scale * 7 % 27, 65u), scale);
  }
  add(65, 0);
  add(65, 30);
  return columns;
}

std::vector<RandomColumn> BitColumns() {
  std::vector<RandomColumn> columns;
  for (unsigned bits = 1; bits <= 64; ++bits) {
    columns.push_back({absl::StrCat("BIT(", bits, ")"), Integer(bits, true)});
  }
  return columns;
}

std::vector<RandomColumn> TimeColumns() {
  std::vector<RandomColumn> columns = {{"DATE", DateLiteral}};
  for (int digits = 0; digits <= 6; ++digits) {
    columns.push_back({absl::StrCat("TIME(", digits, ")"), TimeLiteral});
    columns.push_back({absl::StrCat("DATETIME(", digits, ")"), DateTimeLiteral});
    columns.push_back({absl::StrCat("TIMESTAMP(", digits, ") NULL"), TimestampLiteral});
  }
  return columns;
}

std::vector<RandomColumn> TextColumns() {
  std::vector<RandomColumn> columns;
  for (const char* charset :
       {"latin1", "latin2", "utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32", "gbk",
        "big5", "sjis", "eucjpms", "cp1251", "koi8r", "ascii", "swe7"}) {
    for (const char* type : {"CHAR(10)", "VARCHAR(20)", "VARCHAR(300)", "TEXT"}) {
      const size_t most = std::string_view(type) == "CHAR(10)" ? 10 : 20;
      columns.push_back({absl::StrCat(type, " CHARACTER SET ", charset), Text(most)});
    }
  }
  columns.push_back({"CHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", Text(255)});
  columns.push_back({"VARCHAR(255) CHARACTER SET utf8mb4 COLLATE uca1400_nopad_ai_cs", Text(255)});
  columns.push_back({"CHAR(0) CHARACTER SET latin1", [](Random&) { return "''"; }});
  return columns;
}

std::vector<RandomColumn> BlobColumns() {
  return {{"BINARY(1)", Binary(1)},
          {"BINARY(5)", Binary(5)},
          {"BINARY(255)", Binary(255)},
          {"VARBINARY(5)", Binary(5)},
          {"VARBINARY(255)", Binary(255)},
          {"VARBINARY(256)", Binary(256)},
          {"VARBINARY(3000)", Binary(3000)},
          {"TINYBLOB", Binary(255)},
          {"BLOB", Binary(300)},
          {"MEDIUMBLOB", Binary(70000)},
          {"LONGBLOB", Binary(70000)},
          {"TINYTEXT CHARACTER SET utf8mb4", Text(60)},
          {"MEDIUMTEXT CHARACTER SET utf8mb4", Text(30000)},
          {"LONGTEXT CHARACTER SET latin1", Text(30000)},
          {"JSON", [](Random& random) {
             return absl::StrCat("'{\"k\": [", Below(random, 1000), ", \"é\", null]}'");
           }}};
}

std::vector<RandomColumn> OtherColumns() {
  auto choice = [](unsigned count) {
    return [count](Random& random) { return absl::StrCat(Below(random, count + 1)); };
  };
  return {
      {absl::StrCat("ENUM(", Words(3), ")"), choice(3)},
      {"ENUM('é','漢') CHARACTER SET utf8mb4", choice(2)},
      {absl::StrCat("ENUM(", Words(300), ") CHARACTER SET utf8mb4"), choice(300)},
      {absl::StrCat("SET(", Words(8), ")"), Integer(8, true)},
      {absl::StrCat("SET(", Words(9), ")"), Integer(9, true)},
      {absl::StrCat("SET(", Words(20), ")"), Integer(20, true)},
      {absl::StrCat("SET(", Words(32), ")"), Integer(32, true)},
      {absl::StrCat("SET(", Words(64), ") CHARACTER SET utf8mb4"), Integer(64, true)},
      {"UUID", Uuid},
      {"INET4",
       [](Random& random) {
         return Below(random, 4) == 0 ? "'10.0.0.0'"
                                      : absl::StrFormat("'%d.%d.0.%d'", Below(random, 256),
                                                        Below(random, 256), Below(random, 256));
       }},
      {"INET6",
       [](Random& random) {
         return Below(random, 4) == 0
                    ? "'::'"
                    : absl::StrFormat("'%x:%x::'", Below(random, 65536), Below(random, 65536));
       }},
      {"POINT",
       [](Random& random) {
         return absl::StrCat("ST_GeomFromText('POINT(", PointText(random), ")', 4326)");
       }},
      {"GEOMETRY",
       [](Random& random) {
         return absl::StrCat("ST_GeomFromText('LINESTRING(", PointText(random), ",",
                             PointText(random), ")')");
       }},
      {"INT INVISIBLE", Integer(32, false)},
      {"VARCHAR(20) CHARACTER SET latin1 INVISIBLE", Text(20)},
      {"INT AS (id + 1) VIRTUAL", nullptr, true},
      {"VARCHAR(30) AS (CONCAT('<', id, '>')) STORED", nullptr, true},
  };
}

std::vector<RandomColumn> CompressedColumns() {
  auto repeated = [](Random& random) {
    return absl::StrCat("REPEAT('abc ", Below(random, 10), "', ", Below(random, 400), ")");
  };
  return {{"VARCHAR(5000) CHARACTER SET latin1 COMPRESSED", repeated},
          {"VARCHAR(100) CHARACTER SET latin1 COMPRESSED", Text(100)},
          {"VARBINARY(3000) COMPRESSED", Binary(3000)},
          {"TEXT CHARACTER SET utf8mb4 COMPRESSED", repeated},
          {"MEDIUMBLOB COMPRESSED", Binary(70000)},
          {"TINYBLOB COMPRESSED", Binary(200)}};
}

}  // namespace locus
