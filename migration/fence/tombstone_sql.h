// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_TOMBSTONE_SQL_H_
#define LOCUS_MIGRATION_FENCE_TOMBSTONE_SQL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "locus/migration/moved_table.h"

// The table locus_tombstone. Keys are spread over buckets. Each bucket begins with its post, a row
// that is always there (tbl and pk are empty) and has at least the version of every tombstone of
// the bucket. An INSERT reads the post with a lock, by its exact key: it locks no gap, and most
// INSERTs need no more. A deletion raises the post before it writes the tombstone. So an INSERT
// that found the post low is before the deletion, and the deletion waits for it. The gaps that a
// locking read of a missing tombstone locks end at the posts on both sides.

namespace locus::internal {

inline constexpr uint32_t kTombstoneBuckets = 65536;

// The bucket of a tombstone's pk, and the same of an SQL expression.
uint32_t TombstoneBucket(std::string_view pk);
std::string BucketExpression(std::string_view pk);

struct TombstoneId {
  uint32_t bucket = 0;
  std::string table, pk;

  friend auto operator<=>(const TombstoneId&, const TombstoneId&) = default;
};

// The condition of one row, by the whole primary key: only that row is locked.
std::string TombstoneIs(const TombstoneId& id);

// bucket, tbl, pk, version, gene and cohort of so many rows behind `behind` in the order of the
// primary key, posts among them (IsPost). nullopt: from the beginning.
std::string SelectTombstonesBehind(const std::optional<TombstoneId>& behind, size_t most);
inline bool IsPost(const TombstoneId& id) { return id.table.empty(); }

std::string DeleteTombstones(std::span<const TombstoneId> ids);

// Raises the posts of these buckets to `version`, if they are lower.
std::string RaisePosts(std::span<const uint32_t> buckets, uint64_t version);

// How many posts there are; they belong into the table while it is of this form.
extern const char kCountPosts[];
// One row where the table is there and was made by a version of locus that had no posts.
extern const char kFindOldTombstones[];
// Why that is an error, and what to do.
extern const char kOldTombstones[];

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_TOMBSTONE_SQL_H_
