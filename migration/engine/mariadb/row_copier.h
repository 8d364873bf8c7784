// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_ROW_COPIER_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_ROW_COPIER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mariadb.h"
#include "locus/migration/moved_table.h"
#include "migration/engine/mariadb/change_applier.h"

namespace locus::mariadb {

struct CopierOptions {
  // The shard that is read.
  MariadbOptions source;
  MovedTable table;
  // The vnodes that move.
  uint32_t first = 0;
  uint32_t last = 0;

  // Rows of one chunk, which is one transaction of the target: between these, so that a chunk takes
  // about `chunk_time`. Longer: fewer commits; clients wait longer for locks of copied rows.
  uint64_t least_rows = 16;
  uint64_t most_rows = 4096;
  absl::Duration chunk_time = absl::Milliseconds(100);

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Copies the rows of moved vnodes, in the order of their primary key, chunk by chunk. The rows are
// written by the version rule, so the copy and the change stream do not disturb each other, as long
// as the stream begins before the first chunk was read. It goes on where it stopped: each chunk's
// end is stored with its rows.
//
// Errors as those of ChangeApplier. Thread safety: none.
class RowCopier {
 public:
  // `target` outlives it, and has the table.
  static absl::StatusOr<std::unique_ptr<RowCopier>> Open(const CopierOptions& options,
                                                         ChangeApplier& target);
  ~RowCopier();

  // Copies the next chunk; false: there was none left.
  absl::StatusOr<bool> CopyChunk();

  uint64_t rows() const { return rows_; }              // read, since Open
  uint64_t chunk_rows() const { return chunk_rows_; }  // of the next chunk

 private:
  class Reader;

  RowCopier(const CopierOptions& options, ChangeApplier& target);

  const CopierOptions options_;
  ChangeApplier& target_;
  std::unique_ptr<Reader> reader_;
  uint64_t rows_ = 0;
  uint64_t chunk_rows_;
  bool done_ = false;
};

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_ROW_COPIER_H_
