// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_CHANGE_TRANSACTION_H_
#define LOCUS_MIGRATION_STREAM_CHANGE_TRANSACTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/stream/byte_reader.h"
#include "migration/stream/change.h"
#include "migration/stream/event.h"
#include "migration/stream/event_spool.h"
#include "migration/stream/gtid.h"
#include "migration/stream/stream_position.h"

namespace locus::stream {

// A place in a server's binary log.
struct LogPosition {
  LogFile file;
  uint64_t offset = 0;
};

// One committed transaction of the log, one part of an XA transaction, or one statement that is not
// part of any. It holds its events, in memory or in a file, and decodes rows when they are asked
// for. Thread safety: none; independent of the reader that it came from.
class ChangeTransaction {
 public:
  const Gtid& gtid() const { return gtid_.gtid; }
  // Behind its commit.
  const LogPosition& end() const { return end_; }
  // kPrepare: its rows will be committed or rolled back later. kEnd: they were. It has no rows, and
  // does not show which of the two happened.
  XaPart xa() const { return gtid_.xa; }
  const Xid& xid() const { return gtid_.xid; }
  // When it began, in seconds since 1970, by the clock of the server that wrote it first.
  uint32_t timestamp() const { return timestamp_; }
  // Whether all of its tables can roll back.
  bool transactional() const { return gtid_.transactional; }
  // Of its events, as stored.
  uint64_t bytes() const { return spool_.bytes(); }
  bool spilt() const { return spool_.spilt(); }
  // No rows of wanted tables and no statements: only its GTID counts.
  bool empty() const { return spool_.records() == 0; }
  // Whether it may have rows of a wanted table of this name, in any database. Decodes nothing.
  bool Names(std::string_view table) const;
  // Whether one of its changes is a statement (ChangeKind::kStatement).
  bool has_statement() const { return has_statement_; }

  // Puts the next change, in the log's order, in `change`, which keeps its memory from call to call
  // and may be reused; false at the end. DATA_LOSS: an event's rows are malformed, or its file was
  // damaged; the transaction gives nothing else.
  absl::StatusOr<bool> Next(Change& change);
  // The next Next gives the first change.
  absl::Status Rewind();

 private:
  friend class TransactionAssembler;
  explicit ChangeTransaction(EventSpool::Options options) : spool_(std::move(options)) {}

  // The kind of a record of the spool, by its first byte.
  enum Record : char { kTable = 't', kEvent = 'e', kStatement = 'q', kStatementEnd = 's' };

  // The table that rows events name by `id` until the end of the statement.
  absl::Status AppendTable(uint64_t id, uint32_t layout);
  absl::Status AppendEvent(std::string_view bytes);
  absl::Status AppendStatement(const Statement& statement);
  // The end of a statement: its tables are forgotten.
  absl::Status AppendStatementEnd();

  absl::StatusOr<bool> TakeNext(Change& change);
  absl::Status Damaged() const;
  // A record that is none of the server's events, with a checksum; `rest` of it, without both.
  absl::Status AppendOwn(std::string record);
  static bool HasChecksum(std::string_view record, std::string_view& rest);

  absl::StatusOr<bool> NextRow(Change& change);
  // Takes up the next record; `found`: it is a change by itself. False: there is none.
  absl::StatusOr<bool> NextRecord(Change& change, bool& found);
  absl::Status OpenEvent(std::string_view bytes);

  GtidEvent gtid_;
  uint32_t timestamp_ = 0;
  LogPosition end_;
  EventSpool spool_;
  std::vector<std::shared_ptr<const TableLayout>> layouts_;
  bool has_statement_ = false;

  // The place of reading: rows_ of the event that the spool gave last.
  std::map<uint64_t, uint32_t> tables_;  // the statement's, by id
  ByteReader rows_{{}};
  ChangeKind rows_kind_ = ChangeKind::kInsert;
  std::shared_ptr<const TableLayout> rows_table_;
  absl::Status failed_;
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_CHANGE_TRANSACTION_H_
