// SPDX-License-Identifier: Apache-2.0
// What a store makes of files that an earlier process left behind.
#include <sqlite3.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/store/log_store.h"
#include "tests/raft/store/file_bytes.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

class LogStoreStartTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
};

// A process that was killed within Create leaves a database without tables, and perhaps a part of
// the transaction that makes them.
TEST_F(LogStoreStartTest, CreateThatDidNotEnd_GoesOn) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA journal_mode = WAL; BEGIN; CREATE TABLE t (a); COMMIT",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  const std::string file = Read(path_), wal = Read(path_ + "-wal");
  sqlite3_close(db);
  for (size_t size : {size_t{0}, size_t{20}, size_t{32}, wal.size() / 2, wal.size() - 1}) {
    std::filesystem::remove(path_ + "-shm");
    Put(path_, file);
    Put(path_ + "-wal", wal.substr(0, size));
    EXPECT_EQ(LogStore::Open(path_, kCluster).status().code(), absl::StatusCode::kNotFound) << size;
    NodeId self = 0;
    {
      auto store = LogStore::Create(path_, kCluster);
      ASSERT_TRUE(store.ok()) << store.status();
      self = (*store)->self();
    }
    EXPECT_EQ(LogStore::Open(path_, kCluster).value()->self(), self);
    EXPECT_EQ(LogStore::Create(path_, kCluster).status().code(), absl::StatusCode::kAlreadyExists);
  }
}

}  // namespace
}  // namespace locus::raft
