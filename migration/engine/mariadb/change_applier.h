// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_CHANGE_APPLIER_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_CHANGE_APPLIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mariadb.h"
#include "locus/migration/moved_table.h"
#include "migration/apply/row_sql.h"
#include "migration/cut_over/handover.h"
#include "migration/engine/mariadb/bound_statement.h"
#include "migration/stream/change_transaction.h"
#include "migration/stream/gtid.h"

namespace locus::mariadb {

// What the stream of one shard brings to the other.
struct ApplierOptions {
  // The shard that is written to, by an account that its guards let pass.
  MariadbOptions server;
  std::vector<MovedTable> tables;
  // The move's name, 1 to 64 bytes, and which way this stream goes.
  std::string move;
  internal::Side recipient = internal::Side::kTarget;
  // The vnodes that move: their row of locus_fence is the one of `first`.
  uint32_t first = 0;
  uint32_t last = 0;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// What has been done since the applier was opened.
struct ApplierCounts {
  uint64_t transactions = 0;  // of the stream
  uint64_t own = 0;           // of them, what the peer's applier or copier wrote: dropped
  uint64_t written = 0;       // rows
  uint64_t skipped = 0;       // rows that were there already, or newer
  uint64_t taken_over = 0;    // tokens that made this shard accept a band
};

// Applies transactions of one shard's binary log to the other shard, each in one transaction with
// the checkpoint, so that after a crash the stream goes on where it stopped. A row is written if
// its version is higher than what is there, be it a row or a tombstone.
//
// Errors: FAILED_PRECONDITION: a table was changed (DDL), the tables of the two shards differ, or a
// row and its fence say what the protocol never does. DATA_LOSS: two different rows have one
// version, or an UPDATE did not raise it: something wrote past the guards. Both: stop, nothing was
// applied. UNAVAILABLE: the shard does not answer; open another applier and go on at its position.
// Thread safety: none.
class ChangeApplier {
 public:
  // Makes the tables of checkpoints and tombstones where they are missing. `start`: where the
  // stream goes on if the move has no checkpoint on this shard.
  static absl::StatusOr<std::unique_ptr<ChangeApplier>> Open(const ApplierOptions& options,
                                                             const stream::GtidPosition& start);

  // Behind the last transaction that was applied, by this applier or one before it.
  const stream::GtidPosition& position() const { return position_; }
  const ApplierCounts& counts() const { return counts_; }

  // The tables whose rows it needs: for stream::TransactionAssembler::Options::wanted, together
  // with the database of the shard that is read.
  bool Wants(std::string_view table) const;

  // How far the copy of a table has come: what ApplyCopied was last given; empty: not begun.
  absl::StatusOr<std::string> CopyPosition(const std::string& table);
  // Rows that were read from the other shard, by the same rule, and the position behind them.
  absl::Status ApplyCopied(const std::string& table,
                           const std::shared_ptr<const stream::TableLayout>& layout,
                           const std::vector<stream::Row>& rows, const std::string& position);

  // Whole, or not at all. Repeats what lost against another transaction of the shard.
  absl::Status Apply(stream::ChangeTransaction& transaction);

 private:
  struct Table {
    internal::TargetTable target;
    // The layout that the statements were made for; another one makes them anew.
    std::shared_ptr<const stream::TableLayout> layout;
    internal::RowMap map;
    std::map<std::string, std::unique_ptr<BoundStatement>> statements;  // by text
    internal::RowSql sql;
  };

  ChangeApplier(const ApplierOptions& options, Handle handle, std::string place);
  absl::Status SetUp(const stream::GtidPosition& start);
  absl::Status ReadTable(const MovedTable& moved);
  absl::Status Run(const std::string& statement);

  // Runs `work` as a transaction, again where it lost against another one; `undo` before each.
  template <typename Undo, typename Work>
  absl::Status Transact(Undo undo, Work work);
  absl::Status ApplyOnce(stream::ChangeTransaction& transaction, ApplierCounts& counts);
  absl::Status CopyOnce(Table& table, const std::shared_ptr<const stream::TableLayout>& layout,
                        const std::vector<stream::Row>& rows, const std::string& position,
                        ApplierCounts& counts);
  absl::Status ApplyChange(const stream::Change& change, ApplierCounts& counts);
  absl::Status ApplyRow(Table& table, const stream::Change& change, ApplierCounts& counts);
  absl::Status WriteRow(Table& table, const stream::Row& row, bool deleted, uint64_t version,
                        bool there);
  absl::Status ApplyFence(const stream::Change& change, ApplierCounts& counts);
  absl::Status RefuseSchemaChange(const stream::Change& change) const;
  absl::Status SaveCheckpoint(const stream::GtidPosition& position);
  absl::Status MapTable(Table& table, const std::shared_ptr<const stream::TableLayout>& layout);
  absl::StatusOr<BoundStatement*> Statement(Table& table, const std::string& text);

  const ApplierOptions options_;
  Handle handle_;
  const std::string place_;
  std::map<std::string, Table, std::less<>> tables_;
  stream::GtidPosition position_;
  ApplierCounts counts_;
  bool conflict_ = false;  // the last statement lost against another transaction
};

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_CHANGE_APPLIER_H_
