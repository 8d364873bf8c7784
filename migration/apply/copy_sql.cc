// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/copy_sql.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "locus/order_id.h"
#include "migration/fence/guard_sql.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

using stream::ColumnKind;

// As the checkpoint has it, with all digits of a second and without blanks.
std::string TimeText(const stream::Value& value) {
  stream::Column column;
  column.scale = 6;
  std::string text = KeyText(value, column);
  std::replace(text.begin(), text.end(), ' ', 'T');
  return text;
}

// The caller must check that the text is as TimeText and its like print it.
std::optional<stream::Value> TypedPartIn(char kind, const std::string& text) {
  unsigned year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0, micros = 0;
  stream::DateTime at;
  switch (kind) {
    case 'n':
      if (text.find_first_not_of("0123456789.-") != std::string::npos) return std::nullopt;
      return stream::Decimal{text};
    case 'd':
      if (std::sscanf(text.c_str(), "%4u-%2u-%2u", &year, &month, &day) != 3) return std::nullopt;
      return stream::Date{static_cast<uint16_t>(year), static_cast<uint8_t>(month),
                          static_cast<uint8_t>(day)};
    case 's':
      if (std::sscanf(text.c_str(), "%4u-%2u-%2uT%2u:%2u:%2u.%6u", &year, &month, &day, &hours,
                      &minutes, &seconds, &micros) != 7) {
        return std::nullopt;
      }
      at.date = {static_cast<uint16_t>(year), static_cast<uint8_t>(month),
                 static_cast<uint8_t>(day)};
      at.hours = static_cast<uint8_t>(hours);
      at.minutes = static_cast<uint8_t>(minutes);
      at.seconds = static_cast<uint8_t>(seconds);
      at.microseconds = micros;
      return at;
    case 't': {
      const bool negative = text.starts_with('-');
      if (std::sscanf(text.c_str() + (negative ? 1 : 0), "%3u:%2u:%2u.%6u", &hours, &minutes,
                      &seconds, &micros) != 4) {
        return std::nullopt;
      }
      return stream::Time{negative, static_cast<uint16_t>(hours), static_cast<uint8_t>(minutes),
                          static_cast<uint8_t>(seconds), micros};
    }
    case 'e':
    case 'm':
    case 'b':
    case 'u': {
      const uint64_t most = kind == 'e' ? UINT16_MAX : kind == 'u' ? INT64_MAX : UINT64_MAX;
      const auto number = ParseDecimal(text, most);
      if (!number) return std::nullopt;
      if (kind == 'e') return stream::EnumNumber{static_cast<uint16_t>(*number)};
      if (kind == 'm') return stream::SetBits{*number};
      if (kind == 'b') return stream::Bits{*number};
      return stream::Timestamp{static_cast<int64_t>(*number)};
    }
    default:
      return std::nullopt;
  }
}

std::optional<stream::Value> PartIn(absl::string_view text) {
  if (!text.empty() && absl::StrContains("ndstembu", text.substr(0, 1))) {
    return TypedPartIn(text[0], std::string(text.substr(1)));
  }
  if (!text.empty() && text[0] == 'x') {
    text.remove_prefix(1);
    const bool is_hex =
        text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == text.npos;
    if (!is_hex) return std::nullopt;
    return stream::Bytes{absl::HexStringToBytes(text)};
  }
  uint64_t natural = 0;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  if (auto [at, error] = std::from_chars(text.data(), end, natural);
      error == std::errc() && at == end) {
    return stream::Value(natural);
  }
  auto [at, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && at == end) return stream::Value(number);
  return std::nullopt;
}

}  // namespace

std::string CopyKeyText(const CopyKey& key) {
  return absl::StrJoin(key, ",", [](std::string* out, const stream::Value& part) {
    if (auto* number = std::get_if<int64_t>(&part)) absl::StrAppend(out, *number);
    if (auto* natural = std::get_if<uint64_t>(&part)) absl::StrAppend(out, *natural);
    if (auto* bytes = std::get_if<stream::Bytes>(&part)) {
      absl::StrAppend(out, "x", HexOf(bytes->bytes));
    }
    if (auto* decimal = std::get_if<stream::Decimal>(&part)) {
      absl::StrAppend(out, "n", decimal->text);
    }
    if (std::holds_alternative<stream::Date>(part)) absl::StrAppend(out, "d", TimeText(part));
    if (std::holds_alternative<stream::DateTime>(part)) absl::StrAppend(out, "s", TimeText(part));
    if (std::holds_alternative<stream::Time>(part)) absl::StrAppend(out, "t", TimeText(part));
    if (auto* one = std::get_if<stream::EnumNumber>(&part)) absl::StrAppend(out, "e", one->number);
    if (auto* set = std::get_if<stream::SetBits>(&part)) absl::StrAppend(out, "m", set->bits);
    if (auto* bits = std::get_if<stream::Bits>(&part)) absl::StrAppend(out, "b", bits->bits);
    if (auto* stamp = std::get_if<stream::Timestamp>(&part)) {
      absl::StrAppend(out, "u", stamp->microseconds);
    }
  });
}

absl::StatusOr<std::optional<CopyKey>> CopyKeyIn(std::string_view text, size_t parts) {
  if (text.empty()) return std::optional<CopyKey>();
  CopyKey key;
  for (absl::string_view part : absl::StrSplit(ToAbsl(text), ',')) {
    if (auto value = PartIn(part)) key.push_back(*std::move(value));
  }
  if (key.size() == parts && CopyKeyText(key) == text)
    return std::optional<CopyKey>(std::move(key));
  return absl::DataLossError(absl::StrCat("the checkpoint of the copy is ", Quoted(text),
                                          ", which is no primary key of ", parts, " columns"));
}

uint32_t PrintedBytes(std::string_view data_type) {
  if (data_type == "uuid" || data_type == "inet6") return 16;
  return data_type == "inet4" ? 4 : 0;
}

std::vector<size_t> KeyParameters(size_t parts) {
  std::vector<size_t> order;
  for (size_t depth = 0; depth < parts; ++depth) {
    for (size_t i = 0; i <= depth; ++i) order.push_back(i);
  }
  return order;
}

CopyWalk ChooseWalk(const MovedTable& table, const std::vector<CopyColumn>& columns,
                    const std::vector<IndexPart>& parts, std::optional<bool> goes_on) {
  const bool by_gene = table.guard.key == GuardedTable::Key::kGeneAndCohort;
  const std::string& lead = by_gene ? table.guard.gene : table.guard.order_id;
  const bool first = table.primary_key[0] == lead;
  const CopyWalk primary{"PRIMARY", table.primary_key, first};
  if (first || (goes_on && !*goes_on)) return primary;
  CopyWalk walk{"", {lead}, true};
  for (const std::string& column : table.primary_key) {
    if (column != lead) walk.key.push_back(column);
  }
  // A comparison with a column that may be NULL, or with text, does not follow the order of the
  // index.
  const bool comparable =
      std::any_of(columns.begin(), columns.end(), [&](const CopyColumn& column) {
        return column.name == lead && !column.nullable && column.charset.empty() &&
               (column.kind == ColumnKind::kInteger || column.kind == ColumnKind::kText);
      });
  std::map<std::string, size_t> fits;  // how many columns of the index are those of the key
  std::set<std::string> unfit;
  for (const IndexPart& part : parts) {
    size_t& count = fits[part.index];
    const bool next = count < walk.key.size() && walk.key[count] == part.column && !part.prefix;
    if (!next) unfit.insert(part.index);
    ++count;
  }
  for (const auto& [index, count] : fits) {
    if (!comparable || unfit.contains(index)) continue;
    walk.index = index;
    return walk;
  }
  return primary;
}

std::string RowsOf(const GuardedTable& guard, const FencedRange& vnodes, bool by_order) {
  const std::string genes =
      absl::StrCat(GeneExpression(guard, ""), " BETWEEN ", vnodes.lo, " AND ", vnodes.hi);
  if (!by_order || guard.key == GuardedTable::Key::kGeneAndCohort) return genes;
  // Order IDs of 8 bytes, as a number or as bytes; those of 16 bytes lie among them.
  const uint64_t from = uint64_t{vnodes.lo} << OrderId::kNarrowSequenceBits;
  const uint64_t behind = (uint64_t{vnodes.hi} + 1) << OrderId::kNarrowSequenceBits;
  auto literal = [&](uint64_t id) {
    if (guard.key == GuardedTable::Key::kOrderIdNumber) return absl::StrCat(id);
    char bytes[sizeof id];
    StoreBigEndian64(id, bytes);
    return absl::StrCat("X'", HexOf({bytes, sizeof id}), "'");
  };
  const std::string column = SqlName(guard.order_id);
  return absl::StrCat(column, " >= ", literal(from), " AND ", column, " < ", literal(behind),
                      " AND ", genes);
}

namespace {

// The key is behind the parameters ('>'), or not behind them ('<', the last part '<=').
std::string Compared(const ChunkSql& sql, const char* sign) {
  std::vector<std::string> parts;
  std::string equal;
  for (size_t i = 0; i < sql.walk.key.size(); ++i) {
    const std::string& name = sql.walk.key[i];
    std::string mark = "?";
    for (const CopyColumn& column : sql.columns) {
      // Bytes beside a column of text would be compared without its index.
      if (column.name != name || column.charset.empty() || column.kind != ColumnKind::kText) {
        continue;
      }
      mark = absl::StrCat("CONVERT(? USING ", column.charset, ") COLLATE ", column.collation);
    }
    const bool last = i + 1 == sql.walk.key.size();
    const char* or_equal = *sign == '<' && last ? "=" : "";
    parts.push_back(absl::StrCat(equal, SqlName(name), " ", sign, or_equal, " ", mark));
    absl::StrAppend(&equal, SqlName(name), " = ", mark, " AND ");
  }
  return absl::StrCat("(", absl::StrJoin(parts, " OR "), ")");
}

std::string InRanges(const ChunkSql& sql, const std::vector<FencedRange>& ranges) {
  std::vector<std::string> parts;
  for (const FencedRange& range : ranges) {
    parts.push_back(RowsOf(sql.table.guard, range, sql.walk.by_vnode));
  }
  return parts.size() == 1 ? parts[0] : absl::StrCat("(", absl::StrJoin(parts, " OR "), ")");
}

std::string Names(const std::vector<std::string>& columns) {
  return absl::StrJoin(columns, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, SqlName(name));
  });
}

// As an expression whose value can be written into the same column of the other shard.
std::string AsStored(const CopyColumn& column) {
  if (column.bytes > 0) {
    return absl::StrCat("CAST(", SqlName(column.name), " AS BINARY(", column.bytes, "))");
  }
  const bool as_number = column.kind == ColumnKind::kEnum || column.kind == ColumnKind::kSet ||
                         column.kind == ColumnKind::kBit;
  return absl::StrCat(SqlName(column.name), as_number ? " | 0" : "");
}

std::string From(const ChunkSql& sql) {
  return absl::StrCat(" FROM ", SqlName(sql.table.guard.name), " FORCE INDEX (",
                      SqlName(sql.walk.index), ")");
}

}  // namespace

std::string ChunkSql::Rows(const std::vector<FencedRange>& ranges, bool behind, bool upto,
                           uint64_t rows) const {
  std::vector<std::string> values;
  for (const CopyColumn& column : columns) {
    values.push_back(AsStored(column));
  }
  std::string where = InRanges(*this, ranges);
  if (cohorts) {
    const std::string cohort = CohortExpression(table.guard, "");
    absl::StrAppend(&where, " AND ", cohort, " >= ", cohorts->first, " AND ", cohort, " < ",
                    cohorts->second);
  }
  if (behind) absl::StrAppend(&where, " AND ", Compared(*this, ">"));
  if (upto) absl::StrAppend(&where, " AND ", Compared(*this, "<"));
  return absl::StrCat("SELECT ", absl::StrJoin(values, ", "), From(*this), " WHERE ", where,
                      " ORDER BY ", Names(walk.key), " LIMIT ", rows);
}

std::string ChunkSql::KeyAfter(bool behind, uint64_t rows) const {
  std::vector<std::string> values;
  for (const std::string& name : walk.key) {
    for (const CopyColumn& column : columns) {
      if (column.name == name) values.push_back(AsStored(column));
    }
  }
  return absl::StrCat("SELECT ", absl::StrJoin(values, ", "), From(*this),
                      behind ? " WHERE " + Compared(*this, ">") : "", " ORDER BY ", Names(walk.key),
                      " LIMIT ", rows, ", 1");
}

std::string ChunkSql::Explain(const std::vector<FencedRange>& ranges) const {
  return absl::StrCat("EXPLAIN SELECT 1", From(*this), " WHERE ", InRanges(*this, ranges));
}

}  // namespace locus::internal
