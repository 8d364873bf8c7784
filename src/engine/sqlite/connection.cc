// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"

namespace locus::sqlite {
namespace {

constexpr int64_t kApplicationId = 0x6C6F6375;  // "locu", marks a file as one of ours
constexpr int64_t kSchemaVersion = 1;

absl::StatusCode CodeOf(int result) {
  switch (result & 0xFF) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
    case SQLITE_NOTADB:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_CORRUPT:
      return absl::StatusCode::kDataLoss;
    default:  // busy, full, an I/O error: the next call may find it mended
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status ErrorOf(sqlite3* db, int result, const std::string& path) {
  const char* message = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(result);
  std::string text = absl::StrCat("store ", path, ": ", message);
  if ((result & 0xFF) == SQLITE_FULL) absl::StrAppend(&text, " (no space left for it)");
  if ((result & 0xFF) == SQLITE_IOERR) {
    absl::StrAppend(&text, " (", std::strerror(sqlite3_system_errno(db)), ")");
  }
  return absl::Status(CodeOf(result), text);
}

Query::~Query() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::Bind(int64_t value) {
  LOCUS_CHECK(sqlite3_bind_int64(statement_, next_parameter_++, value) == SQLITE_OK);
  return *this;
}

Query& Query::Bind(std::string_view text) {
  LOCUS_CHECK(sqlite3_bind_text64(statement_, next_parameter_++, text.data(), text.size(),
                                  SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Query& Query::BindBlob(std::string_view bytes) {
  LOCUS_CHECK(sqlite3_bind_blob64(statement_, next_parameter_++, bytes.data(), bytes.size(),
                                  SQLITE_STATIC) == SQLITE_OK);
  return *this;
}

absl::StatusOr<bool> Query::Step() {
  int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return ErrorOf(db_, result, path_);
}

absl::Status Query::Run() {
  LOCUS_ASSIGN_OR_RETURN(bool row, Step());
  LOCUS_CHECK(!row);
  return absl::OkStatus();
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Query::Blob(int column) const {
  auto bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

struct Connection::Prepared {
  std::map<const char*, sqlite3_stmt*> statements;
};

namespace {

// SQLite keeps the files that a process has open, with their locks, in its globals; a forked child
// inherits the records, not the locks.
std::atomic<int> open_connections{0};
std::atomic<internal::ForkGuard> their_process{internal::ForkGuard()};

absl::Status RefuseInheritedConnections(const std::string& path) {
  if (their_process.load().forked() && open_connections > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path, " cannot be opened in a process that was forked while it, or ",
                     "another store, was open: fork first, or exec"));
  }
  their_process = internal::ForkGuard();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path, bool create,
                                                             absl::Duration busy_timeout) {
  LOCUS_RETURN_IF_ERROR(RefuseInheritedConnections(path));
  std::unique_ptr<Connection> connection(new Connection);
  connection->path_ = path;
  connection->prepared_ = std::make_unique<Prepared>();
  ++open_connections;
  connection->database_ = IdOf(path);
  if (connection->database_ == FileId() && !create) {
    return absl::NotFoundError(absl::StrCat(
        "store ", path, " does not exist; a missing store is created only on request"));
  }
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  int result = sqlite3_open_v2(path.c_str(), &connection->db_, flags, nullptr);
  if (result != SQLITE_OK) {
    const absl::Status failure = ErrorOf(connection->db_, result, path);
    if ((result & 0xFF) != SQLITE_CANTOPEN) return failure;
    return absl::Status(failure.code(),
                        absl::StrCat(failure.message(),
                                     "; its directory must exist, and be writable by this user"));
  }
  LOCUS_RETURN_IF_ERROR(connection->SetUp(busy_timeout));
  return connection;
}

absl::Status Connection::SetUp(absl::Duration busy_timeout) {
  sqlite3_extended_result_codes(db_, 1);
  busy_timeout = std::clamp(busy_timeout, absl::ZeroDuration(), absl::Hours(24));
  sqlite3_busy_timeout(db_, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  if (sqlite3_db_readonly(db_, "main") == 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " cannot be written, but leases must be recorded"));
  }
  char* resolved = realpath(path_.c_str(), nullptr);
  if (resolved == nullptr) {
    return absl::UnavailableError(absl::StrCat("store ", path_, ": ", std::strerror(errno)));
  }
  real_path_ = resolved;
  std::free(resolved);
  if (database_ == FileId()) database_ = IdOf(path_);
  LOCUS_RETURN_IF_ERROR(CheckOneName());
  LOCUS_RETURN_IF_ERROR(CheckSchema());
  LOCUS_RETURN_IF_ERROR(SwitchToWal(busy_timeout));
  LOCUS_RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  return NoteLog();
}

// Log, index and locks of SQLite go by the name.
absl::Status Connection::CheckOneName() const {
  struct statx there;
  if (statx(AT_FDCWD, path_.c_str(), 0, STATX_NLINK, &there) != 0) return absl::OkStatus();
  if ((there.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " is mounted as a single file: its log stays outside, where ",
                     "others do not see it, and may be lost. Mount its directory"));
  }
  if (there.stx_nlink <= 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("store ", path_, " has ", there.stx_nlink,
                   " names (hard links): programs that open it by two of them do not see what the "
                   "other one wrote. Remove the others; a symbolic link is followed"));
}

absl::StatusOr<int64_t> Connection::Number(const char* sql) {
  LOCUS_ASSIGN_OR_RETURN(auto query, Prepare(sql));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
  LOCUS_CHECK(row);
  return query->Int(0);
}

absl::StatusOr<bool> Connection::IsEmpty() {
  LOCUS_ASSIGN_OR_RETURN(int64_t tables, Number("SELECT count(*) FROM sqlite_master"));
  return tables == 0;
}

// Runs before anything is written, since the file may belong to another program.
absl::Status Connection::CheckSchema() {
  LOCUS_ASSIGN_OR_RETURN(bool is_empty, IsEmpty());
  if (is_empty) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(int64_t application, Number("PRAGMA application_id"));
  LOCUS_ASSIGN_OR_RETURN(int64_t version, Number("PRAGMA user_version"));
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " is an SQLite database, but not a locus store"));
  }
  if (version != kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("store ", path_, " has schema version ",
                                                      version, "; this version of locus supports ",
                                                      kSchemaVersion));
  }
  return absl::OkStatus();
}

Connection::FileId Connection::IdOf(const std::string& path) {
  struct stat there;
  if (stat(path.c_str(), &there) != 0) return FileId();
  return FileId{there.st_dev, there.st_ino};
}

// Log and index are opened by the first read after the switch.
absl::Status Connection::NoteLog() {
  LOCUS_RETURN_IF_ERROR(IsEmpty().status());
  log_ = IdOf(real_path_ + "-wal");
  log_index_ = IdOf(real_path_ + "-shm");
  if (log_ != FileId() && log_index_ != FileId() && StillThere()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("store ", path_, " was replaced while it was being opened"));
}

// The busy handler is not asked where two processes switch a new file at once.
absl::Status Connection::SwitchToWal(absl::Duration busy_timeout) {
  absl::Time deadline = absl::Now() + busy_timeout;
  while (true) {
    absl::Status status = Execute("PRAGMA journal_mode = WAL");
    bool busy = (sqlite3_errcode(db_) & 0xFF) == SQLITE_BUSY;
    if (status.ok() || !busy || absl::Now() >= deadline) return status;
    sqlite3_sleep(1);
  }
}

Connection::~Connection() {
  --open_connections;
  if (prepared_ != nullptr) {
    for (auto [sql, statement] : prepared_->statements) sqlite3_finalize(statement);
  }
  sqlite3_close(db_);
}

absl::StatusOr<std::unique_ptr<Query>> Connection::Prepare(const char* sql) {
  sqlite3_stmt*& statement = prepared_->statements[sql];
  if (statement == nullptr) {
    int result = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (result != SQLITE_OK) return ErrorOf(db_, result, path_);
  }
  return std::make_unique<Query>(db_, statement, path_);
}

absl::Status Connection::Execute(const char* sql) {
  int result = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : ErrorOf(db_, result, path_);
}

absl::Status Connection::InTransaction(const std::function<absl::Status()>& body) {
  sqlite3_db_release_memory(db_);
  LOCUS_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  absl::Status status = body();
  if (status.ok()) status = Execute("COMMIT");
  // Where a statement failed, SQLite may have rolled back on its own.
  if (!status.ok() && sqlite3_get_autocommit(db_) == 0) Execute("ROLLBACK").IgnoreError();
  return status;
}

bool Connection::StillThere() const {
  return IdOf(path_) == database_ && IdOf(real_path_ + "-wal") == log_ &&
         IdOf(real_path_ + "-shm") == log_index_;
}

}  // namespace locus::sqlite
