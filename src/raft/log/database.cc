// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/database.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::raft {

using internal::ToAbsl;
using sqlite::Query;

absl::Status RefuseLog(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("raft log ", path, " ", ToAbsl(why)));
}

Database::~Database() {
  for (auto [sql, statement] : statements_) sqlite3_finalize(statement);
  // SQLite would remove what is now at PATH-wal, which may be another node's.
  if (!InPlace().ok()) sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(db_);
}

absl::Status Database::Open() {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  int result = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
  if (result != SQLITE_OK) return sqlite::ErrorOf(db_, result, path_);
  sqlite3_extended_result_codes(db_, 1);
  if (sqlite3_db_readonly(db_, "main") == 1) return RefuseLog(path_, "cannot be written");
  // In place of SQLite's own, which would move pages within a commit.
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Query>> Database::Prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int result =
        sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    // All statements are ours, so a table is missing.
    if ((result & 0xFF) == SQLITE_ERROR) {
      return absl::DataLossError(absl::StrCat("raft log ", path_, ": ", sqlite3_errmsg(db_)));
    }
    if (result != SQLITE_OK) return sqlite::ErrorOf(db_, result, path_);
  }
  return std::make_unique<Query>(db_, statement, path_);
}

absl::Status Database::Execute(const char* sql) {
  const int result = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : sqlite::ErrorOf(db_, result, path_);
}

absl::StatusOr<int64_t> Database::Number(const char* sql) {
  LOCUS_ASSIGN_OR_RETURN(auto query, Prepare(sql));
  LOCUS_ASSIGN_OR_RETURN(const bool row, query->Step());
  LOCUS_CHECK(row);
  return query->Int(0);
}

absl::Status Database::Checkpoint(int mode) {
  const int result = sqlite3_wal_checkpoint_v2(db_, "main", mode, nullptr, nullptr);
  wal_pages_ = 0;
  return result == SQLITE_OK ? absl::OkStatus() : sqlite::ErrorOf(db_, result, path_);
}

void Database::NotePlaces() {
  struct stat there;
  for (Place& place : places_) {
    if (stat(place.path.c_str(), &there) != 0) continue;
    place.device = there.st_dev;
    place.inode = there.st_ino;
  }
  noted_ = true;
}

absl::Status Database::InPlace() const {
  if (!noted_) return absl::OkStatus();
  for (const Place& noted : places_) {
    struct stat there;
    const bool found = stat(noted.path.c_str(), &there) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR) continue;
    if (found && there.st_dev == noted.device && there.st_ino == noted.inode) continue;
    return absl::UnavailableError(absl::StrCat(
        "raft log ", noted.path, found ? " was replaced" : " was removed",
        " while its node worked; what it wrote since is lost: start this node anew, as another "
        "member"));
  }
  return absl::OkStatus();
}

}  // namespace locus::raft
