// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/copy_sql.h"

#include <array>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "migration/fence/guard_sql.h"
#include "src/base/text.h"

namespace locus::internal {
namespace {

using stream::ColumnKind;

std::optional<stream::Value> PartIn(absl::string_view text) {
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

std::vector<size_t> KeyParameters(size_t parts) {
  std::vector<size_t> order;
  for (size_t depth = 0; depth < parts; ++depth) {
    for (size_t i = 0; i <= depth; ++i) order.push_back(i);
  }
  return order;
}

std::string SelectChunk(const MovedTable& table, const stream::TableLayout& layout, uint32_t first,
                        uint32_t last, bool from_key, uint64_t rows) {
  std::vector<std::string> columns, order, behind;
  for (const stream::Column& column : layout.columns) {
    const bool as_number = column.kind == ColumnKind::kEnum || column.kind == ColumnKind::kSet ||
                           column.kind == ColumnKind::kBit;
    columns.push_back(absl::StrCat(SqlName(column.name), as_number ? " + 0" : ""));
  }
  std::string equal;
  for (const std::string& name : table.primary_key) {
    order.push_back(SqlName(name));
    behind.push_back(absl::StrCat(equal, SqlName(name), " > ?"));
    absl::StrAppend(&equal, SqlName(name), " = ? AND ");
  }
  std::string where =
      absl::StrCat(GeneExpression(table.guard, ""), " BETWEEN ", first, " AND ", last);
  // What lets the server use the primary key: narrow order IDs of the vnodes are one range of it.
  if (table.guard.key == GuardedTable::Key::kOrderIdNumber) {
    absl::StrAppend(&where, " AND ", SqlName(table.guard.order_id), " BETWEEN ",
                    uint64_t{first} << 47, " AND ", ((uint64_t{last} + 1) << 47) - 1);
  }
  if (from_key) absl::StrAppend(&where, " AND (", absl::StrJoin(behind, " OR "), ")");
  return absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM ", SqlName(table.guard.name),
                      " WHERE ", where, " ORDER BY ", absl::StrJoin(order, ", "), " LIMIT ", rows);
}

}  // namespace locus::internal
