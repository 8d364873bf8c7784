// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/connection.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/check.h"
#include "src/text.h"

namespace locus::sqlite {
namespace {

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

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path, bool create,
                                                             absl::Duration busy_timeout) {
  struct stat there;
  bool missing = stat(path.c_str(), &there) != 0 && errno == ENOENT;
  if (missing && !create) {
    return absl::NotFoundError(absl::StrCat(
        "store ", path, " does not exist; a missing store is created only when asked"));
  }
  std::unique_ptr<Connection> connection(new Connection);
  connection->path_ = path;
  connection->prepared_ = std::make_unique<Prepared>();
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  int result = sqlite3_open_v2(path.c_str(), &connection->db_, flags, nullptr);
  if (result != SQLITE_OK) return ErrorOf(connection->db_, result, path);
  LOCUS_RETURN_IF_ERROR(connection->SetUp(busy_timeout));
  return connection;
}

absl::Status Connection::SetUp(absl::Duration busy_timeout) {
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  if (sqlite3_db_readonly(db_, "main") == 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " cannot be written: a lease has to be recorded"));
  }
  LOCUS_RETURN_IF_ERROR(SwitchToWal(busy_timeout));
  LOCUS_RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  char* resolved = realpath(path_.c_str(), nullptr);
  struct stat there;
  if (resolved == nullptr || stat(resolved, &there) != 0) {
    std::free(resolved);
    return absl::UnavailableError(absl::StrCat("store ", path_, ": ", std::strerror(errno)));
  }
  real_path_ = resolved;
  std::free(resolved);
  device_ = there.st_dev;
  inode_ = there.st_ino;
  return absl::OkStatus();
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
  struct stat there;
  return stat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_;
}

}  // namespace locus::sqlite
