// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/row_sql.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/order_id.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

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

// nullopt: NULL, negative or no integer.
std::optional<uint64_t> NaturalIn(const stream::Value& value) {
  if (auto* natural = std::get_if<uint64_t>(&value)) return *natural;
  if (auto* number = std::get_if<int64_t>(&value); number != nullptr && *number >= 0) {
    return static_cast<uint64_t>(*number);
  }
  return std::nullopt;
}

// The index of the column. FAILED_PRECONDITION: there is none.
absl::StatusOr<uint32_t> ColumnIn(const stream::TableLayout& layout, const TargetTable& table,
                                  const std::string& name) {
  for (uint32_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name == name) return i;
  }
  return Differs(table, absl::StrCat("has no column ", Quoted(name)));
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
// For an enumeration, a set and a BIT. A sum would be negative where the last of 64 members is set.
std::string NumberOf(const stream::Column& column) { return NameOf(column) + " | 0"; }
// Reads the key of a found row.
std::string Read(const stream::Column& column) {
  return KeyFormOf(column.kind) == KeyForm::kNumber ? NumberOf(column) : NameOf(column);
}
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
      return absl::StrCat(NumberOf(column), " <=> ?");
    default:
      return SqlName(column.name) + " <=> ?";
  }
}

}  // namespace

absl::StatusOr<RowMap> MapRow(const stream::TableLayout& layout, const TargetTable& table) {
  RowMap map;
  size_t writable = 0;
  for (uint32_t i = 0; i < layout.columns.size(); ++i) {
    const stream::Column& column = layout.columns[i];
    // The server adds a hidden column for a UNIQUE key on a BLOB; no statement may name it.
    if (Has(table.generated, column.name) || column.name.starts_with("DB_ROW_HASH_")) continue;
    if (!Has(table.writable, column.name)) {
      return Differs(table, absl::StrCat("the source has a column ", Quoted(column.name),
                                         ", the target has not"));
    }
    ++writable;
    if (!Has(table.moved.primary_key, column.name)) map.others.push_back(i);
  }
  if (writable != table.writable.size()) {
    return Differs(table, absl::StrCat("the target has ", table.writable.size(),
                                       " columns, the source ", writable));
  }
  LOCUS_ASSIGN_OR_RETURN(map.version, ColumnIn(layout, table, table.moved.version));
  for (const std::string& name : table.moved.primary_key) {
    LOCUS_ASSIGN_OR_RETURN(const uint32_t index, ColumnIn(layout, table, name));
    if (!IsKeyKind(layout.columns[index].kind)) {
      return Differs(table, absl::StrCat("column ", Quoted(name),
                                         " of the primary key has a type that no key of a move may"
                                         " have"));
    }
    map.key.push_back(index);
    map.key_columns.push_back(layout.columns[index]);
  }
  const GuardedTable& guard = table.moved.guard;
  if (guard.key == GuardedTable::Key::kGeneAndCohort) {
    LOCUS_ASSIGN_OR_RETURN(map.gene, ColumnIn(layout, table, guard.gene));
    LOCUS_ASSIGN_OR_RETURN(map.cohort, ColumnIn(layout, table, guard.cohort));
  } else {
    LOCUS_ASSIGN_OR_RETURN(map.order_id, ColumnIn(layout, table, guard.order_id));
  }
  return map;
}

std::string TombstoneKey(const stream::Row& row, const RowMap& map) {
  std::string key;
  LOCUS_CHECK(map.key.size() == map.key_columns.size());
  for (size_t i = 0; i < map.key.size(); ++i) {
    const std::string text = KeyText(row[map.key[i]], map.key_columns[i]);
    absl::StrAppend(&key, text.size(), ":", text);
  }
  return key;
}

std::optional<uint32_t> GeneIn(const stream::Row& row, const RowMap& map,
                               const GuardedTable& guard) {
  if (guard.key == GuardedTable::Key::kGeneAndCohort) {
    auto gene = NaturalIn(row[map.gene]);
    return gene && *gene <= 65535 ? std::optional(static_cast<uint32_t>(*gene)) : std::nullopt;
  }
  const stream::Value& value = row[map.order_id];
  if (auto* bytes = std::get_if<stream::Bytes>(&value)) {
    auto byte = [&](size_t i) {
      return i < bytes->bytes.size() ? static_cast<uint32_t>(static_cast<uint8_t>(bytes->bytes[i]))
                                     : 0u;
    };
    return (byte(0) << 9 | byte(1) << 1 | byte(2) >> 7) & 65535;
  }
  uint64_t id = 0;
  if (auto* natural = std::get_if<uint64_t>(&value)) {
    id = *natural;
  } else if (auto* number = std::get_if<int64_t>(&value)) {
    id = static_cast<uint64_t>(*number);
  } else {
    return std::nullopt;
  }
  return static_cast<uint32_t>(id >> OrderId::kNarrowSequenceBits & 65535);
}

absl::StatusOr<OrderPlace> PlaceOf(const stream::Row& row, const RowMap& map,
                                   const GuardedTable& guard) {
  if (guard.key == GuardedTable::Key::kGeneAndCohort) {
    auto gene = NaturalIn(row[map.gene]), cohort = NaturalIn(row[map.cohort]);
    if (gene && cohort && *gene <= 65535 && *cohort <= 9999) {
      return OrderPlace{static_cast<uint32_t>(*gene), static_cast<uint32_t>(*cohort)};
    }
    return absl::DataLossError(absl::StrCat("a row of ", Quoted(guard.name),
                                            " has no gene below 65536 and cohort below 10000"));
  }
  absl::StatusOr<OrderId> id = absl::DataLossError("the column is no order ID");
  const stream::Value& value = row[map.order_id];
  if (auto* bytes = std::get_if<stream::Bytes>(&value)) {
    id = OrderId::FromBytes(bytes->bytes);
  } else if (auto number = NaturalIn(value); number && *number <= INT64_MAX) {
    id = OrderId::FromInt64(static_cast<int64_t>(*number));
  }
  if (!id.ok()) {
    return absl::DataLossError(
        absl::StrCat("a row of ", Quoted(guard.name), " has no order ID: ", id.status().message()));
  }
  return OrderPlace{id->gene().value(), id->cohort()};
}

absl::StatusOr<uint64_t> VersionIn(const stream::Row& row, const RowMap& map) {
  if (auto version = NaturalIn(row[map.version])) return *version;
  return absl::DataLossError("a row's version is NULL, negative or no integer");
}

std::string RowSql::Lock(size_t keys) const {
  std::vector<std::string> parts(keys, key_column.empty() ? key_condition : key_mark);
  return key_column.empty()
             ? absl::StrCat(lock, absl::StrJoin(parts, " OR "), " FOR UPDATE")
             : absl::StrCat(lock, key_column, " IN (", absl::StrJoin(parts, ", "), ") FOR UPDATE");
}

// A join: with the same keys as conditions the optimizer takes six times as long.
std::string RowSql::LockTombstones(std::string_view keys) const {
  return absl::StrCat("WITH keys_read (bucket, pk) AS (VALUES ", ToAbsl(keys), ")",
                      lock_tombstones);
}

RowSql SqlOf(const TargetTable& table, const stream::TableLayout& layout, const RowMap& map) {
  const std::string name = SqlName(table.moved.guard.name);
  const std::string quoted = SqlText(table.moved.guard.name);
  // Bytes beside a column of text would be compared without its index.
  auto mark = [&](uint32_t column) {
    auto text = table.text.find(layout.columns[column].name);
    return text == table.text.end() || layout.columns[column].kind != ColumnKind::kText
               ? std::string("?")
               : absl::StrCat("CONVERT(? USING ", text->second.charset, ") COLLATE ",
                              text->second.collation);
  };
  std::vector<std::string> same_key;
  for (uint32_t column : map.key) {
    same_key.push_back(absl::StrCat(NameOf(layout.columns[column]), " = ", mark(column)));
  }
  const std::string condition = absl::StrJoin(same_key, " AND ");
  const std::string by_key = " WHERE " + condition;
  RowSql sql;
  sql.key_condition = absl::StrCat("(", condition, ")");
  if (map.key.size() == 1) {
    sql.key_column = NameOf(layout.columns[map.key[0]]);
    sql.key_mark = mark(map.key[0]);
  }
  // FORCE INDEX: the server would scan a table that it takes for small, and lock all of its rows.
  sql.lock =
      absl::StrCat("SELECT ", Each(layout, map.key, ", ", Read), ", ", SqlName(table.moved.version),
                   " FROM ", name, " FORCE INDEX (PRIMARY) WHERE ");
  sql.lock_tombstones = absl::StrCat(
      " SELECT STRAIGHT_JOIN t.pk, t.version FROM keys_read k JOIN locus_tombstone t FORCE INDEX"
      " (PRIMARY) ON t.bucket = k.bucket AND t.pk = k.pk WHERE t.tbl = ",
      quoted, " FOR UPDATE");
  sql.raise_post =
      "UPDATE locus_tombstone SET version = GREATEST(version, ?) WHERE bucket = ? AND tbl = '' AND"
      " pk = ''";
  sql.insert = absl::StrCat("INSERT INTO ", name, " (", Each(layout, map.key, ", ", NameOf), ", ",
                            Each(layout, map.others, ", ", NameOf), ") VALUES (",
                            Each(layout, map.key, ", ", Mark), ", ",
                            Each(layout, map.others, ", ", Mark), ")");
  sql.update =
      absl::StrCat("UPDATE ", name, " SET ", Each(layout, map.others, ", ", Assign), by_key);
  sql.remove = absl::StrCat("DELETE FROM ", name, by_key);
  sql.same = absl::StrCat("SELECT 1 FROM ", name, " WHERE ",
                          Each(layout, map.others, " AND ", Equals), " AND ", condition);
  sql.put_tombstone = absl::StrCat(
      "INSERT INTO locus_tombstone (bucket, tbl, pk, version, gene, cohort) VALUES (?, ", quoted,
      ", ?, ?, ?, ?) ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))");
  return sql;
}

}  // namespace locus::internal
