// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_COPY_SQL_H_
#define LOCUS_MIGRATION_APPLY_COPY_SQL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/moved_table.h"
#include "migration/stream/change.h"

namespace locus::internal {

// How far a copy has come: the primary key of the last row copied, a part for each column.
using CopyKey = std::vector<stream::Value>;

// "7,x6100": numbers and bytes, for the checkpoint. Empty: nothing has been copied.
std::string CopyKeyText(const CopyKey& key);
// DATA_LOSS: the text is no key of so many parts. nullopt: the empty text.
absl::StatusOr<std::optional<CopyKey>> CopyKeyIn(std::string_view text, size_t parts);

// The kind of a column by information_schema.COLUMNS.DATA_TYPE; FAILED_PRECONDITION: none known.
absl::StatusOr<stream::ColumnKind> KindOf(std::string_view data_type);

// SELECT of the next rows behind a key of `table`, in the order of the primary key. Parameters: the
// parts of the key, each as often as it stands there (see KeyParameters); none without `from_key`.
// An enumeration, a set and a BIT are read as numbers.
std::string SelectChunk(const MovedTable& table, const stream::TableLayout& layout, uint32_t first,
                        uint32_t last, bool from_key, uint64_t rows);
// (a, b) > (?, ?) is written out as a > ? OR a = ? AND b > ?, which uses the index: the indexes
// into the key of its parameters, in order.
std::vector<size_t> KeyParameters(size_t parts);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_COPY_SQL_H_
