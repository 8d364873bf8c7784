// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_CONNECTION_H_
#define LOCUS_SRC_ENGINE_SQLITE_CONNECTION_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace locus::sqlite {

// A prepared statement between two uses of it. Columns and parameters count from 0.
class Query {
 public:
  Query(sqlite3* db, sqlite3_stmt* statement, const std::string& path)
      : db_(db), statement_(statement), path_(path) {}
  ~Query();  // makes the statement ready for its next use
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& Bind(int64_t value);
  // The text must live until the query ends.
  Query& Bind(std::string_view text);
  Query& BindBlob(std::string_view bytes);

  // True: there is a row.
  absl::StatusOr<bool> Step();
  // For a statement without rows.
  absl::Status Run();

  int64_t Int(int column) const;
  std::string Blob(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
  const std::string& path_;
  int next_parameter_ = 1;
};

// One connection to one database file, in WAL mode with synchronous=FULL. StoreFile owns one, and
// opens it anew when the file was replaced. Each write of a store is one transaction that compares
// the identity in the file with the one in its Sidecar, lets the shared rules decide, and raises
// the generation in both: segments.cc does it for segments, TablesFile for worker leases and strict
// sequences. The *tables files hold the SQL.
// Thread safety: none.
class Connection {
 public:
  // NOT_FOUND: no such file and `create` is false. FAILED_PRECONDITION: it cannot be written, or is
  // neither a locus store of this schema version nor empty (such a file is not changed), or this
  // process was forked while its parent had a connection open.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path, bool create,
                                                          absl::Duration busy_timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The statement for `sql`, a string literal; prepared at its first use.
  absl::StatusOr<std::unique_ptr<Query>> Prepare(const char* sql);
  absl::Status Execute(const char* sql);

  // Runs `body` under BEGIN IMMEDIATE; commits if it returns OK, rolls back otherwise. What this
  // connection cached of the file is read again, so that a file overwritten in place is seen.
  absl::Status InTransaction(const std::function<absl::Status()>& body);

  // Whether there is nothing in the file yet.
  absl::StatusOr<bool> IsEmpty();

  // Whether the paths of the database, its log and the log's index still lead to the files that
  // were opened. Where they do not, other processes work on other files.
  bool StillThere() const;
  const std::string& path() const { return path_; }
  // The path with links resolved, at the time of Open.
  const std::string& real_path() const { return real_path_; }

 private:
  Connection() = default;
  absl::Status SetUp(absl::Duration busy_timeout);
  absl::StatusOr<int64_t> Number(const char* sql);
  absl::Status CheckOneName() const;
  absl::Status CheckSchema();
  absl::Status SwitchToWal(absl::Duration busy_timeout);
  absl::Status NoteLog();

  sqlite3* db_ = nullptr;
  std::string path_;
  std::string real_path_;
  struct FileId {  // both 0: no file
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const FileId&, const FileId&) = default;
  };
  static FileId IdOf(const std::string& path);
  FileId database_;
  FileId log_;
  FileId log_index_;
  // By the address of the literal.
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

// "store PATH: MESSAGE" with the code that fits an SQLite result code.
absl::Status ErrorOf(sqlite3* db, int result, const std::string& path);

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_CONNECTION_H_
