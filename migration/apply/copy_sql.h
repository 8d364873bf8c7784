// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_COPY_SQL_H_
#define LOCUS_MIGRATION_APPLY_COPY_SQL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/table_column.h"
#include "migration/stream/change.h"

namespace locus::internal {

// How far a copy has come: the primary key of the last row copied, a part for each column.
using CopyKey = std::vector<stream::Value>;

// "7,x6100,d2026-11-28": numbers, bytes, dates and so on, for the checkpoint. Empty: nothing has
// been copied.
std::string CopyKeyText(const CopyKey& key);
// DATA_LOSS: the text is no key of so many parts. nullopt: the empty text.
absl::StatusOr<std::optional<CopyKey>> CopyKeyIn(std::string_view text, size_t parts);

// A column of a source's table, as information_schema has it, and an index's part.
struct CopyColumn {
  std::string name;
  stream::ColumnKind kind = stream::ColumnKind::kInteger;
  bool nullable = false;
  std::string charset, collation;  // of text; empty: numbers and bytes
  uint32_t bytes = 0;              // PrintedBytes of its type
};
struct IndexPart {
  std::string index;
  std::string column;
  bool prefix = false;  // of a value only its beginning is in the index
};

// Of UUID, INET4 and INET6, which the server prints where they are read, and takes as so many bytes
// where they are written; 0: any other type.
uint32_t PrintedBytes(std::string_view data_type);

// The order in which a table is copied.
struct CopyWalk {
  std::string index;
  // The order of the rows: the primary key, or the column that shows the vnode and then the rest of
  // the primary key. No two rows have one key.
  std::vector<std::string> key;
  // Whether the rows of a range of vnodes are a range of the index. Otherwise all rows of the table
  // are looked at.
  bool by_vnode = false;

  bool secondary() const { return index != "PRIMARY"; }
};
// By vnode if an index shows it, the primary key or another one. `parts`: of all indexes, in their
// order. `goes_on`: whether a copy stopped in the order of a secondary index; it continues in the
// order in which it began.
CopyWalk ChooseWalk(const MovedTable& table, const std::vector<CopyColumn>& columns,
                    const std::vector<IndexPart>& parts, std::optional<bool> goes_on);

// The part of a table that one SELECT reads. Parameters of each: the parts of `behind` if there is
// one, in the order and number of KeyParameters, then the same for `upto`.
struct ChunkSql {
  const MovedTable& table;
  const std::vector<CopyColumn>& columns;  // that are copied, in their order
  const CopyWalk& walk;
  // Only rows of these cohorts, from the first to below the second; nullopt: of all.
  std::optional<std::pair<uint32_t, uint32_t>> cohorts = std::nullopt;

  // The next rows of the ranges' vnodes in the order of the walk. An enumeration, a set and a BIT
  // are read as numbers. `upto`: only rows whose key is not behind another one.
  std::string Rows(const std::vector<FencedRange>& ranges, bool behind, bool upto,
                   uint64_t rows) const;
  // The key that is so many rows further on, counting rows of every vnode.
  std::string KeyAfter(bool behind, uint64_t rows) const;
  // EXPLAIN of all rows of the ranges.
  std::string Explain(const std::vector<FencedRange>& ranges) const;
};
// The rows of the vnodes as a condition. `by_order`: with what bounds an index on the order ID.
std::string RowsOf(const GuardedTable& guard, const FencedRange& vnodes, bool by_order);

// (a, b) > (?, ?) is written out as a > ? OR a = ? AND b > ?, which uses the index: the indexes
// into the key of its parameters, in order.
std::vector<size_t> KeyParameters(size_t parts);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_COPY_SQL_H_
