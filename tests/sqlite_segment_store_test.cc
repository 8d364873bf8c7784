// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "locus/engine/sqlite.h"
#include "src/engine/sqlite/sidecar.h"
#include "src/lease_rules.h"
#include "tests/child_process.h"
#include "tests/segment_store_contract.h"
#include "tests/temporary_directory.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<SqliteSegmentStore> MustOpen(const std::string& path, bool create = true) {
  SqliteSegmentStore::Options options;
  options.create = create;
  options.busy_timeout = absl::Seconds(30);
  auto store = SqliteSegmentStore::Open(path, options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

class SqliteUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override { return MustOpen(directory_ / "store.db"); }
  testing::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return false; }

 private:
  TemporaryDirectory directory_;
  testing::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() : path_(directory_ / "store.db") {}

  void CreateSpace(SegmentStore& store) {
    ASSERT_TRUE(store.Create(space_, SpaceOptions(), clock_.Now()).ok());
  }
  absl::StatusOr<LeaseReply> TryLease(SegmentStore& store, uint16_t section = 0,
                                      uint64_t seen = 0) {
    LeaseRequest request{section, 4096, seen};
    return store.Lease(space_, {&request, 1}, clock_.Now());
  }
  LeaseReply Lease(SegmentStore& store, uint16_t section = 0, uint64_t seen = 0) {
    auto reply = TryLease(store, section, seen);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : LeaseReply{{LeaseGrant()}, {}, false};
  }
  static uint64_t EndOf(const LeaseReply& reply) { return reply.grants[0].segment.end(); }
  static uint64_t FirstOf(const LeaseReply& reply) { return reply.grants[0].segment.first; }

  TemporaryDirectory directory_;
  const std::string path_;
  const std::string sidecar_ = path_ + "-locus";
  testing::ManualClock clock_;
  SpaceName space_;
};

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

TEST_F(SqliteTest, SomebodyElsesDatabase_IsRefused) {
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
  // Root may write anything: a child that is nobody may not.
  ChildProcess child([&] {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2;
    return absl::IsFailedPrecondition(SqliteSegmentStore::Open(path_, {}).status()) ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  fs::permissions(directory_.str(), fs::perms(0755));
}

TEST_F(SqliteTest, DiskFull_IsUnavailableAndGoesOnWhenThereIsRoomAgain) {
  CreateSpace(*MustOpen(path_));
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = MustOpen(path_, false);
    uint64_t end = EndOf(Lease(*store));
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = 100;  // of any file: neither the log nor the sidecar can grow
    setrlimit(RLIMIT_FSIZE, &small);
    absl::Status full = TryLease(*store).status();
    if (!absl::IsUnavailable(full)) return 1;
    setrlimit(RLIMIT_FSIZE, &limit);
    auto after = TryLease(*store);
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
  EXPECT_TRUE(absl::IsUnavailable(TryLease(*store).status()));
  sqlite3_close(db);
  EXPECT_TRUE(TryLease(*store).ok());
}

TEST_F(SqliteTest, Reopened_GoesOnWithoutALoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  store.reset();
  store = MustOpen(path_, false);
  LeaseReply reply = Lease(*store);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_FALSE(reply.loss_noticed);
}

// The sidecar remembers the base that the old copies do not have.
TEST_F(SqliteTest, SameOldCopyPutBackTwice_RepeatsNothing) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  uint64_t end = 0;
  for (int i = 0; i < 3; ++i) {
    fs::copy_file(directory_ / "copy.db", path_, fs::copy_options::overwrite_existing);
    LeaseReply reply = Lease(*MustOpen(path_, false));
    EXPECT_EQ(reply.loss_noticed, i > 0);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
  }
}

TEST_F(SqliteTest, FileDeletedTwiceBesideItsSidecar_RepeatsNothing) {
  uint64_t end = 0;
  for (int i = 0; i < 3; ++i) {
    auto store = MustOpen(path_);
    CreateSpace(*store);
    LeaseReply reply = Lease(*store);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
    store.reset();
    fs::remove(path_);
  }
}

TEST_F(SqliteTest, MissingSidecar_IsALoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  fs::remove(sidecar_);
  LeaseReply reply = Lease(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GT(FirstOf(reply), end);
  EXPECT_FALSE(Lease(*store).loss_noticed);
}

TEST_F(SqliteTest, SpoiledSidecar_IsALoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  for (int spoil = 0; spoil < 5; ++spoil) {
    std::string text;
    std::getline(std::ifstream(sidecar_), text, '\0');
    if (spoil == 0) text.clear();
    if (spoil == 1) text.pop_back();
    if (spoil == 2) text += "x";
    if (spoil == 3) ++text[20];
    if (spoil == 4) text.erase(text.find("base"));
    std::ofstream(sidecar_) << text;
    EXPECT_TRUE(Lease(*store).loss_noticed) << text;
    EXPECT_FALSE(Lease(*store).loss_noticed);
  }
}

// As a kill between the write of the sidecar and the commit leaves it.
TEST_F(SqliteTest, SidecarAheadByOne_CostsOneFalseLoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  {
    auto file = sqlite::SidecarFile::Lock(sidecar_, absl::Seconds(1)).value();
    sqlite::Sidecar sidecar = file.Read().value();
    ++sidecar.identity.generation;
    ASSERT_TRUE(file.Write(sidecar).ok());
  }
  LeaseReply reply = Lease(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_FALSE(Lease(*store).loss_noticed);
}

TEST_F(SqliteTest, LossInOneSpace_LiftsAllSpaces) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  SpaceName other = SpaceName::Parse("other").value();
  ASSERT_TRUE(store->Create(other, SpaceOptions(), clock_.Now()).ok());
  fs::remove(sidecar_);
  Lease(*store);
  EXPECT_EQ(store->Show(other, clock_.Now())->losses, 2u);
}

// Clears away the log and its index too, as an operator does who restores a file.
void RemoveLog(const std::string& path) {
  fs::remove(path + "-wal");
  fs::remove(path + "-shm");
}

TEST_F(SqliteTest, OldCopyRenamedIntoPlace_IsNoticedByOldAndNewHandles) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Lease(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  uint64_t end = 0;
  for (int i = 0; i < 50; ++i) end = EndOf(Lease(*store, 0, end));
  RemoveLog(path_);
  fs::rename(directory_ / "copy.db", path_);

  LeaseReply by_new = Lease(*MustOpen(path_, false), 0, 0);
  EXPECT_TRUE(by_new.loss_noticed);
  EXPECT_GE(FirstOf(by_new), end);
  LeaseReply by_old = Lease(*store, 0, end);
  EXPECT_GE(FirstOf(by_old), EndOf(by_new)) << "the handle opened the new file";
}

// As an operator does who restores a file under running processes: they must not go on with the
// log that only they still have open.
TEST_F(SqliteTest, LogRemovedUnderAnOpenHandle_ItWorksOnANewLogAndRepeatsNothing) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Lease(*store);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  uint64_t end = EndOf(Lease(*store));
  RemoveLog(path_);
  LeaseReply reply = Lease(*store);
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
  EXPECT_GE(FirstOf(reply), end);
}

TEST_F(SqliteTest, OldCopyWrittenInPlace_IsNoticed) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Lease(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  uint64_t end = 0;
  for (int i = 0; i < 50; ++i) end = EndOf(Lease(*store));
  store.reset();  // the log goes into the file
  std::ofstream(path_, std::ios::in | std::ios::binary)
      << std::ifstream(directory_ / "copy.db", std::ios::binary).rdbuf();
  store = MustOpen(path_, false);
  LeaseReply reply = Lease(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
}

// The log still holds the latest identity, but not every section's head: the sums tell.
TEST_F(SqliteTest, OldCopyWrittenInPlaceUnderOpenHandles_RepeatsNothing) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  for (uint16_t section = 0; section < 200; ++section) Lease(*store, section);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  std::map<uint16_t, uint64_t> ends;
  for (uint16_t section = 0; section < 200; ++section)
    ends[section] = EndOf(Lease(*store, section));
  auto other = MustOpen(path_);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(RESTART)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  for (int i = 0; i < 3; ++i) ends[0] = EndOf(Lease(*store, 0));
  std::ofstream(path_, std::ios::in | std::ios::binary)
      << std::ifstream(directory_ / "copy.db", std::ios::binary).rdbuf();
  for (uint16_t section = 0; section < 200; ++section) {
    SegmentStore& by = section % 2 == 0 ? *store : *other;
    auto reply = TryLease(by, section);
    if (!reply.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(reply.status())) << reply.status();
      continue;
    }
    ASSERT_GE(FirstOf(*reply), ends[section]) << "section " << section;
    ends[section] = EndOf(*reply);
  }
}

TEST_F(SqliteTest, StoreDeletedAndCreatedAgain_StartsAboveAllLeasesOfTheOldOne) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Advance(absl::Hours(1));
  uint64_t end = 0;
  for (int i = 0; i < 100; ++i) end = EndOf(Lease(*store));
  store.reset();
  for (const char* suffix : {"", "-wal", "-shm", "-locus"}) fs::remove(path_ + suffix);
  store = MustOpen(path_);
  CreateSpace(*store);
  EXPECT_GE(FirstOf(Lease(*store)), end);
}

TEST_F(SqliteTest, StoreDeletedUnderAnOpenHandle_LeasesNothingMore) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Lease(*store);
  fs::remove(path_);
  EXPECT_TRUE(absl::IsNotFound(TryLease(*store).status()));
  EXPECT_FALSE(fs::exists(path_));
}

// Not covered (docs/operations.md): file and sidecar put back together look as they once did.
TEST_F(SqliteTest, FileAndSidecarPutBackTogether_RepeatUntilSomebodyKnowsBetter) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  fs::copy_file(sidecar_, directory_ / "copy.sidecar");
  Segment first = Lease(*MustOpen(path_)).grants[0].segment;
  fs::rename(directory_ / "copy.db", path_);
  fs::rename(directory_ / "copy.sidecar", sidecar_);
  store = MustOpen(path_, false);
  EXPECT_EQ(Lease(*store).grants[0].segment, first) << "this is the hole";
  uint64_t seen = first.end() + 64 * 4096;
  EXPECT_TRUE(Lease(*store, 0, seen).loss_noticed) << "and this is how it closes";
}

// Not covered: a copy elsewhere that goes on granting.
TEST_F(SqliteTest, CopyThatStillGrants_RepeatsTheOthersSequences) {
  CreateSpace(*MustOpen(path_));
  fs::copy_file(path_, directory_ / "copy.db");
  fs::copy_file(sidecar_, directory_ / "copy.db-locus");
  Segment one = Lease(*MustOpen(path_)).grants[0].segment;
  Segment other = Lease(*MustOpen(directory_ / "copy.db")).grants[0].segment;
  EXPECT_EQ(one, other);
}

TEST_F(SqliteTest, ClockThatWasAhead_IsRepairedByDeclaringARestore) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Jump(absl::Hours(24 * 30));
  uint64_t end = EndOf(Lease(*store));
  clock_.Jump(-absl::Hours(24 * 30));
  absl::Status status = TryLease(*store).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("behind the newest lease"), absl::string_view::npos) << status;
  ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok());
  EXPECT_GE(FirstOf(Lease(*store)), end);
}

TEST_F(SqliteTest, ClockThatWasAheadAndALostSidecar_AreRepairedTogether) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Jump(absl::Hours(24 * 30));
  uint64_t end = EndOf(Lease(*store));
  clock_.Jump(-absl::Hours(24 * 30));
  fs::remove(sidecar_);
  EXPECT_TRUE(absl::IsFailedPrecondition(TryLease(*store).status()));
  ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok());
  EXPECT_GE(FirstOf(Lease(*store)), end);
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
    Lease(*store);
    sqlite3* db;
    sqlite3_open(path.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, spoil, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    EXPECT_TRUE(absl::IsDataLoss(TryLease(*store).status())) << spoil;
  }
}

TEST_F(SqliteTest, ForkedWhileALeaseHoldsTheLock_ChildIsRefusedAtOnce) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::atomic<bool> leasing{false};
  std::thread leaser([&] {
    leasing = true;
    EXPECT_TRUE(TryLease(*store).ok());
  });
  while (!leasing) sched_yield();
  // The lease waits for the file's lock by now, or will: either way no child may wait for it.
  for (int i = 0; i < 20; ++i) {
    ChildProcess child([&] {
      alarm(20);
      bool refused = absl::IsFailedPrecondition(TryLease(*store).status()) &&
                     absl::IsFailedPrecondition(store->Open(space_).status()) &&
                     absl::IsFailedPrecondition(store->Show(space_, clock_.Now()).status());
      return refused ? 0 : 1;
    });
    EXPECT_EQ(child.Wait(), 0);
  }
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  leaser.join();
}

TEST_F(SqliteTest, ForkedChild_IsRefusedAndTheParentGoesOn) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(TryLease(*store).status());
    store.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  LeaseReply reply = Lease(*store);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_FALSE(reply.loss_noticed);
}

TEST_F(SqliteTest, SymbolicLink_SharesTheSidecarOfItsTarget) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  fs::create_symlink(path_, directory_ / "link.db");
  auto linked = MustOpen(directory_ / "link.db", false);
  uint64_t end = EndOf(Lease(*store));
  LeaseReply reply = Lease(*linked);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_FALSE(reply.loss_noticed);
}

}  // namespace
}  // namespace locus
