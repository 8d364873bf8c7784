// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/segment/segment_store_contract.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class SqliteUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override { return MustOpen(directory_ / "store.db"); }
  void LoseSpaces() override {
    for (const char* suffix : {"", "-wal", "-shm", "-locus"}) {
      fs::remove(directory_ / ("store.db" + std::string(suffix)));
    }
  }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return false; }

 private:
  TemporaryDirectory directory_;
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

TEST_F(SqliteTest, MissingFile_IsCreatedOnlyWhenAsked) {
  absl::Status status = SqliteSegmentStore::Open(path_, {}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find(path_), absl::string_view::npos);
  EXPECT_FALSE(fs::exists(path_));
  MustOpen(path_);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(SqliteTest, FileThatIsNoDatabase_IsRefusedAndLeftAlone) {
  std::ofstream(path_) << "buyer,amount\n" << std::string(5000, 'x');
  auto size = fs::file_size(path_);
  SqliteSegmentStore::Options options;
  options.create = true;
  absl::Status status = SqliteSegmentStore::Open(path_, options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(fs::file_size(path_), size);
}

TEST_F(SqliteTest, AnotherProgramsDatabase_IsRefused) {
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "CREATE TABLE theirs (a)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  std::string before;
  std::getline(std::ifstream(path_, std::ios::binary), before, '\xFF');
  SqliteSegmentStore::Options options;
  options.create = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(SqliteSegmentStore::Open(path_, options).status()));
  std::string after;
  std::getline(std::ifstream(path_, std::ios::binary), after, '\xFF');
  EXPECT_EQ(before, after) << "and not changed, not even its journal mode";
}

TEST_F(SqliteTest, SchemaOfANewerVersion_IsRefused) {
  MustOpen(path_);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "PRAGMA user_version = 2", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  absl::Status status = SqliteSegmentStore::Open(path_, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("schema version 2"), absl::string_view::npos) << status;
}

TEST_F(SqliteTest, ReadOnlyFile_IsRefused) {
  CreateSpace(*MustOpen(path_));
  fs::permissions(path_, fs::perms(0444));
  fs::permissions(directory_.str(), fs::perms(0555));
  // Root can write any file, so the check runs in a child as user 65534.
  ChildProcess child([&] {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2;
    return absl::IsFailedPrecondition(SqliteSegmentStore::Open(path_, {}).status()) ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  fs::permissions(directory_.str(), fs::perms(0755));
}

TEST_F(SqliteTest, DiskFull_IsUnavailableUntilThereIsRoomAgain) {
  CreateSpace(*MustOpen(path_));
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = MustOpen(path_, false);
    uint64_t end = EndOf(Allocate(*store));
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = 100;  // of any file: neither the log nor the sidecar can grow
    setrlimit(RLIMIT_FSIZE, &small);
    absl::Status full = TryAllocate(*store).status();
    if (!absl::IsUnavailable(full)) return 1;
    setrlimit(RLIMIT_FSIZE, &limit);
    auto after = TryAllocate(*store);
    if (!after.ok()) return 2;
    return FirstOf(*after) >= end ? 0 : 3;
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(SqliteTest, LockHeldByAnother_IsUnavailableAfterTheTimeout) {
  CreateSpace(*MustOpen(path_));
  SqliteSegmentStore::Options options;
  options.busy_timeout = absl::Milliseconds(10);
  auto store = SqliteSegmentStore::Open(path_, options).value();
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(absl::IsUnavailable(TryAllocate(*store).status()));
  sqlite3_close(db);
  EXPECT_TRUE(TryAllocate(*store).ok());
}

TEST_F(SqliteTest, StoreOpenedInAChildWhoseParentHadOneOpen_IsRefused) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  auto opens = [&] { return SqliteSegmentStore::Open(path_, {}).status(); };
  ChildProcess refused([&] { return absl::IsFailedPrecondition(opens()) ? 0 : 1; });
  EXPECT_EQ(refused.Wait(), 0);
  store.reset();
  ChildProcess allowed([&] { return opens().ok() ? 0 : 1; });
  EXPECT_EQ(allowed.Wait(), 0);
}

TEST_F(SqliteTest, ValuesThatCannotBe_AreDataLoss) {
  for (const char* spoil :
       {"UPDATE locus_space SET base = -1", "UPDATE locus_space SET section_size = 0",
        "UPDATE locus_space SET max_lead = 1", "UPDATE locus_section SET head = -64"}) {
    std::string path = directory_ / ("spoilt" + std::to_string(std::hash<std::string>()(spoil)));
    auto store = MustOpen(path);
    CreateSpace(*store);
    Allocate(*store);
    sqlite3* db;
    sqlite3_open(path.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, spoil, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    EXPECT_TRUE(absl::IsDataLoss(TryAllocate(*store).status())) << spoil;
  }
}

TEST_F(SqliteTest, ForkedWhileAnAllocationHoldsTheLock_ChildIsRefusedAtOnce) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::atomic<bool> allocating{false};
  std::thread allocator([&] {
    allocating = true;
    EXPECT_TRUE(TryAllocate(*store).ok());
  });
  while (!allocating) sched_yield();
  // The allocation waits for the file's lock by now, or will: either way no child may wait for it.
  for (int i = 0; i < 20; ++i) {
    ChildProcess child([&] {
      alarm(60);
      bool refused = absl::IsFailedPrecondition(TryAllocate(*store).status()) &&
                     absl::IsFailedPrecondition(store->ReadOptions(space_).status()) &&
                     absl::IsFailedPrecondition(store->Show(space_, clock_.Now()).status());
      return refused ? 0 : 1;
    });
    EXPECT_EQ(child.Wait(), 0);
  }
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  allocator.join();
}

TEST_F(SqliteTest, ForkedChild_IsRefusedAndTheParentIsNot) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(TryAllocate(*store).status());
    store.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  SegmentReply reply = Allocate(*store);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_FALSE(reply.loss_noticed);
}

TEST_F(SqliteTest, SymbolicLink_SharesTheSidecarOfItsTarget) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  fs::create_symlink(path_, directory_ / "link.db");
  auto linked = MustOpen(directory_ / "link.db", false);
  uint64_t end = EndOf(Allocate(*store));
  SegmentReply reply = Allocate(*linked);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_FALSE(reply.loss_noticed);
}

}  // namespace
}  // namespace locus
