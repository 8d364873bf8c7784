// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/preflight_rows.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::SqlName;
using internal::SqlText;
using preflight::Column;
using preflight::Key;

namespace {

constexpr size_t kMostValues = 1000;
constexpr size_t kValuesAtOnce = 200;

// Rows of the vnodes, by ranges that an index on the order ID serves.
std::string IsMoving(const GuardedTable& table, const std::vector<FencedRange>& ranges) {
  const std::string column =
      SqlName(table.key == GuardedTable::Key::kGeneAndCohort ? table.gene : table.order_id);
  std::vector<std::string> parts;
  for (const FencedRange& range : ranges) {
    const uint64_t lo = range.lo, end = uint64_t{range.hi} + 1;
    switch (table.key) {
      case GuardedTable::Key::kOrderIdNumber:
        parts.push_back(absl::StrCat(column, " BETWEEN ", lo << 47, " AND ", (end << 47) - 1));
        break;
      case GuardedTable::Key::kOrderIdBytes:
        // The gene is bits 22..7 of the first three bytes, in either width.
        parts.push_back(
            absl::StrFormat("(%s >= X'%06x' AND %s < X'%06x')", column, lo << 7, column, end << 7));
        break;
      case GuardedTable::Key::kGeneAndCohort:
        parts.push_back(absl::StrCat(column, " BETWEEN ", range.lo, " AND ", range.hi));
        break;
    }
  }
  return absl::StrCat("(", absl::StrJoin(parts, " OR "), ")");
}

bool Has(const std::vector<std::string>& columns, const std::string& name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

bool MayCollide(const MovedTable& moved, const Key& key) {
  if (key.name == "PRIMARY") return false;
  const GuardedTable& guard = moved.guard;
  if (guard.key != GuardedTable::Key::kGeneAndCohort && Has(key.columns, guard.order_id)) {
    return false;
  }
  return !std::all_of(moved.primary_key.begin(), moved.primary_key.end(),
                      [&](const std::string& name) { return Has(key.columns, name); });
}

const Column* Find(const preflight::Table& table, const std::string& name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

// A value, read as the bytes of its text, as a literal to compare the column with.
std::string Literal(const Column& column, const std::string& bytes) {
  if (!column.collation.empty()) return SqlText(bytes);
  const bool digits =
      !bytes.empty() && bytes.size() <= 20 &&
      std::all_of(bytes.begin() + (bytes[0] == '-' && bytes.size() > 1), bytes.end(),
                  [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (absl::StrContains(column.type, "int") && digits) return bytes;
  if (absl::StrContains(column.type, "binary") || absl::StrContains(column.type, "blob")) {
    return absl::StrCat("X'", internal::HexOf(bytes), "'");
  }
  return SqlText(bytes);
}

absl::StatusOr<preflight::Collision> Compare(const AskRows& source, const AskRows& target,
                                             const preflight::Facts& facts, const MovedTable& moved,
                                             const preflight::Table& table, const Key& key) {
  preflight::Collision collision{moved.guard.name, key.name};
  std::vector<std::string> names, values, not_null;
  std::vector<const Column*> columns;
  for (const std::string& name : key.columns) {
    names.push_back(SqlName(name));
    const Column* column = Find(table, name);
    if (column == nullptr) return collision;
    columns.push_back(column);
    // As utf8mb4, for every character set of the column.
    values.push_back(column->collation.empty() ? absl::StrCat("CAST(", names.back(), " AS BINARY)")
                                               : absl::StrCat("CAST(CONVERT(", names.back(),
                                                              " USING utf8mb4) AS BINARY)"));
    not_null.push_back(absl::StrCat(names.back(), " IS NOT NULL"));
  }
  LOCUS_ASSIGN_OR_RETURN(
      auto rows,
      source(absl::StrCat("SELECT ", absl::StrJoin(values, ", "), " FROM ",
                          SqlName(moved.guard.name), " WHERE ", IsMoving(moved.guard, facts.ranges),
                          " AND ", absl::StrJoin(not_null, " AND "), " LIMIT ", kMostValues),
             static_cast<unsigned>(columns.size())));
  collision.compared = rows.size();
  for (size_t begin = 0; begin < rows.size(); begin += kValuesAtOnce) {
    std::vector<std::string> wanted;
    for (size_t i = begin; i < std::min(rows.size(), begin + kValuesAtOnce); ++i) {
      std::vector<std::string> row;
      for (size_t c = 0; c < columns.size(); ++c) {
        row.push_back(absl::StrCat(names[c], " = ", Literal(*columns[c], rows[i][c].value_or(""))));
      }
      wanted.push_back(absl::StrCat("(", absl::StrJoin(row, " AND "), ")"));
    }
    LOCUS_ASSIGN_OR_RETURN(auto found,
                           target(absl::StrCat("SELECT COUNT(*) FROM ", SqlName(moved.guard.name),
                                               " WHERE ", absl::StrJoin(wanted, " OR ")),
                                  1));
    collision.found += internal::ParseDecimal(found[0][0].value_or(""), UINT64_MAX).value_or(0);
  }
  return collision;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindStrays(const AskRows& target,
                                                    const preflight::Facts& facts) {
  std::vector<std::string> strays;
  for (const MovedTable& moved : facts.tables) {
    if (!facts.target.schema->tables.contains(moved.guard.name)) continue;
    LOCUS_ASSIGN_OR_RETURN(
        auto rows, target(absl::StrCat("SELECT 1 FROM ", SqlName(moved.guard.name), " WHERE ",
                                       IsMoving(moved.guard, facts.ranges), " LIMIT 1"),
                          1));
    if (!rows.empty()) strays.push_back(moved.guard.name);
  }
  return strays;
}

absl::StatusOr<std::vector<preflight::Collision>> FindCollisions(const AskRows& source,
                                                                 const AskRows& target,
                                                                 const preflight::Facts& facts) {
  std::vector<preflight::Collision> collisions;
  for (const MovedTable& moved : facts.tables) {
    auto table = facts.source.schema->tables.find(moved.guard.name);
    if (table == facts.source.schema->tables.end() ||
        !facts.target.schema->tables.contains(moved.guard.name)) {
      continue;
    }
    for (const Key& key : table->second.keys) {
      if (!MayCollide(moved, key)) continue;
      LOCUS_ASSIGN_OR_RETURN(preflight::Collision collision,
                             Compare(source, target, facts, moved, table->second, key));
      collisions.push_back(std::move(collision));
    }
  }
  return collisions;
}

}  // namespace locus::mysql
