// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_ROW_WRITER_H_
#define LOCUS_MIGRATION_APPLY_ROW_WRITER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/moved_table.h"
#include "migration/apply/net_effect.h"
#include "migration/apply/row_sql.h"
#include "migration/mysql/bound_statement.h"
#include "migration/mysql/bulk_statement.h"
#include "migration/mysql/target_session.h"

namespace locus::mysql {

// Whether an error is of a row whose unique value another row of the shard has.
bool IsUniqueConflict(const absl::Status& status);

// Writes rows of moved tables to a shard by the version rule, many at a time. The states of one row
// are folded to the last one. Rows and tombstones are locked in the order of their keys. Each kind
// of change is one round trip. Rows are found by their primary key alone.
//
// All of it happens in a transaction of the session, which the caller begins and ends. Thread
// safety: none.
class RowWriter {
 public:
  // Copied rows are older than what the stream brings, and a stream in another session may delete a
  // row while it is copied: so after its INSERTs the copy looks for tombstones again. kFreshCopy:
  // the rows are believed to be new, and are not looked up first; where one is not, the transaction
  // loses (TargetSession::conflict) and has to be repeated as kCopy.
  enum class Source { kStream, kCopy, kFreshCopy };

  struct Counts {
    uint64_t written = 0;  // states of rows, those included that were folded into a later one
    uint64_t skipped = 0;  // that were there already, or newer
  };

  // `session` outlives it.
  explicit RowWriter(TargetSession& session) : session_(session) {}

  // Parents before the children whose foreign keys name them. FAILED_PRECONDITION: the shard has no
  // such table.
  absl::Status AddTable(const MovedTable& moved);

  // A table of the shard, with the layout that its rows come in.
  class Table {
   public:
    const MovedTable& moved() const { return target_.moved; }
    const internal::RowMap& map() const { return map_; }

   private:
    friend class RowWriter;
    explicit Table(internal::TargetTable target) : target_(std::move(target)) {}

    const internal::TargetTable target_;
    internal::RowMap map_;
    internal::NetEffect effect_{map_};
    std::shared_ptr<const stream::TableLayout> layout_;
    internal::RowSql sql_;
    stream::TableLayout lock_layout_;  // of what sql_.Lock reads
    // By text.
    std::unordered_map<std::string, std::unique_ptr<BoundStatement>> selects_;
    std::unordered_map<std::string, std::unique_ptr<BulkStatement>> changes_;
    // The histories of effect_ that must be written.
    std::vector<const internal::RowHistory*> inserts_, updates_, removes_;
    // Rows that MakeRoom deleted, which Insert writes again.
    std::vector<const internal::RowHistory*> replaced_;
    // Keys of the rows that this transaction has deleted: a ROLLBACK brings them back.
    std::unordered_set<std::string> deleted_;
  };
  // nullptr: none of ours.
  Table* Find(std::string_view name) const;
  // Before Add. Writes what was added in another layout. FAILED_PRECONDITION: the tables of both
  // shards differ.
  absl::Status Use(Table& table, const std::shared_ptr<const stream::TableLayout>& layout,
                   Counts& counts);

  // A state of a row of the stream, or of the copy.
  void Add(Table& table, stream::Row row, internal::RowState state) {
    table.effect_.Add(std::move(row), state);
    ++pending_;
  }
  uint64_t pending() const { return pending_; }
  size_t pending_bytes() const;

  // Writes what was added. DATA_LOSS: two different rows have one version, or a unique key or a
  // foreign key is in the way; with order_matters() it may not be if the changes are made one by
  // one, as they came. After an error the transaction has to be rolled back, and Forget called.
  // `make_room`: rows that change are deleted and inserted, so that they may exchange unique
  // values.
  absl::Status Flush(Source source, Counts& counts, bool make_room = false);
  // After each transaction, however it ended.
  void Forget();
  bool order_matters() const { return order_matters_; }

 private:
  using Histories = std::vector<const internal::RowHistory*>;

  void Clear();
  absl::Status Judge(Table& table, Source source, Counts& counts);
  absl::StatusOr<std::unordered_map<std::string, uint64_t>> Versions(Table& table,
                                                                     const Histories& histories);
  absl::StatusOr<std::unordered_map<std::string, uint64_t>> Tombstones(Table& table,
                                                                       const Histories& histories);
  absl::StatusOr<bool> IsSame(Table& table, const stream::Row& row);
  absl::Status MakeRoom(Table& table);
  absl::Status Insert(Table& table);
  // After an INSERT met a key that is there already: whether another session has brought one of
  // the rows since Judge looked. Rolls the transaction back.
  absl::StatusOr<bool> CameMeanwhile(Table& table);
  absl::Status Update(Table& table);
  // Runs `text` with the values of each row in the order of `columns`; Send: as the session is.
  absl::Status Write(Table& table, const std::string& text, const Histories& histories,
                     const std::vector<uint32_t>& columns);
  absl::Status Send(Table& table, const std::string& text, const Histories& histories,
                    const std::vector<uint32_t>& columns);
  absl::Status Remove(Table& table);
  absl::Status CheckTombstones(Table& table);
  absl::StatusOr<BoundStatement*> Select(Table& table, const std::string& text);
  absl::StatusOr<BulkStatement*> Change(Table& table, const std::string& text);
  absl::Status Execute(Table& table, BulkStatement& statement);

  TargetSession& session_;
  std::vector<std::unique_ptr<Table>> tables_;  // in the order in which they were added
  uint64_t pending_ = 0;
  bool order_matters_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_APPLY_ROW_WRITER_H_
