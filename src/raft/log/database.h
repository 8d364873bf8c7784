// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_LOG_DATABASE_H_
#define LOCUS_SRC_RAFT_LOG_DATABASE_H_

#include <sqlite3.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/engine/sqlite/connection.h"

namespace locus::raft {

// FAILED_PRECONDITION: the raft log, and why it is not used.
absl::Status RefuseLog(const std::string& path, std::string_view why);

// A connection to the file of a LogStore. Thread safety: none, except InPlace.
class Database {
 public:
  // `path` outlives it.
  explicit Database(const std::string& path) : path_(path) {}
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  absl::Status Open();
  // `sql`: a literal; it is prepared at its first use.
  absl::StatusOr<std::unique_ptr<sqlite::Query>> Prepare(const char* sql);
  absl::Status Execute(const char* sql);
  // The first column of the only row.
  absl::StatusOr<int64_t> Number(const char* sql);
  absl::Status Checkpoint(int mode);
  // To be called once all files are there.
  void NotePlaces();
  // As LogStore::InPlace.
  absl::Status InPlace() const;
  // Of PATH-wal, since the last checkpoint.
  int wal_pages() const { return wal_pages_; }
  bool busy() const { return (sqlite3_errcode(db_) & 0xFF) == SQLITE_BUSY; }

 private:
  struct Place {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  const std::string& path_;
  bool noted_ = false;
  Place places_[2] = {{path_}, {path_ + "-wal"}};
  sqlite3* db_ = nullptr;
  std::map<const char*, sqlite3_stmt*> statements_;  // by the address of their text
  int wal_pages_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_LOG_DATABASE_H_
