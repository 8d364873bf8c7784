// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_ROW_SQL_H_
#define LOCUS_MIGRATION_APPLY_ROW_SQL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/table_column.h"
#include "migration/stream/change.h"

namespace locus::internal {

// A moved table as the shard has it that rows are written to.
struct TargetTable {
  MovedTable moved;
  std::vector<std::string> writable;   // columns, in order: all but generated ones
  std::vector<std::string> generated;  // which the target computes itself
  // Of columns of text, not of bytes.
  struct Text {
    std::string charset;
    std::string collation;
  };
  std::map<std::string, Text> text;
};

// Where in a row of `layout` the target's columns are. Made once for each layout of the log.
struct RowMap {
  std::vector<uint32_t> key;                // of moved.primary_key, in its order
  std::vector<stream::Column> key_columns;  // likewise: how their values are printed
  std::vector<uint32_t> others;  // of the writable columns that are not in the key, the version too
  uint32_t version = 0;
  // Those by which the guard knows the order: order_id, or gene and cohort.
  uint32_t order_id = 0;
  uint32_t gene = 0;
  uint32_t cohort = 0;
};
// FAILED_PRECONDITION, naming the column: the two tables differ, a column is missing, or one of the
// primary key is of no IsKeyKind.
absl::StatusOr<RowMap> MapRow(const stream::TableLayout& layout, const TargetTable& table);

// The column pk of a row's tombstone, as the version triggers write it.
std::string TombstoneKey(const stream::Row& row, const RowMap& map);
// The vnode of the row as the guards compute it, also where the column holds no order ID. nullopt:
// it is NULL, or no vnode.
std::optional<uint32_t> GeneIn(const stream::Row& row, const RowMap& map,
                               const GuardedTable& guard);
// Where the row's order belongs. DATA_LOSS: its columns hold no order ID, or no gene and cohort.
struct OrderPlace {
  uint32_t gene = 0;
  uint32_t cohort = 0;
};
absl::StatusOr<OrderPlace> PlaceOf(const stream::Row& row, const RowMap& map,
                                   const GuardedTable& guard);
// DATA_LOSS: the column is NULL or negative.
absl::StatusOr<uint64_t> VersionIn(const stream::Row& row, const RowMap& map);

// Statements with parameters. Rows are found by their primary key alone.
struct RowSql {
  std::string insert;         // the key, the others
  std::string update;         // the others, the key
  std::string remove;         // the key
  std::string same;           // the others, the key -> 1: a row with exactly these values
  std::string raise_post;     // version, bucket
  std::string put_tombstone;  // bucket, pk, version, gene and cohort; its post is raised first

  // So many keys -> the key and the version of each row that is there, locked.
  std::string Lock(size_t keys) const;
  // Each "(bucket, pk)" as literals -> pk and version of each tombstone that is there, locked.
  std::string LockTombstones(std::string_view keys) const;

  // The parts of these two.
  std::string lock, lock_tombstones;
  std::string key_column, key_mark;  // of a key of one column, otherwise empty
  std::string key_condition;
};
RowSql SqlOf(const TargetTable& table, const stream::TableLayout& layout, const RowMap& map);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_ROW_SQL_H_
