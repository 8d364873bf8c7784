// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_CHANGE_APPLIER_H_
#define LOCUS_MIGRATION_APPLY_CHANGE_APPLIER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/migration/moved_table.h"
#include "migration/apply/peer_bands.h"
#include "migration/apply/row_writer.h"
#include "migration/apply/schema_change.h"
#include "migration/cut_over/handover.h"
#include "migration/mysql/target_session.h"
#include "migration/stream/change_transaction.h"
#include "migration/stream/gtid.h"
#include "src/base/run/backoff.h"

// How rows reach the other shard. ChangeApplier takes ChangeTransactions of the stream, and rows
// that RowCopier read from the source. It gives both to its RowWriter, which folds the states of
// each row to the last one (NetEffect), compares versions (migration/cut_over/version_rule.h) and
// writes with the statements of RowSql. heeded_statements.cc judges statements of the log by
// schema_change.h, and fence_changes.h takes bands over when the other shard's fence gives them up.

namespace locus::mysql {

// Options of an applier, which brings the stream of one shard to the other.
struct ApplierOptions {
  // The shard that is written to, by an account that its guards let pass.
  MysqlOptions server;
  std::vector<MovedTable> tables;
  // The move's name, 1 to 64 bytes, and which way this stream goes.
  std::string move;
  internal::Side recipient = internal::Side::kTarget;
  // The vnodes that move: 1 to 1,024 ranges, ascending, apart. Each is a row of locus_fence on both
  // shards. Rows of other vnodes are skipped.
  std::vector<FencedRange> ranges;
  // The number of this run of the move, which TakeOverRun (marker_tables.h) has set on both shards.
  uint64_t run = 0;
  // The other shard's database: a statement that changes tables of another database of its server
  // stops nothing. Empty: tables of these names in any database are the move's.
  std::string peer_database;
  // The bands that the other shard accepted of each range at the position where the stream begins;
  // only read when the move has no checkpoint on this shard. Empty: as before the first step, where
  // the source accepts all cohorts and the target none.
  std::vector<internal::BandFence> peer;
  // Set by another thread: from then on a transaction that loses against another one is not
  // repeated. It outlives the applier. Null: such transactions are repeated for a minute.
  const std::atomic<bool>* stop = nullptr;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Counts since the applier was opened.
struct ApplierCounts {
  uint64_t transactions = 0;  // of the stream
  uint64_t own = 0;           // of them, what the peer's applier or copier wrote: dropped
  uint64_t written = 0;       // rows
  uint64_t skipped = 0;       // rows that were there already, or newer
  uint64_t taken_over = 0;    // tokens that made this shard accept a band, one for each range
  // Rows that the other shard wrote though it did not accept their cohort, or whose columns name no
  // order: something wrote past its guards. They are not applied.
  uint64_t rogue = 0;
  // Statements that dropped or changed triggers of the tables, or made some that are not ours: rows
  // may have been written past the guards behind them.
  uint64_t unguarded = 0;
  // The last ping that the stream has brought: `ping` of the move's row of locus_run on the other
  // shard.
  uint64_t ping = 0;
};

// Applies transactions of one shard's binary log to the other shard, in one transaction with the
// checkpoint, so that after a crash the stream continues where it stopped. A row is written if its
// version is higher than what is there, be it a row or a tombstone. A stream and a copy may run
// side by side, each with a ChangeApplier of its own.
//
// A position behind an XA PREPARE says that nothing of it moves, so its later COMMIT or ROLLBACK,
// which has no rows, is passed by, also by another applier. `start` must be one before which no XA
// transaction was prepared that may still change rows of the move.
//
// FAILED_PRECONDITION: a table was changed (DDL), an XA transaction was prepared with rows that
// move, the tables of the two shards differ, or a row and its fence contradict the protocol.
// DATA_LOSS: two different rows have one version, or an UPDATE did not raise it or changed the key:
// something wrote past the guards. Both: stop, nothing was applied. FAILED_PRECONDITION also:
// another run took over the move. UNAVAILABLE: the shard does not answer; open another applier and
// continue at its position. Thread safety: none.
class ChangeApplier {
 public:
  // Makes the tables of markers and tombstones where they are missing. `start`: where the stream
  // begins if the move has no checkpoint on this shard.
  static absl::StatusOr<std::unique_ptr<ChangeApplier>> Open(const ApplierOptions& options,
                                                             const stream::GtidPosition& start);

  // Behind the last transaction that was applied, by this applier or one before it.
  const stream::GtidPosition& position() const { return position_; }
  // Of the log that was read, which has that transaction; not known before the first one.
  const stream::LogFile& log_file() const { return file_; }
  const ApplierCounts& counts() const { return counts_; }
  // Describes the last of counts().rogue; empty: there was none.
  const std::string& rogue_text() const { return rogue_text_; }
  // The last of counts().unguarded; empty: there was none.
  const std::string& unguarded_text() const { return unguarded_text_; }

  // Of its session: the number, and the server's place.
  uint64_t session() const { return session_->session(); }
  const std::string& place() const { return session_->place(); }

  // The tables whose rows it needs: for stream::TransactionAssembler::Options::wanted, together
  // with the database of the shard that is read.
  bool Wants(std::string_view table) const;
  // Likewise the statements, for TransactionAssembler::Options::heeded: those that change tables or
  // triggers of the move, or rows of the tables it needs as text, and those not known.
  bool Heeds(const stream::Statement& statement) const;

  // Whether writers wait for this transaction, for the band that a token hands over, or a runner
  // for its ping. For BatchLimits::last.
  static bool Hurries(const stream::ChangeTransaction& transaction);

  // How far the copy of a table has come: the position of the last ApplyCopied. Empty: not begun;
  // the call then stores that.
  absl::StatusOr<std::string> CopyPosition(const std::string& table);
  // Rows that were read from the other shard, by the same rule, and the position behind them.
  // After CopyPosition.
  absl::Status ApplyCopied(const std::string& table,
                           const std::shared_ptr<const stream::TableLayout>& layout,
                           const std::vector<stream::Row>& rows, const std::string& position);

  // In their order, many of them in one transaction of the shard, each whole or not at all. Repeats
  // a transaction that lost against another one of the shard. After an error, which names the
  // transaction at fault, those up to position() have been applied.
  absl::Status Apply(std::span<stream::ChangeTransaction> transactions);
  absl::Status Apply(stream::ChangeTransaction& transaction) { return Apply({&transaction, 1}); }

  // All of them in one transaction of the shard, each row as it is behind the last of them. For
  // rows that copied rows block (IsUniqueConflict): copied rows are newer than the stream, which
  // brings the exchanged values further on.
  absl::Status ApplyTogether(std::span<stream::ChangeTransaction> transactions);
  // Whether the transaction is before position().
  bool Has(const stream::ChangeTransaction& transaction) const;

 private:
  // The changes of a transaction to this object, which count once it is committed.
  struct Attempt {
    ApplierCounts counts;  // without the rows
    RowWriter::Counts rows;
    internal::Bands bands;
    std::string rogue_text, unguarded_text;
    // The tokens by which the other shard gave up bands, by range.
    std::map<size_t, internal::BandFence> tokens;
    // The transaction of the stream is one of the other shard's tools.
    bool own = false;
  };

  ChangeApplier(const ApplierOptions& options, std::unique_ptr<TargetSession> session);
  absl::Status SetUp(const stream::GtidPosition& start);
  absl::Status MakeTombstones();
  absl::Status ReadCheckpoint();
  // Runs `insert`, of a marker row that is missing, if the move is this run's on the shard.
  absl::Status InsertMarker(const std::string& insert);
  // An UPDATE of a marker row of ours; FAILED_PRECONDITION: it is no longer ours.
  absl::Status RaiseMarker(const std::string& update);

  // Which transactions of the stream may share one transaction of the shard.
  enum class Kind {
    kRows,
    kLast,   // nothing behind it: a ping is to be seen at once
    kAlone,  // a token, which waits for writers of the shard; a change of a table; a large one
  };
  static Kind KindOf(const stream::ChangeTransaction& transaction);
  // How many of them, from the first on, become the next transaction of the shard; at least one.
  size_t GroupSize(std::span<stream::ChangeTransaction> transactions) const;
  // Goes past transactions in which nothing is to be applied, and leaves the checkpoint as it is
  // for a while; false: it is to be raised, or something is to be applied. The checkpoint's own
  // change is such a transaction of the stream back, so two idle streams would keep each other
  // busy.
  bool PassesBy(std::span<const stream::ChangeTransaction> transactions);
  absl::Status ApplyGroup(std::span<stream::ChangeTransaction> transactions);
  absl::Status ApplyOnce(std::span<stream::ChangeTransaction> transactions, Attempt& attempt);
  absl::Status ApplyChange(stream::Change& change, Attempt& attempt);
  absl::Status ApplyRow(RowWriter::Table& table, stream::Change& change, Attempt& attempt);
  // Refuses a change of a prepared XA transaction that the move would need.
  absl::Status PassPrepared(const stream::Change& change, const stream::Xid& xid, Attempt& attempt);
  absl::Status CheckUpdate(const RowWriter::Table& table, const stream::Change& change,
                           uint64_t version) const;
  absl::Status CopyOnce(RowWriter::Table& table,
                        const std::shared_ptr<const stream::TableLayout>& layout,
                        const std::vector<stream::Row>& rows, const std::string& position,
                        RowWriter::Source source, RowWriter::Counts& counts);
  absl::Status NotePing(const stream::Change& change, Attempt& attempt) const;
  // False: it is not to be tried again.
  bool Pause(internal::Backoff& pauses, std::chrono::steady_clock::time_point give_up) const;
  internal::StatementEffect EffectOf(const stream::Statement& statement) const;
  absl::Status JudgeStatement(const stream::Statement& statement, Attempt& attempt) const;

  const ApplierOptions options_;
  const std::unique_ptr<TargetSession> session_;
  RowWriter writer_;
  stream::GtidPosition position_;
  stream::LogFile file_;
  std::chrono::steady_clock::time_point raised_at_;  // the checkpoint, last
  ApplierCounts counts_;
  internal::Bands bands_;  // of the other shard, at position_
  std::string rogue_text_, unguarded_text_;
  // How many transactions of the stream become one of the shard: twice as many after each that
  // succeeds, a quarter after each that loses against another one.
  size_t batch_ = 1;
  // How many of the next transactions are applied one by one, change by change.
  size_t in_order_ = 0;
  bool together_ = false;       // ApplyTogether is under way
  bool copy_is_fresh_ = false;  // the last chunk had only rows that the shard had not
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_APPLY_CHANGE_APPLIER_H_
