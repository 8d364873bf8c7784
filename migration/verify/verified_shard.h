// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_VERIFIED_SHARD_H_
#define LOCUS_MIGRATION_VERIFY_VERIFIED_SHARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "migration/cut_over/version_rule.h"
#include "migration/verify/checked_table.h"
#include "migration/verify/row_difference.h"
#include "migration/verify/verify_sql.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

struct SliceChecksum {
  uint64_t rows = 0;
  uint64_t checksum = 0;

  friend bool operator==(const SliceChecksum&, const SliceChecksum&) = default;
};

struct HashedRow {
  internal::CopyKey key;  // primary key
  uint64_t version = 0;
  std::string hash;
};

// A row, a tombstone, or nothing.
struct SeenRow {
  internal::RowState state{0, true};
  std::vector<std::optional<internal::SeenValue>> values;  // of CheckedTable::columns
};

// One of the two shards that RowVerifier compares: a session that changes nothing. Every statement
// ends within the options' timeout, also on the server. Thread safety: none.
class VerifiedShard {
 public:
  // `side`: 0 the source, 1 the target.
  static absl::StatusOr<std::unique_ptr<VerifiedShard>> Open(const MysqlOptions& options,
                                                             size_t side,
                                                             std::vector<FencedRange> ranges);

  // FAILED_PRECONDITION: the shard has no such table.
  absl::StatusOr<internal::TableSchema> ReadSchema(const std::string& table);
  // nullopt: the slice has fewer rows (SelectBound).
  absl::StatusOr<std::optional<internal::CopyKey>> Bound(const internal::CheckedTable& table,
                                                         const internal::Slice& slice,
                                                         uint64_t rows);
  // FAILED_PRECONDITION: a row has no checksum.
  absl::StatusOr<SliceChecksum> Checksum(const internal::CheckedTable& table,
                                         const internal::Slice& slice, uint64_t most);
  absl::StatusOr<std::vector<HashedRow>> Hashes(const internal::CheckedTable& table,
                                                const internal::Slice& slice, uint64_t most);
  // The state of each of the keys, in their order. A row that is not there is looked for among the
  // tombstones afterwards: the other way round, one that is deleted in between has neither.
  absl::StatusOr<std::vector<SeenRow>> Look(const internal::CheckedTable& table,
                                            std::span<const internal::CopyKey> keys,
                                            bool with_values);
  // Locks the row with this key until LetGo, which must follow in any case. False: it could not be
  // locked within `patience`, or there is none. A process that dies keeps it for some seconds.
  absl::StatusOr<bool> Keep(const internal::CheckedTable& table, const internal::CopyKey& key,
                            absl::Duration patience);
  absl::Status LetGo();

  size_t side() const { return side_; }
  const std::string& place() const { return place_; }

 private:
  VerifiedShard(Handle handle, std::string place, size_t side, std::vector<FencedRange> ranges,
                absl::Duration timeout)
      : handle_(std::move(handle)),
        place_(std::move(place)),
        side_(side),
        ranges_(std::move(ranges)),
        timeout_(timeout) {}

  absl::Status SetUp();
  absl::StatusOr<Result> Ask(const std::string& statement, const Shape& shape);
  absl::StatusOr<uint64_t> NaturalIn(const Result::Row& row, size_t column) const;
  absl::StatusOr<stream::Value> PartIn(const Result::Row& row, size_t column,
                                       const internal::WalkColumn& walk) const;
  absl::Status TooLong(const internal::CheckedTable& table, uint64_t rows);
  absl::Status FindTombstones(const internal::CheckedTable& table,
                              const std::map<std::string, size_t>& keys, std::vector<SeenRow>& out);

  Handle handle_;
  const std::string place_;
  const size_t side_;
  const std::vector<FencedRange> ranges_;
  const absl::Duration timeout_;
  bool has_tombstones_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_VERIFY_VERIFIED_SHARD_H_
