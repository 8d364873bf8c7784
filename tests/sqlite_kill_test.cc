// SPDX-License-Identifier: Apache-2.0
// Processes that share one SQLite store, killed at random and started again, while the store is
// deleted or an old copy put back: no order ID may come twice.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "locus/order_id_generator.h"
#include "tests/child_process.h"
#include "tests/temporary_directory.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostIds = 400000;

// Where a process notes each ID as it gets it; survives its kill -9.
struct Notes {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> first_words[kMostIds];
};

Notes* SharedNotes() {
  void* memory =
      mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<Notes*>(memory);
}

// Draws IDs for a few hundred buyers until killed.
int Draw(const std::string& path, Notes& notes, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (true) {
    SqliteSegmentStore::Options store_options;
    store_options.busy_timeout = absl::Seconds(30);
    auto store = SqliteSegmentStore::Open(path, store_options);
    if (!store.ok()) {
      sched_yield();  // missing for a moment
      continue;
    }
    OrderIdGenerator::Options options;
    options.horizon = absl::Seconds(1);
    auto generator = OrderIdGenerator::Create(*std::move(store), options);
    if (!generator.ok()) continue;
    for (int drawn = 0; drawn < 3000; ++drawn) {  // then as a new process would
      auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      auto id = (*generator)->Next(BuyerKey::Uint64(random() % 300), soon);
      if (!id.ok()) break;
      uint64_t n = notes.count.load();
      if (n == kMostIds) pause();
      notes.first_words[n].store(id->first_word());
      notes.count.store(n + 1);
    }
  }
}

class SqliteKillTest : public ::testing::Test {
 protected:
  static constexpr int kProcesses = 4;

  SqliteKillTest() : path_(directory_ / "store.db") {
    CreateStore();
    for (int i = 0; i < kProcesses; ++i) notes_.push_back(SharedNotes());
    for (int i = 0; i < kProcesses; ++i) children_.push_back(Start(i));
  }
  ~SqliteKillTest() override {
    children_.clear();
    for (Notes* notes : notes_) munmap(notes, sizeof(Notes));
  }

  void CreateStore() {
    SqliteSegmentStore::Options options;
    options.create = true;
    options.busy_timeout = absl::Seconds(30);
    auto store = SqliteSegmentStore::Open(path_, options);
    ASSERT_TRUE(store.ok()) << store.status();
    absl::Status created = (*store)->Create(SpaceName(), SpaceOptions(), Clock::System().Now());
    ASSERT_TRUE(created.ok()) << created;
  }

  ChildProcess Start(int i) {
    uint64_t seed = ++seeds_;
    return ChildProcess([this, i, seed] { return Draw(path_, *notes_[i], seed); });
  }

  // Waits until every process has drawn `more` IDs from now on.
  void WaitForAll(uint64_t more) {
    std::vector<uint64_t> wanted;
    for (Notes* notes : notes_) wanted.push_back(std::min(kMostIds, notes->count + more));
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int i = 0; i < kProcesses; ++i) {
      while (notes_[i]->count < wanted[i]) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "process " << i << " is stuck";
        sched_yield();
      }
    }
  }
  void KillAndRestart(int i) {
    children_[i].Kill(SIGKILL);
    EXPECT_EQ(children_[i].Wait(), -SIGKILL);
    children_[i] = Start(i);
  }

  void ExpectNoIdTwice() {
    for (ChildProcess& child : children_) {
      child.Kill(SIGKILL);
      child.Wait();
    }
    std::vector<uint64_t> all;
    for (Notes* notes : notes_) {
      for (uint64_t i = 0; i < notes->count; ++i) all.push_back(notes->first_words[i]);
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    std::cout << all.size() << " order IDs\n";
    EXPECT_GT(all.size(), 10000u);
  }

  // With every process shut out of the store, so that no lease is half-way.
  template <typename Body>
  void WhileLocked(Body body) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 30000);
    ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    body();
    sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(db);
  }
  uint64_t Losses() {
    auto store = SqliteSegmentStore::Open(path_, {});
    return (*store)->Show(SpaceName(), Clock::System().Now())->losses;
  }

  TemporaryDirectory directory_;
  const std::string path_;
  uint64_t seeds_ = 0;
  std::vector<Notes*> notes_;
  std::vector<ChildProcess> children_;
};

TEST_F(SqliteKillTest, ProcessesKilledAtRandom_NoIdTwice) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 24; ++i) {
    WaitForAll(1 + random() % 500);
    KillAndRestart(static_cast<int>(random() % kProcesses));
  }
  ExpectNoIdTwice();
}

TEST_F(SqliteKillTest, StoreDeletedAndCreatedAgain_NoIdTwice) {
  for (int i = 0; i < 5; ++i) {
    WaitForAll(2000);
    WhileLocked([&] {
      for (const char* suffix : {"", "-wal", "-shm", "-locus"}) fs::remove(path_ + suffix);
    });
    CreateStore();
    WaitForAll(2000);
    KillAndRestart(i % kProcesses);
  }
  ExpectNoIdTwice();
}

TEST_F(SqliteKillTest, OldCopyRenamedIntoPlace_NoIdTwice) {
  WaitForAll(500);
  WhileLocked([&] { fs::copy_file(path_, directory_ / "old.db"); });
  for (int i = 0; i < 4; ++i) {
    WaitForAll(2000);
    uint64_t losses = Losses();
    WhileLocked([&] {
      fs::copy_file(directory_ / "old.db", directory_ / "next.db");
      for (const char* suffix : {"-wal", "-shm"}) fs::remove(path_ + suffix);
      fs::rename(directory_ / "next.db", path_);
    });
    WaitForAll(2000);
    EXPECT_NE(Losses(), losses);
    KillAndRestart(i % kProcesses);
  }
  ExpectNoIdTwice();
}

TEST_F(SqliteKillTest, OldCopyWrittenInPlace_NoIdTwice) {
  WaitForAll(500);
  WhileLocked([&] { fs::copy_file(path_, directory_ / "old.db"); });
  WaitForAll(5000);
  // All are stopped, as an operator stops a service before a restore; the log goes into the file.
  for (ChildProcess& child : children_) {
    child.Kill(SIGKILL);
    child.Wait();
  }
  { auto flush = SqliteSegmentStore::Open(path_, {}); }
  std::ofstream(path_, std::ios::in | std::ios::binary)
      << std::ifstream(directory_ / "old.db", std::ios::binary).rdbuf();
  for (int i = 0; i < kProcesses; ++i) {
    children_[i] = Start(i);
  }
  WaitForAll(5000);
  EXPECT_GE(Losses(), 2u);
  ExpectNoIdTwice();
}

}  // namespace
}  // namespace locus
