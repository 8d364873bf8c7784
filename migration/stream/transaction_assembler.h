// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_TRANSACTION_ASSEMBLER_H_
#define LOCUS_MIGRATION_STREAM_TRANSACTION_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/stream/change_transaction.h"
#include "migration/stream/event.h"
#include "migration/stream/event_spool.h"
#include "migration/stream/gtid.h"

// How bytes of a binary log become changes. TransactionAssembler takes whole events, which event.h
// decodes, checks their order, and collects those of one transaction in an EventSpool. TableLayout
// describes a table's columns. The ChangeTransaction that comes out decodes its rows with
// RowDecoder only when Next asks for them; Statement parses statements from SqlTokens. Nothing here
// reads a socket: BinlogReader (migration/mysql) does.

namespace locus::stream {

// The server has sent all that its log holds, and still lives.
struct Heartbeat {
  LogPosition end;  // of the log
};

// Makes transactions of the events of one dump, in the order in which a server sends them. Of a
// transaction nothing is given before its commit was seen, or its XA PREPARE.
//
// Refused (FAILED_PRECONDITION, with the GTID): events that CheckType refuses, a ROLLBACK, also to
// a savepoint, behind what the transaction would have, rows or tables of a wanted table that are
// not FULL, GTIDs of a domain that do not rise, a log that was begun again since Options::file was
// read: its transactions up to the position are others than the caller's. DATA_LOSS: events that no
// server sends. Thread safety: none. After an error every call returns it again.
class TransactionAssembler {
 public:
  struct Options {
    EventSpool::Options spool;
    // Which tables' rows the transactions have; empty: all. Nothing else is checked of the others.
    std::function<bool(std::string_view database, std::string_view table)> wanted;
    // Which statements the transactions have, of those that touch a table or may; empty: all.
    std::function<bool(const Statement&)> heeded;
    // The last transaction that the caller has of each domain.
    GtidPosition position;
    // That had the last of them; not known: nothing is compared with it.
    LogFile file;
  };
  explicit TransactionAssembler(Options options)
      : options_(std::move(options)), position_(options_.position) {}

  using Step = std::variant<std::monostate, ChangeTransaction, Heartbeat>;
  // `bytes`: one whole event. monostate: it completes nothing.
  absl::StatusOr<Step> OnEvent(std::string_view bytes);

  // Behind the last transaction given.
  const GtidPosition& position() const { return position_; }
  // Where the event stood that OnEvent took last.
  const LogPosition& log_position() const { return place_; }
  // Transactions without an end, from a log whose server died while it wrote: they never committed.
  uint64_t torn() const { return torn_; }

 private:
  struct Group;

  absl::StatusOr<Step> Handle(const Event& event, std::string_view bytes);
  absl::Status OnFormat(const Event& event);
  absl::Status OnRotate(const Event& event);
  absl::Status OnGtidList(const Event& event);
  // Whether the log is the one that has the position.
  absl::Status CheckLog();
  absl::Status OnGtid(const Event& event);
  absl::StatusOr<Step> OnQuery(const Event& event, const Query& query);
  absl::Status OnTableMap(const Event& event);
  absl::Status OnRows(const Event& event, std::string_view bytes);
  absl::StatusOr<uint32_t> LayoutOf(std::string_view body);
  // `part`: of an XA transaction, which the event ends. DATA_LOSS: another one has begun.
  absl::StatusOr<Step> Finish(const Event& event, XaPart part = XaPart::kNone);
  void DropTorn();

  Options options_;
  GtidPosition position_;
  LogPosition place_;
  absl::Status failed_;
  bool format_known_ = false;
  bool log_checked_ = false;
  std::optional<GtidPosition> before_file_;  // what is in the files before this one
  uint64_t torn_ = 0;

  // The transaction that has begun.
  struct Group {
    explicit Group(const EventSpool::Options& spool) : transaction(spool) {}
    ChangeTransaction transaction;
    bool standalone = false;
    // The statement's tables by id: index of the layout, or kUnwanted.
    std::map<uint64_t, uint32_t> tables;
    std::map<std::string, uint32_t, std::less<>> layouts;  // by what defines them
    size_t layout_bytes = 0;
  };
  std::optional<Group> group_;

  // Layouts of former transactions, by what defines them: most are of few tables.
  std::map<std::string, std::shared_ptr<const TableLayout>, std::less<>> known_;
  size_t known_bytes_ = 0;
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_TRANSACTION_ASSEMBLER_H_
