// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_TABLE_LAYOUT_H_
#define LOCUS_MIGRATION_STREAM_TABLE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "migration/stream/change.h"

namespace locus::stream {

// How a TABLE_MAP event begins. The views view the body.
struct TableName {
  uint64_t id = 0;  // what rows events name the table by
  std::string_view database;
  std::string_view table;
};
absl::StatusOr<TableName> ParseTableName(std::string_view body);

// Of a table with the widest columns that MariaDB allows; DATA_LOSS beyond them.
constexpr size_t kMostTableMapBytes = 4 << 20;
constexpr size_t kMostColumns = 4096;

// All of a TABLE_MAP event. FAILED_PRECONDITION: binlog_row_metadata is not FULL, or a column has a
// type whose rows do not say how long they are.
absl::StatusOr<TableLayout> ParseTableLayout(std::string_view body);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_TABLE_LAYOUT_H_
