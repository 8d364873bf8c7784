// SPDX-License-Identifier: Apache-2.0
// Starting from files that an earlier process left behind.
#include <sqlite3.h>

#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/codec.h"
#include "src/raft/log/log_store.h"
#include "tests/raft/log/file_bytes.h"
#include "tests/support/temporary_directory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

class LogStoreStartTest : public ::testing::Test {
 protected:
  // The files that kill -9 leaves of a node after so many writes.
  struct Files {
    std::string file, wal, mark;
  };
  Files Live(Index writes) {
    std::filesystem::remove(path_);
    auto store = LogStore::Create(path_, kCluster).value();
    for (Index i = 1; i <= writes; ++i) {
      Write write;
      write.from = i;
      write.entries.push_back({1, Entry::Kind::kCommand, std::string(100, 'x'), {}});
      EXPECT_TRUE(store->Apply({&write, 1}).ok());
    }
    return {Read(path_), Read(path_ + "-wal"), Read(path_ + "-mark")};
  }
  // How many entries the node starts with.
  absl::StatusOr<size_t> Start(const Files& files) {
    for (const char* end : {"-wal", "-mark"}) std::filesystem::remove(path_ + end);
    Put(path_, files.file);
    if (!files.wal.empty()) Put(path_ + "-wal", files.wal);
    if (!files.mark.empty()) Put(path_ + "-mark", files.mark);
    auto store = LogStore::Open(path_, kCluster);
    if (!store.ok()) return store.status();
    auto stored = (*store)->Load();
    if (!stored.ok()) return stored.status();
    return stored->remembered.entries.size();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
};

// A process that was killed within Create leaves a database without tables, and perhaps a part of
// the transaction that makes them.
TEST_F(LogStoreStartTest, CreateThatDidNotEnd_CanBeRepeated) {
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

TEST_F(LogStoreStartTest, WalThatLostItsEnd_IsDataLoss) {
  const Files whole = Live(5);
  EXPECT_EQ(Start(whole).value(), 5u);
  std::string header = whole.wal, last = whole.wal;
  header[3] ^= 1;
  last[last.size() - 100] ^= 1;
  for (const std::string& wal : {std::string(), whole.wal.substr(0, whole.wal.size() / 2),
                                 whole.wal.substr(0, whole.wal.size() - 1), header, last}) {
    const absl::Status status = Start({whole.file, wal, whole.mark}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << wal.size();
    EXPECT_THAT(std::string(status.message()), HasSubstr("-mark counts 6: ")) << status;
  }
}

TEST_F(LogStoreStartTest, OlderCopyBesideANewerMark_IsDataLoss) {
  Live(3);
  LogStore::Open(path_, kCluster).value().reset();
  const Files older{Read(path_), "", ""};
  {
    auto store = LogStore::Open(path_, kCluster).value();
    Write write;
    write.vote = Vote{9, 9};
    ASSERT_TRUE(store->Apply({&write, 1}).ok());
  }
  const std::string mark = Read(path_ + "-mark");
  EXPECT_EQ(Start({older.file, "", mark}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Start(older).value(), 3u) << "all of it is older: nothing shows it";
}

// A power cut leaves an older mark, or none; another node's, or bytes that are none, say nothing.
TEST_F(LogStoreStartTest, MarkThatProvesNothing_IsIgnored) {
  const std::string others = Live(9).mark;
  const std::string older = Live(2).mark;
  const Files whole = Live(5);
  std::string changed = whole.mark;
  changed[8] ^= 1;
  for (const std::string& mark :
       {std::string(), others, older, whole.mark.substr(0, 23), changed, std::string(24, '\0')}) {
    EXPECT_EQ(Start({whole.file, whole.wal, mark}).value(), 5u) << mark.size();
  }
  EXPECT_EQ(Start({whole.file, "", ""}).value(), 0u) << "nothing shows it";
  // The mark is right again after the next write.
  ASSERT_TRUE(Start({whole.file, whole.wal, older}).ok());
  Write write;
  write.vote = Vote{9, 9};
  ASSERT_TRUE(LogStore::Open(path_, kCluster).value()->Apply({&write, 1}).ok());
  EXPECT_EQ(Start({whole.file, whole.wal, Read(path_ + "-mark")}).status().code(),
            absl::StatusCode::kDataLoss);
}

// Its rows have no count, and their sum is made without one.
TEST_F(LogStoreStartTest, FileOfABuildThatDidNotCount_IsTakenOver) {
  Live(3);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  uint64_t numbers[8];
  auto row = [](void* out, int columns, char** values, char**) {
    for (int i = 0; i < columns; ++i) {
      static_cast<uint64_t*>(out)[i] = static_cast<uint64_t>(std::stoll(values[i]));
    }
    return 0;
  };
  ASSERT_EQ(sqlite3_exec(db,
                         "SELECT self, term, candidate, base, last, base_chain, last_chain, "
                         "snapshot_sum FROM node",
                         row, numbers, nullptr),
            SQLITE_OK);
  const uint64_t head[2] = {XXH64(numbers, sizeof numbers, kCodecVersion), 0};
  const uint64_t sum = XXH64(kCluster, strlen(kCluster), XXH64(head, sizeof head, 0));
  ASSERT_EQ(sqlite3_exec(db,
                         absl::StrCat("ALTER TABLE node DROP COLUMN transactions; UPDATE node SET "
                                      "sum = ",
                                      static_cast<int64_t>(sum), "; PRAGMA user_version = 1")
                             .c_str(),
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
  EXPECT_EQ(Start({Read(path_), "", ""}).value(), 3u);
  EXPECT_EQ(Start({Read(path_), "", Read(path_ + "-mark")}).value(), 3u);
}

}  // namespace
}  // namespace locus::raft
