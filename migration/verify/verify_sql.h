// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_VERIFY_SQL_H_
#define LOCUS_MIGRATION_VERIFY_VERIFY_SQL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "locus/migration/fence.h"
#include "migration/apply/copy_sql.h"
#include "migration/verify/checked_table.h"

// The statements of a comparison. `side`: 0 the source, 1 the target; they differ in the index that
// they use. The session has the binary character set and the zone +00:00.

namespace locus::internal {

// Rows of the moved vnodes, along the walk of the table.
struct Slice {
  size_t zone = 0;                // of ZonesOf
  std::optional<CopyKey> behind;  // the rows behind this key; nullopt: from the zone's first
  std::optional<CopyKey> up_to;   // to this key, included; nullopt: to the zone's last
};

// The zones that are divided into slices: each of the ranges, or where rows of other vnodes lie
// between (not by_vnode) the whole table at once. `ranges` are ascending.
size_t ZonesOf(const CheckedTable& table, std::span<const FencedRange> ranges);

// The key of the row number `rows` of the slice, counted from 1; no row: the slice has fewer.
// Without the filter for moved vnodes where rows of others lie between: it bounds what is read.
std::string SelectBound(const CheckedTable& table, std::span<const FencedRange> ranges,
                        const Slice& slice, size_t side, uint64_t rows);

// One row: how many rows the slice has, how many of them have a checksum, and the checksum of all:
// 64 bits, which do not depend on the order of the rows. At most `most` rows are read.
std::string SelectChecksum(const CheckedTable& table, std::span<const FencedRange> ranges,
                           const Slice& slice, size_t side, uint64_t most);

// Of each row: the walk's columns, the version, and the row's hash, which is NULL where the line of
// its values passed max_allowed_packet. At most `most` rows.
std::string SelectHashes(const CheckedTable& table, std::span<const FencedRange> ranges,
                         const Slice& slice, size_t side, uint64_t most);

// Of the rows that have these primary keys: the key's columns, the version, then of each compared
// column the length and the hash of its value (both NULL for NULL) and, `with_values`, its first
// kShownBytes bytes.
constexpr uint64_t kShownBytes = 256;
std::string SelectRows(const CheckedTable& table, std::span<const CopyKey> keys, bool with_values);

// Of the deleted rows among these: pk and version. `keys` as TombstoneKeyOf makes them.
std::string SelectTombstones(const CheckedTable& table, std::span<const std::string> keys);

// Of a primary key: the column pk of its tombstone.
std::string TombstoneKeyOf(const CopyKey& primary_key);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_VERIFY_VERIFY_SQL_H_
