// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_BINLOG_READER_H_
#define LOCUS_MIGRATION_MYSQL_BINLOG_READER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "migration/stream/transaction_assembler.h"
#include "src/base/os/fork_guard.h"
#include "src/engine/mysql/bounded_call.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

struct BinlogReaderOptions {
  // The hosts are tried in turn; the first that accepts the account is read. The account needs
  // REPLICATION SLAVE and some right on the database. `timeout` bounds one statement of Open;
  // max_connections and accept_weak_durability do not count.
  MysqlOptions server;

  // Where to start, which tables' rows to return, how much memory and which directory to use.
  stream::TransactionAssembler::Options stream;

  // By which the server knows this reader among its replicas; it ends the dump of an older one with
  // the same number. 0: a random number above 2^31.
  uint32_t server_id = 0;

  // How often an idle server sends a heartbeat; 100 ms to 1 h.
  absl::Duration heartbeat = absl::Seconds(1);
  // How long the server may be silent, and how long it may take to send one event; at least three
  // heartbeats, at most 1 h, rounded up to seconds. Longer: a dead link is noticed later. Shorter:
  // UNAVAILABLE while the server looks for the position in a large file, in silence.
  absl::Duration link_timeout = absl::Seconds(30);

  // The largest event; 64 KiB to 1 GiB. An event has one row at least, an update both images of it.
  // Larger: FAILED_PRECONDITION. Smaller: less memory for a server that lies.
  size_t max_event_bytes = size_t{128} << 20;

  // Gives End behind the last transaction that the log holds, instead of waiting for more.
  bool stop_at_end = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Reads the transactions of a MariaDB server from its binary log, as a replica does, and decodes
// their rows. The server must have binlog_format=ROW, binlog_row_image=FULL,
// binlog_row_metadata=FULL, binlog_checksum=CRC32 and log_bin_compress=OFF.
//
// Errors: UNAVAILABLE: the link or the server is gone, or no host is a primary; open another one at
// position(). FAILED_PRECONDITION: the settings are others, access is denied, the position was
// purged or is not in the log (error 1236), or the log has events that cannot be followed
// (transaction_assembler.h). DATA_LOSS: an event is malformed, or its CRC32 is wrong. Messages name
// host, port, database, file and offset. Memory: the largest event twice, and the spool's limit,
// for transactions of any size. Thread safety: none. Fork: in a forked child every call returns
// FAILED_PRECONDITION, and destruction touches no socket.
class BinlogReader {
 public:
  static absl::StatusOr<std::unique_ptr<BinlogReader>> Open(const BinlogReaderOptions& options);
  ~BinlogReader();
  BinlogReader(const BinlogReader&) = delete;
  BinlogReader& operator=(const BinlogReader&) = delete;

  struct End {};
  using Item = std::variant<stream::ChangeTransaction, stream::Heartbeat, End>;
  // Waits for the next whole transaction, or for the news that there is none. Ask again after
  // DEADLINE_EXCEEDED; nothing is lost. After any other error every call returns that error. It may
  // return later than `deadline` by the time that one event takes to come; with TLS by a heartbeat,
  // or by the link timeout when the server is silent.
  absl::StatusOr<Item> Next(TimePoint deadline);

  // Behind the last transaction that Next gave: where another reader continues. It lists every
  // domain that Options::stream.position listed, and those seen since.
  const stream::GtidPosition& position() const { return assembler_.position(); }
  // "host:port/database".
  const std::string& place() const { return place_; }

 private:
  BinlogReader(const BinlogReaderOptions& options, Handle handle, std::string place);
  absl::Status CheckServer();
  absl::Status RequestDump();
  absl::StatusOr<Item> Read(TimePoint deadline);
  // Until something can be read. UNAVAILABLE: the link timeout is over.
  absl::Status WaitForBytes(TimePoint deadline);
  bool MayHaveReadAhead() const;
  absl::Status Late() const;
  // One event, valid until the next call; nullopt: the server ended the dump.
  absl::StatusOr<std::optional<std::string_view>> ReadEvent();
  absl::Status TooLarge() const;
  absl::Status ReadFailure(const absl::Status& bound, TimePoint deadline) const;

  const BinlogReaderOptions options_;
  const internal::ForkGuard process_;
  Handle handle_;
  const std::string place_;
  stream::TransactionAssembler assembler_;
  TimePoint last_heard_ = std::chrono::steady_clock::now();
  absl::Status failed_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_BINLOG_READER_H_
