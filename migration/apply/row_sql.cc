// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/row_sql.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/order_id.h"
#include "migration/fence/guard_sql.h"
#include "src/base/text.h"

namespace locus::internal {
namespace {

using stream::ColumnKind;

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status Differs(const TargetTable& table, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("table ", Quoted(table.moved.guard.name), ": ", what));
}

// Column names of the layout at `indexes`, each in `form` with $ for the name.
std::string Each(const stream::TableLayout& layout, const std::vector<uint32_t>& indexes,
                 absl::string_view separator, std::string (*form)(const stream::Column&)) {
  return absl::StrJoin(indexes, separator, [&](std::string* out, uint32_t index) {
    *out += form(layout.columns[index]);
  });
}
std::string NameOf(const stream::Column& column) { return SqlName(column.name); }
std::string Mark(const stream::Column&) { return "?"; }
std::string Assign(const stream::Column& column) { return SqlName(column.name) + " = ?"; }
// Bytes, not what a collation calls equal; an enumeration and a set by their numbers.
std::string Equals(const stream::Column& column) {
  switch (column.kind) {
    case ColumnKind::kText:
    case ColumnKind::kBlob:
    case ColumnKind::kGeometry:
      return absl::StrCat("CAST(", SqlName(column.name), " AS BINARY) <=> ?");
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
    case ColumnKind::kBit:
      return absl::StrCat(SqlName(column.name), " + 0 <=> ?");
    default:
      return SqlName(column.name) + " <=> ?";
  }
}

}  // namespace

absl::StatusOr<RowMap> MapRow(const stream::TableLayout& layout, const TargetTable& table) {
  RowMap map;
  size_t writable = 0;
  bool has_version = false;
  for (uint32_t i = 0; i < layout.columns.size(); ++i) {
    const stream::Column& column = layout.columns[i];
    // What the server adds for a UNIQUE key on a BLOB is not a column of the statement.
    if (Has(table.generated, column.name) || column.name.starts_with("DB_ROW_HASH_")) continue;
    if (!Has(table.writable, column.name)) {
      return Differs(table, absl::StrCat("the source has a column ", Quoted(column.name),
                                         ", the target has not"));
    }
    ++writable;
    if (column.name == table.moved.version) {
      map.version = i;
      has_version = true;
    }
    if (!Has(table.moved.primary_key, column.name)) map.others.push_back(i);
  }
  if (writable != table.writable.size()) {
    return Differs(table, absl::StrCat("the target has ", table.writable.size(),
                                       " columns, the source ", writable));
  }
  if (!has_version) {
    return Differs(table, absl::StrCat("has no column ", Quoted(table.moved.version)));
  }
  for (const std::string& name : table.moved.primary_key) {
    auto found = std::find_if(layout.columns.begin(), layout.columns.end(),
                              [&](const stream::Column& column) { return column.name == name; });
    if (found == layout.columns.end()) {
      return Differs(table, absl::StrCat("has no column ", Quoted(name)));
    }
    if (found->kind != ColumnKind::kInteger && found->kind != ColumnKind::kText) {
      return Differs(table, absl::StrCat("column ", Quoted(name),
                                         " of the primary key is neither an "
                                         "integer nor bytes"));
    }
    map.key.push_back(static_cast<uint32_t>(found - layout.columns.begin()));
  }
  return map;
}

std::string TombstoneKey(const stream::Row& row, const RowMap& map) {
  std::string key;
  for (uint32_t index : map.key) {
    std::string text;
    if (auto* number = std::get_if<int64_t>(&row[index])) text = absl::StrCat(*number);
    if (auto* natural = std::get_if<uint64_t>(&row[index])) text = absl::StrCat(*natural);
    if (auto* bytes = std::get_if<stream::Bytes>(&row[index])) text = bytes->bytes;
    absl::StrAppend(&key, text.size(), ":", text);
  }
  return key;
}

absl::StatusOr<OrderPlace> PlaceOf(const stream::Row& row, const stream::TableLayout& layout,
                                   const GuardedTable& guard) {
  auto value_of = [&](const std::string& name) -> const stream::Value* {
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      if (layout.columns[i].name == name) return &row[i];
    }
    return nullptr;
  };
  auto number_of = [&](const std::string& name, uint64_t most) -> std::optional<uint64_t> {
    const stream::Value* value = value_of(name);
    if (value == nullptr) return std::nullopt;
    uint64_t number = most + 1;
    if (auto* natural = std::get_if<uint64_t>(value)) number = *natural;
    if (auto* whole = std::get_if<int64_t>(value); whole != nullptr && *whole >= 0) {
      number = static_cast<uint64_t>(*whole);
    }
    return number <= most ? std::optional<uint64_t>(number) : std::nullopt;
  };
  if (guard.key == GuardedTable::Key::kGeneAndCohort) {
    auto gene = number_of(guard.gene, 65535), cohort = number_of(guard.cohort, 9999);
    if (!gene || !cohort) {
      return absl::DataLossError(absl::StrCat(
          "a row of ", Quoted(guard.name), " has no gene below ", "65536 and cohort below 10000"));
    }
    return OrderPlace{static_cast<uint32_t>(*gene), static_cast<uint32_t>(*cohort)};
  }
  absl::StatusOr<OrderId> id = absl::DataLossError("no column of order IDs");
  if (guard.key == GuardedTable::Key::kOrderIdNumber) {
    if (auto number = number_of(guard.order_id, INT64_MAX)) {
      id = OrderId::FromInt64(static_cast<int64_t>(*number));
    }
  } else if (const stream::Value* value = value_of(guard.order_id)) {
    if (auto* bytes = std::get_if<stream::Bytes>(value)) id = OrderId::FromBytes(bytes->bytes);
  }
  if (!id.ok()) {
    return absl::DataLossError(
        absl::StrCat("a row of ", Quoted(guard.name), " has no order ID: ", id.status().message()));
  }
  return OrderPlace{id->gene().value(), id->cohort()};
}

absl::StatusOr<uint64_t> VersionIn(const stream::Row& row, const RowMap& map) {
  const stream::Value& value = row[map.version];
  if (auto* natural = std::get_if<uint64_t>(&value)) return *natural;
  if (auto* number = std::get_if<int64_t>(&value); number != nullptr && *number >= 0) {
    return static_cast<uint64_t>(*number);
  }
  return absl::DataLossError("a row's version is NULL, negative or no integer");
}

RowSql SqlOf(const TargetTable& table, const stream::TableLayout& layout, const RowMap& map) {
  const std::string name = SqlName(table.moved.guard.name);
  const std::string by_key = " WHERE " + Each(layout, map.key, " AND ", Assign);
  const std::string tombstone =
      absl::StrCat("tbl = ", SqlText(table.moved.guard.name), " AND pk = ?");
  RowSql sql;
  sql.lock =
      absl::StrCat("SELECT ", SqlName(table.moved.version), " FROM ", name, by_key, " FOR UPDATE");
  sql.insert = absl::StrCat("INSERT INTO ", name, " (", Each(layout, map.key, ", ", NameOf), ", ",
                            Each(layout, map.others, ", ", NameOf), ") VALUES (",
                            Each(layout, map.key, ", ", Mark), ", ",
                            Each(layout, map.others, ", ", Mark), ")");
  sql.update =
      absl::StrCat("UPDATE ", name, " SET ", Each(layout, map.others, ", ", Assign), by_key);
  sql.remove = absl::StrCat("DELETE FROM ", name, by_key);
  sql.same =
      absl::StrCat("SELECT 1 FROM ", name, " WHERE ", Each(layout, map.others, " AND ", Equals),
                   " AND ", Each(layout, map.key, " AND ", Assign));
  sql.lock_tombstone =
      absl::StrCat("SELECT version FROM locus_tombstone WHERE ", tombstone, " FOR UPDATE");
  sql.put_tombstone = absl::StrCat(
      "INSERT INTO locus_tombstone (tbl, pk, version, gene, cohort) VALUES (",
      SqlText(table.moved.guard.name),
      ", ?, ?, ?, ?) ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))");
  return sql;
}

}  // namespace locus::internal
