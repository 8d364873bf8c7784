// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/verify_sql.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/tombstone_sql.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

using Form = CheckedColumn::Form;

// The value in its form, without length and NULL flag.
std::string ValueOf(const CheckedColumn& column) {
  const std::string name = SqlName(column.name);
  switch (column.form) {
    case Form::kPrinted:
      return absl::StrCat("CAST(", name, " AS CHAR)");
    case Form::kNumber:
      return absl::StrCat(name, " + 0");
    case Form::kReal:
      return absl::StrCat("CAST(", name, " AS DOUBLE)");
    case Form::kText:
    case Form::kBytes:
    case Form::kLongBytes:
      break;
  }
  return name;
}

// The part that the column adds to the line of its row: no two different rows make one line. A text
// without a comma ends at the comma; bytes have their length before them; a hash has 40 digits. A
// NULL is an N, which none of these begins with.
std::string PartOf(const CheckedColumn& column) {
  const std::string value = ValueOf(column);
  std::string part, end;
  switch (column.form) {
    case Form::kText:
    case Form::kPrinted:
    case Form::kNumber:
    case Form::kReal:
      part = value;
      end = ", ','";
      break;
    case Form::kBytes:
      part = absl::StrCat("OCTET_LENGTH(", value, "), ':', ", value);
      // A CONCAT that passes max_allowed_packet is NULL, and must not look like a value of NULL.
      if (column.nullable) part = absl::StrCat("CONCAT(", part, ")");
      break;
    case Form::kLongBytes:
      part = absl::StrCat("SHA1(", value, ")");
      break;
  }
  if (!column.nullable) return part + end;
  return absl::StrCat("IF(", SqlName(column.name), " IS NULL, 'N', ", part, ")", end);
}

std::string RowHash(const CheckedTable& table) {
  return absl::StrCat(
      "SHA1(CONCAT(",
      absl::StrJoin(table.columns, ", ",
                    [](std::string* out, const CheckedColumn& column) { *out += PartOf(column); }),
      "))");
}

// Text in the character set of its column, so that the index serves.
std::string Literal(const stream::Value& value, const WalkColumn& column) {
  if (auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  if (auto* natural = std::get_if<uint64_t>(&value)) return absl::StrCat(*natural);
  auto* bytes = std::get_if<stream::Bytes>(&value);
  LOCUS_CHECK(bytes != nullptr);
  switch (column.form) {
    case WalkColumn::Form::kNumber:
      return bytes->bytes;
    case WalkColumn::Form::kPrinted:
      return SqlText(bytes->bytes);
    case WalkColumn::Form::kInstant: {
      const auto stamp = InstantIn(bytes->bytes);
      LOCUS_CHECK(stamp.has_value());
      return SqlInstant(*stamp);
    }
    case WalkColumn::Form::kMembers:
    case WalkColumn::Form::kInteger:
    case WalkColumn::Form::kBytes:
      break;
  }
  return absl::StrCat(column.charset.empty() ? "" : absl::StrCat("_", column.charset, " "), "X'",
                      HexOf(bytes->bytes), "'");
}

// The key (a, b) lies behind, or before, another one: a > 1 OR a = 1 AND b > 2, and besides a >= 1
// where there are several columns, which the index can begin with.
std::string Beyond(const CheckedTable& table, const CopyKey& key, char direction, bool or_equal) {
  LOCUS_CHECK(key.size() == table.walk.size());
  std::vector<std::string> ways;
  std::string equal;
  for (size_t i = 0; i < key.size(); ++i) {
    const std::string name = SqlName(table.walk[i].name);
    const std::string literal = Literal(key[i], table.walk[i]);
    const bool last = i + 1 == key.size();
    ways.push_back(absl::StrCat(equal, name, " ", std::string(1, direction),
                                last && or_equal ? "= " : " ", literal));
    absl::StrAppend(&equal, name, " = ", literal, " AND ");
  }
  if (ways.size() == 1) return ways[0];
  return absl::StrCat(SqlName(table.walk[0].name), " ", std::string(1, direction), "= ",
                      Literal(key[0], table.walk[0]), " AND (", absl::StrJoin(ways, " OR "), ")");
}

// The first three bytes of order IDs, of which the last 7 bits are of the sequence.
std::string FirstBytes(uint32_t vnode) {
  const uint32_t bits = vnode << 7;
  return absl::StrCat("X'",
                      HexOf(std::string({static_cast<char>(bits >> 16),
                                         static_cast<char>(bits >> 8), static_cast<char>(bits)})),
                      "'");
}

// The rows of vnodes of the range, by the column that the walk begins with.
std::string InRange(const GuardedTable& guard, const FencedRange& range) {
  const std::string id = SqlName(guard.order_id);
  switch (guard.key) {
    case GuardedTable::Key::kOrderIdNumber:
      return absl::StrCat(id, " BETWEEN ", uint64_t{range.lo} << 47, " AND ",
                          ((uint64_t{range.hi} + 1) << 47) - 1);
    case GuardedTable::Key::kOrderIdBytes:
      return absl::StrCat(id, " >= ", FirstBytes(range.lo), " AND ", id, " < ",
                          FirstBytes(range.hi + 1));
    case GuardedTable::Key::kGeneAndCohort:
      break;
  }
  return absl::StrCat(SqlName(guard.gene), " BETWEEN ", range.lo, " AND ", range.hi);
}

std::string InAnyRange(const GuardedTable& guard, std::span<const FencedRange> ranges) {
  const std::string gene = GeneExpression(guard, "");
  return absl::StrCat("(",
                      absl::StrJoin(ranges, " OR ",
                                    [&](std::string* out, const FencedRange& range) {
                                      absl::StrAppend(out, gene, " BETWEEN ", range.lo, " AND ",
                                                      range.hi);
                                    }),
                      ")");
}

// FROM and WHERE of the slice.
std::string From(const CheckedTable& table, std::span<const FencedRange> ranges, const Slice& slice,
                 size_t side, bool only_moved) {
  std::vector<std::string> conditions;
  if (table.by_vnode) {
    conditions.push_back(InRange(table.moved.guard, ranges[slice.zone]));
  } else if (only_moved) {
    conditions.push_back(InAnyRange(table.moved.guard, ranges));
  }
  if (slice.behind) conditions.push_back(Beyond(table, *slice.behind, '>', false));
  if (slice.up_to) conditions.push_back(Beyond(table, *slice.up_to, '<', true));
  return absl::StrCat(" FROM ", SqlName(table.moved.guard.name), " FORCE INDEX (",
                      SqlName(table.index[side]), ")", conditions.empty() ? "" : " WHERE ",
                      absl::StrJoin(conditions, " AND "));
}

std::string WalkNames(const CheckedTable& table) {
  return absl::StrJoin(table.walk, ", ", [](std::string* out, const WalkColumn& column) {
    *out += SqlName(column.name);
  });
}

// As PartIn reads it.
std::string ReadForm(const WalkColumn& column) {
  const std::string name = SqlName(column.name);
  switch (column.form) {
    case WalkColumn::Form::kMembers:
      return name + " | 0";
    case WalkColumn::Form::kInstant:
      return KeyTextExpression(KeyForm::kInstant, name);
    default:
      return name;
  }
}

std::string WalkValues(const CheckedTable& table) {
  return absl::StrJoin(table.walk, ", ", [](std::string* out, const WalkColumn& column) {
    *out += ReadForm(column);
  });
}

}  // namespace

size_t ZonesOf(const CheckedTable& table, std::span<const FencedRange> ranges) {
  return table.by_vnode ? ranges.size() : 1;
}

std::string SelectBound(const CheckedTable& table, std::span<const FencedRange> ranges,
                        const Slice& slice, size_t side, uint64_t rows) {
  return absl::StrCat("SELECT ", WalkValues(table), From(table, ranges, slice, side, false),
                      " ORDER BY ", WalkNames(table), " LIMIT 1 OFFSET ", rows - 1);
}

std::string SelectChecksum(const CheckedTable& table, std::span<const FencedRange> ranges,
                           const Slice& slice, size_t side, uint64_t most) {
  // Exclusive or: rows have different keys, so no two hashes cancel out. The LIMIT also makes the
  // server compute each hash once, into a temporary table, and not once for each use.
  return absl::StrCat(
      "SELECT COUNT(*), COUNT(h), BIT_XOR(CRC32(LEFT(h, 20)) << 32 | CRC32(SUBSTR(h, 21))) FROM"
      " (SELECT ",
      RowHash(table), " AS h", From(table, ranges, slice, side, true), " LIMIT ", most,
      ") AS slice");
}

std::string SelectHashes(const CheckedTable& table, std::span<const FencedRange> ranges,
                         const Slice& slice, size_t side, uint64_t most) {
  return absl::StrCat("SELECT ", WalkValues(table), ", ", SqlName(table.moved.version), ", ",
                      RowHash(table), From(table, ranges, slice, side, true), " LIMIT ", most);
}

std::string SelectRows(const CheckedTable& table, std::span<const CopyKey> keys, bool with_values) {
  std::vector<std::string> columns, rows;
  for (size_t i : table.key_in_walk) columns.push_back(ReadForm(table.walk[i]));
  columns.push_back(SqlName(table.moved.version));
  for (const CheckedColumn& column : table.columns) {
    const std::string value = ValueOf(column);
    columns.push_back(absl::StrCat("OCTET_LENGTH(", value, "), SHA1(", value, ")"));
    if (with_values) {
      columns.push_back(absl::StrCat("LEFT(CAST(", value, " AS BINARY), ", kShownBytes, ")"));
    }
  }
  for (const CopyKey& key : keys) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < key.size(); ++i) {
      const WalkColumn& column = table.walk[table.key_in_walk[i]];
      parts.push_back(absl::StrCat(SqlName(column.name), " = ", Literal(key[i], column)));
    }
    rows.push_back(absl::StrJoin(parts, " AND "));
  }
  return absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM ",
                      SqlName(table.moved.guard.name), " FORCE INDEX (`PRIMARY`) WHERE ",
                      absl::StrJoin(rows, " OR "));
}

std::string SelectTombstones(const CheckedTable& table, std::span<const std::string> keys) {
  return absl::StrCat("SELECT pk, version FROM locus_tombstone FORCE INDEX (PRIMARY) WHERE ",
                      absl::StrJoin(keys, " OR ", [&](std::string* out, const std::string& key) {
                        *out += TombstoneIs({TombstoneBucket(key), table.moved.guard.name, key});
                      }));
}

std::string TombstoneKeyOf(const CopyKey& primary_key) {
  std::string key;
  for (const stream::Value& part : primary_key) {
    auto* bytes = std::get_if<stream::Bytes>(&part);
    const std::string text = bytes != nullptr ? bytes->bytes : Literal(part, {});
    absl::StrAppend(&key, text.size(), ":", text);
  }
  return key;
}

}  // namespace locus::internal
