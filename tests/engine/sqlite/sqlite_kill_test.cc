// SPDX-License-Identifier: Apache-2.0
// Processes that share one SQLite store, killed at random and started again, while the store is
// deleted or an old copy put back: no order ID may come twice.
#include <poll.h>
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
#include "tests/support/child_process.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostIds = 400000;

// Where a process notes each ID as it gets it; survives its kill -9.
struct Notes {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> first_words[kMostIds];
};

template <typename T>
T* InSharedMemory() {
  void* memory =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<T*>(memory);
}

// The system's clocks, and hours that a test lets pass for all processes at once.
class SharedClock : public Clock {
 public:
  explicit SharedClock(std::atomic<int64_t>& hours) : hours_(hours) {}
  absl::Time Now() override { return System().Now() + absl::Hours(hours_.load()); }
  absl::Duration SinceBoot() override { return System().SinceBoot(); }

 private:
  std::atomic<int64_t>& hours_;
};

// Draws IDs for forty buyers until killed.
int Draw(const std::string& path, Clock& clock, Notes& notes, uint64_t seed) {
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
    options.clock = &clock;
    auto generator = OrderIdGenerator::Create(*std::move(store), options);
    if (!generator.ok()) continue;
    for (int drawn = 0; drawn < 3000; ++drawn) {  // then as a new process would
      auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      auto id = (*generator)->Next(BuyerKey::Uint64(random() % 40), soon);
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
    for (int i = 0; i < kProcesses; ++i) notes_.push_back(InSharedMemory<Notes>());
    for (int i = 0; i < kProcesses; ++i) children_.push_back(Start(i));
  }
  ~SqliteKillTest() override {
    children_.clear();
    for (Notes* notes : notes_) munmap(notes, sizeof(Notes));
    munmap(hours_, sizeof *hours_);
  }

  void CreateStore() {
    SqliteSegmentStore::Options options;
    options.create = true;
    options.busy_timeout = absl::Seconds(30);
    auto store = SqliteSegmentStore::Open(path_, options);
    ASSERT_TRUE(store.ok()) << store.status();
    absl::Status created = (*store)->Create(SpaceName(), SpaceOptions(), clock_.Now());
    ASSERT_TRUE(created.ok()) << created;
  }

  ChildProcess Start(int i) {
    uint64_t seed = ++seeds_;
    return ChildProcess([this, i, seed] { return Draw(path_, clock_, *notes_[i], seed); });
  }

  // Waits until the process has drawn `more` IDs from now on.
  void WaitFor(int i, uint64_t more) {
    uint64_t wanted = std::min(kMostIds, notes_[i]->count + more);
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (notes_[i]->count < wanted) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "process " << i << " is stuck";
      poll(nullptr, 0, 1);  // leaves the processor to the processes
    }
  }
  void WaitForAll(uint64_t more) {
    for (int i = 0; i < kProcesses; ++i) WaitFor(i, more);
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

  // With every process shut out of the store, so that no allocation is half done.
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
  // A whole copy, as a backup tool makes it: file and log, then the log merged into the file.
  void CopyWithItsLog(const std::string& from, const std::string& to) {
    // In another process: closing a file here would release this process's locks on it.
    ChildProcess copier([&] {
      fs::copy_file(from, to);
      if (fs::exists(from + "-wal")) fs::copy_file(from + "-wal", to + "-wal");
      return 0;
    });
    ASSERT_EQ(copier.Wait(), 0);
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(to.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(db);
  }
  uint64_t LossesOf(const std::string& path) {
    auto store = SqliteSegmentStore::Open(path, {});
    return (*store)->Show(SpaceName(), clock_.Now())->losses;
  }

  TemporaryDirectory directory_;
  const std::string path_;
  std::atomic<int64_t>* hours_ = InSharedMemory<std::atomic<int64_t>>();
  SharedClock clock_{*hours_};
  uint64_t seeds_ = 0;
  std::vector<Notes*> notes_;
  std::vector<ChildProcess> children_;
};

TEST_F(SqliteKillTest, ProcessesKilledAtRandom_NoIdTwice) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 24; ++i) {
    int process = static_cast<int>(random() % kProcesses);
    WaitFor(process, 1 + random() % 500);
    KillAndRestart(process);
  }
  ExpectNoIdTwice();
}

// An hour passes before each time: base is lost with the store, and must not be lost within the
// lead of the last loss.
TEST_F(SqliteKillTest, StoreDeletedAndCreatedAgain_NoIdTwice) {
  for (int i = 0; i < 4; ++i) {
    WaitForAll(400);
    ++*hours_;
    WhileLocked([&] {
      for (const char* suffix : {"", "-wal", "-shm", "-locus"}) fs::remove(path_ + suffix);
    });
    CreateStore();
    WaitForAll(400);
    KillAndRestart(i % kProcesses);
  }
  ExpectNoIdTwice();
}

TEST_F(SqliteKillTest, OldCopyRenamedIntoPlace_NoIdTwice) {
  for (int i = 0; i < 4; ++i) {
    WhileLocked([&] { CopyWithItsLog(path_, directory_ / "old.db"); });
    uint64_t losses = LossesOf(directory_ / "old.db");
    WaitForAll(400);
    WhileLocked([&] {
      // In this order: a process that opened the old file without its log would see it rewound.
      fs::rename(directory_ / "old.db", path_);
      for (const char* suffix : {"-wal", "-shm"}) fs::remove(path_ + suffix);
    });
    WaitForAll(400);
    EXPECT_GT(LossesOf(path_), losses);
    KillAndRestart(i % kProcesses);
  }
  ExpectNoIdTwice();
}

// A restore against the manual: nothing locked, no process stopped, the log removed first.
TEST_F(SqliteKillTest, OldCopyPutBackCarelessly_NoIdTwice) {
  WhileLocked([&] { CopyWithItsLog(path_, directory_ / "old.db"); });
  for (int i = 0; i < 8; ++i) {
    WaitForAll(200);
    fs::copy_file(directory_ / "old.db", directory_ / "next.db");
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(path_ + suffix);
    WaitFor(i % kProcesses, 5);
    fs::rename(directory_ / "next.db", path_);
    WaitForAll(200);
    KillAndRestart(i % kProcesses);
  }
  ExpectNoIdTwice();
}

TEST_F(SqliteKillTest, OldCopyWrittenInPlace_NoIdTwice) {
  WaitForAll(500);
  WhileLocked([&] { CopyWithItsLog(path_, directory_ / "old.db"); });
  uint64_t losses = LossesOf(directory_ / "old.db");
  WaitForAll(1000);
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
  WaitForAll(1000);
  EXPECT_GT(LossesOf(path_), losses);
  ExpectNoIdTwice();
}

}  // namespace
}  // namespace locus
