// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_CHECKED_TABLE_H_
#define LOCUS_MIGRATION_VERIFY_CHECKED_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/table_column.h"

// How a table of two shards is compared: which columns, in which form, and along which key both are
// read.

namespace locus::internal {

// A table as one shard has it, from information_schema.
struct SchemaIndex {
  std::string name;
  std::vector<std::string> columns;  // in order
  bool prefixes = false;             // some column is indexed only by its first characters
};
struct TableSchema {
  std::vector<SchemaColumn> columns;
  std::vector<SchemaIndex> indexes;
};

// A column that is compared, in a form that differs exactly where the stored values differ.
struct CheckedColumn {
  enum class Form {
    kText,       // as the server prints it; the text has no comma
    kPrinted,    // likewise, of types that a text does not mix with: UUID, INET4, INET6
    kNumber,     // a number in the place of a name: ENUM, SET, BIT; without leading zeros
    kReal,       // FLOAT, DOUBLE: all digits
    kBytes,      // text and bytes, with their length before them
    kLongBytes,  // those of more than kMostBytesInLine: their hash
  };
  // A row's short values are put in one line, which max_allowed_packet limits.
  static constexpr uint64_t kMostBytesInLine = 1024;

  std::string name;
  Form form = Form::kText;
  bool nullable = false;

  friend bool operator==(const CheckedColumn&, const CheckedColumn&) = default;
};

// A column of the key that the table is read along.
struct WalkColumn {
  std::string name;
  enum class Form {
    kBytes,  // and text
    kInteger,
    kNumber,   // DECIMAL, as the server prints it
    kPrinted,  // dates and times, likewise
    kMembers,  // ENUM, SET, BIT: by their numbers
    kInstant,  // TIMESTAMP, as the KeyText of its instant
  };
  Form form = Form::kBytes;
  std::string charset;  // of text; empty: bytes

  friend bool operator==(const WalkColumn&, const WalkColumn&) = default;
};

struct CheckedTable {
  MovedTable moved;                    // with the primary key that the shards have
  std::vector<CheckedColumn> columns;  // by name: the shards may have another order
  // The table is read along these, ascending: the primary key, or the column that says where a row
  // belongs and then the primary key.
  std::vector<WalkColumn> walk;
  std::vector<size_t> key_in_walk;  // where the columns of the primary key are in `walk`
  // Whether the walk begins with the column that says where a row belongs, so that the rows of a
  // range of vnodes lie together. Otherwise rows of other vnodes lie between them.
  bool by_vnode = false;
  std::array<std::string, 2> index;  // that serves the walk: on the source, on the target
};

// Whether order IDs are numbers or bytes is taken from their column, not from `moved`.
// FAILED_PRECONDITION, naming the table and the column: the shards have different columns or types,
// the primary key is another one, or has columns that do not compare by bytes, or a column has a
// type that moves do not know. `moved.primary_key` may be empty: it is the one that both have.
absl::StatusOr<CheckedTable> CheckTable(const MovedTable& moved, const TableSchema& source,
                                        const TableSchema& target);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_VERIFY_CHECKED_TABLE_H_
