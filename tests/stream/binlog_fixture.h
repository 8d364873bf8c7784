// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_BINLOG_FIXTURE_H_
#define LOCUS_TESTS_STREAM_BINLOG_FIXTURE_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "migration/mysql/binlog_reader.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {

using mysql::BinlogReader;
using mysql::BinlogReaderOptions;
using stream::Change;
using stream::ChangeKind;
using stream::ChangeTransaction;
using stream::Gtid;
using stream::GtidPosition;

// How a server must log to be read, and so that tests are quick.
inline std::vector<std::string> BinlogLines(std::vector<std::string> more = {}) {
  std::vector<std::string> lines = {"log-bin=bin",           "binlog-format=ROW",
                                    "binlog-row-image=FULL", "binlog-row-metadata=FULL",
                                    "binlog-checksum=CRC32", "sync-binlog=0",
                                    "gtid-strict-mode=ON",   "innodb-flush-log-at-trx-commit=2",
                                    "local-infile=ON"};
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

// Tests that a server can read and that leave it as it was share it.
inline MariadbServer& SharedBinlogServer() {
  static MariadbServer& server = *[] {
    static MariadbServer started({31, BinlogLines(), {}});
    EXPECT_TRUE(started.Start());
    started.Sql("CREATE DATABASE locus_stream");
    return &started;
  }();
  return server;
}

inline GtidPosition PositionOf(MariadbServer& server) {
  auto position = GtidPosition::Parse(server.Value("SELECT @@GLOBAL.gtid_binlog_pos"));
  EXPECT_TRUE(position.ok()) << position.status();
  return position.value_or(GtidPosition());
}

// By the account root; ends where the log ends.
inline BinlogReaderOptions ReaderOptions(const MariadbServer& server,
                                         const GtidPosition& position) {
  BinlogReaderOptions options;
  options.server = server.Account("mysql");
  options.server.user = "root";
  options.server.password.clear();
  options.stream.position = position;
  options.stream.spool.directory = server.path("");
  options.stop_at_end = true;
  return options;
}

inline std::unique_ptr<BinlogReader> MustOpen(const BinlogReaderOptions& options) {
  auto reader = BinlogReader::Open(options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

inline mysql::TimePoint In(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
}

// The next transaction, after any number of heartbeats.
inline absl::StatusOr<ChangeTransaction> NextTransaction(
    BinlogReader& reader, absl::Duration within = absl::Seconds(60)) {
  const mysql::TimePoint deadline = In(within);
  for (;;) {
    absl::StatusOr<BinlogReader::Item> item = reader.Next(deadline);
    if (!item.ok()) return item.status();
    if (auto* found = std::get_if<ChangeTransaction>(&*item)) return std::move(*found);
    if (std::holds_alternative<BinlogReader::End>(*item)) {
      return absl::OutOfRangeError("the log has ended");
    }
  }
}

// All transactions up to the end of the log.
inline absl::StatusOr<std::vector<ChangeTransaction>> ReadAll(const BinlogReaderOptions& options) {
  auto reader = BinlogReader::Open(options);
  if (!reader.ok()) return reader.status();
  std::vector<ChangeTransaction> all;
  for (;;) {
    absl::StatusOr<ChangeTransaction> next = NextTransaction(**reader);
    if (absl::IsOutOfRange(next.status())) return all;
    if (!next.ok()) return next.status();
    all.push_back(*std::move(next));
  }
}

inline absl::StatusOr<std::vector<Change>> ChangesOf(ChangeTransaction& transaction) {
  std::vector<Change> changes;
  Change change;
  for (;;) {
    absl::StatusOr<bool> more = transaction.Next(change);
    if (!more.ok()) return more.status();
    if (!*more) return changes;
    changes.push_back(change);
  }
}

// Rows only, of all transactions from `position` to the end of the log.
inline std::vector<Change> RowsSince(const MariadbServer& server, const GtidPosition& position) {
  std::vector<Change> rows;
  auto all = ReadAll(ReaderOptions(server, position));
  EXPECT_TRUE(all.ok()) << all.status();
  if (!all.ok()) return rows;
  for (ChangeTransaction& transaction : *all) {
    auto changes = ChangesOf(transaction);
    EXPECT_TRUE(changes.ok()) << changes.status();
    if (!changes.ok()) return rows;
    for (Change& change : *changes) {
      if (change.kind != ChangeKind::kStatement) rows.push_back(std::move(change));
    }
  }
  return rows;
}

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_BINLOG_FIXTURE_H_
