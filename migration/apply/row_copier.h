// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_ROW_COPIER_H_
#define LOCUS_MIGRATION_APPLY_ROW_COPIER_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "locus/migration/moved_table.h"
#include "migration/apply/change_applier.h"
#include "migration/apply/copy_sql.h"

namespace locus::mysql {

struct CopierOptions {
  // The shard that is read.
  MysqlOptions source;
  MovedTable table;
  // The vnodes that move: 1 to 1,024 ranges, ascending, apart.
  std::vector<FencedRange> ranges;
  // Only rows of these cohorts, from the first to below the second; nullopt: all rows.
  std::optional<std::pair<uint32_t, uint32_t>> cohorts = std::nullopt;

  // Rows of one chunk, which is one transaction of the target: between these, so that a chunk takes
  // about `chunk_time`. Longer: fewer commits; clients wait longer for locks of copied rows.
  uint64_t least_rows = 16;
  uint64_t most_rows = 4096;
  absl::Duration chunk_time = absl::Milliseconds(100);
  // Asked before each chunk: how long to wait. Asked again after the wait, at the latest after a
  // second, until it returns zero. Empty: no waits.
  std::function<absl::Duration()> pause;
  // Called with each chunk between reading and writing it; the chunk is written if this returns OK.
  // Empty: at once.
  std::function<absl::Status()> before_write;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Copies the rows of moved vnodes, in the order of an index, chunk by chunk; a chunk may have rows
// of many ranges. Where an index begins with the column that shows the vnode (order_id, or the
// gene), rows of other vnodes are not read. While a chunk is written the next one is read, by a
// thread. The rows are written by the version rule, so the copy and the change stream do not
// disturb each other, as long as the stream begins before the first chunk was read. It continues
// where it stopped: each chunk's end is stored with its rows.
//
// Errors: as ChangeApplier. Thread safety: none.
class RowCopier {
 public:
  // `target` outlives it, and has the table.
  static absl::StatusOr<std::unique_ptr<RowCopier>> Open(const CopierOptions& options,
                                                         ChangeApplier& target);
  ~RowCopier();

  // How many rows there are to copy, those included that have been, by the source's statistics:
  // may be wrong by half. Without an index that shows the vnode: the rows of the whole table.
  absl::StatusOr<uint64_t> EstimateRows();

  // Copies the next chunk; false: there was none left. FAILED_PRECONDITION also: the copy stopped
  // in the order of an index that is gone.
  absl::StatusOr<bool> CopyChunk();

  uint64_t rows() const { return rows_; }              // read, since Open
  uint64_t chunk_rows() const { return chunk_rows_; }  // of the next chunk

 private:
  class Reader;

  RowCopier(const CopierOptions& options, ChangeApplier& target);

  // Where the copy has come to.
  struct Place {
    std::optional<internal::CopyKey> behind;
    size_t range = 0;   // in which of the ranges
    bool done = false;  // no row is behind it
  };
  struct Chunk {
    std::vector<stream::Row> rows;
    Place end;
    absl::Duration took;
  };

  absl::Status GoTo(const std::string& position);
  // nullopt: nothing is left behind the place.
  absl::StatusOr<std::optional<Chunk>> ReadBehind(Place from, uint64_t chunk_rows) const;
  absl::StatusOr<std::optional<Chunk>> ReadRanges(Place from, uint64_t chunk_rows) const;
  absl::StatusOr<std::optional<Chunk>> ReadAll(Place from, uint64_t chunk_rows) const;
  // The chunk that was read ahead, or else reads it now.
  absl::StatusOr<std::optional<Chunk>> NextChunk();

  const CopierOptions options_;
  ChangeApplier& target_;
  std::unique_ptr<Reader> reader_;

  uint64_t rows_ = 0;
  uint64_t chunk_rows_;
  Place place_;         // behind the last chunk that was written
  bool begun_ = false;  // place_ is known
  // The chunk behind the one that is being written. The last member: it ends before the reader.
  std::future<absl::StatusOr<std::optional<Chunk>>> ahead_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_APPLY_ROW_COPIER_H_
