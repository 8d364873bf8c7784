// SPDX-License-Identifier: Apache-2.0
// The sidecar beside a database file: the number of spaces it can hold, its memory of them, its
// state after a failed write, and the right to lock it.
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "src/engine/sqlite/sidecar.h"
#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class SqliteSidecarTest : public SqliteTest {
 protected:
  void Sql(const std::string& statements) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 30000);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }
  std::string SidecarText() {
    std::string text;
    std::getline(std::ifstream(sidecar_), text, '\0');
    return text;
  }
  // Adds spaces with the longest names to the file and to the sidecar, as so many creations would.
  void AddSpaces(size_t count) {
    auto file = sqlite::SidecarFile::Lock(path_, absl::Seconds(30)).value();
    sqlite::Sidecar sidecar = file.Read().value();
    const sqlite::Sidecar::SpaceCopy orders = sidecar.spaces.at("orders");
    std::string sql = "BEGIN;";
    for (size_t i = 0; i < count; ++i) {
      std::string name = absl::StrCat("space-", i);
      name.resize(64, '_');
      sidecar.spaces[name] = orders;
      absl::StrAppend(&sql, "INSERT INTO locus_space SELECT '", name,
                      "', section_size, floor_epoch, floor_rate, max_lead, base, losses, 0, 0"
                      " FROM locus_space WHERE name = 'orders';");
    }
    Sql(sql + "COMMIT");
    ASSERT_TRUE(file.Write(sidecar).ok());
  }
  SpaceView Show(SegmentStore& store) { return store.Show(space_, clock_.Now()).value(); }
};

TEST_F(SqliteSidecarTest, ThreeThousandSpaces_AreNoLoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  AddSpaces(3000);
  ASSERT_GT(fs::file_size(sidecar_), size_t{1} << 16);
  const uint64_t base = Show(*store).base;
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) {
    SegmentReply reply = Allocate(*store);
    EXPECT_FALSE(reply.loss_noticed) << i;
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
  }
  SpaceName one_more = SpaceName::Parse("one-more").value();
  ASSERT_TRUE(store->Create(one_more, SpaceOptions(), clock_.Now()).ok());
  EXPECT_FALSE(Allocate(*store).loss_noticed);
  EXPECT_EQ(Show(*store).base, base);
  EXPECT_EQ(Show(*store).losses, 1u);

  // Every false loss would have lifted base by the lead, far above the floor, where a copy of file
  // and sidecar repeats what was leased since.
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  fs::copy_file(sidecar_, directory_ / "copy.sidecar");
  store = MustOpen(path_);
  for (int i = 0; i < 20; ++i) end = EndOf(Allocate(*store));
  store.reset();
  fs::rename(directory_ / "copy.db", path_);
  fs::rename(directory_ / "copy.sidecar", sidecar_);
  clock_.Advance(absl::Seconds(1024 + 120 + 60));
  EXPECT_GE(FirstOf(Allocate(*MustOpen(path_))), end);
}

// As a generator asks for when it warms up.
TEST_F(SqliteSidecarTest, AllocationOfAllSections_IsOneTransaction) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  auto generation = [&] {
    auto file = sqlite::SidecarFile::Lock(path_, absl::Seconds(30)).value();
    return file.Read()->identity.generation;
  };
  uint64_t before = generation();
  std::vector<SegmentRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) requests.push_back({section, 64, 0});
  auto reply = store->Allocate(space_, SpaceOptions(), requests, clock_.Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  for (const SegmentGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
  EXPECT_EQ(generation(), before + 1);
}

TEST_F(SqliteSidecarTest, MoreSpacesThanTheLimit_AreRefusedAtCreation) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  AddSpaces(sqlite::kMostSpaces - 1);
  uint64_t end = EndOf(Allocate(*store));
  absl::Status refused =
      store->Create(SpaceName::Parse("one-more").value(), SpaceOptions(), clock_.Now());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("at most 4096"), absl::string_view::npos) << refused;
  SegmentReply reply = Allocate(*store);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_EQ(FirstOf(reply), end) << "the spaces that are there go on";
}

TEST_F(SqliteSidecarTest, SidecarThatCannotBeRead_IsNotTakenForAnEmptyOne) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  const SpaceView before = Show(*store);
  const std::string text = SidecarText();

  fs::resize_file(sidecar_, size_t{2} << 20);
  absl::Status too_large = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(too_large)) << too_large;
  EXPECT_NE(too_large.message().find(sidecar_), absl::string_view::npos) << too_large;

  // Line and sum as a later version may write them.
  std::ofstream(sidecar_) << "locus-sidecar 3 00112233445566778899aabbccddeeff 7 and more\n"
                             "sum 37854b307ee96166\n";
  absl::Status newer = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(newer)) << newer;
  EXPECT_NE(newer.message().find("version 3"), absl::string_view::npos) << newer;

  fs::remove(sidecar_);
  fs::create_directory(sidecar_);
  absl::Status directory = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(directory)) << directory;
  fs::remove(sidecar_);

  std::ofstream(sidecar_) << text;
  EXPECT_EQ(Show(*store).base, before.base);
  SegmentReply reply = Allocate(*store);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_EQ(FirstOf(reply), end);
}

TEST_F(SqliteSidecarTest, SidecarOfVersion1_IsReadWithoutALossAndWrittenAsVersion2) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  Sql("UPDATE locus_store SET identity = x'00112233445566778899aabbccddeeff', generation = 7");
  std::ofstream(sidecar_) << "locus-sidecar 1 00112233445566778899aabbccddeeff 7\n"
                             "base orders 5000000000000\n"
                             "sum 6c34a4c25e826e0e\n";
  SegmentReply reply = Allocate(*store);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_EQ(FirstOf(reply), end);
  EXPECT_EQ(SidecarText().find("locus-sidecar 2 00112233445566778899aabbccddeeff 8\n"
                               "space orders 5000000000000 256 1672531200000000000 16384 "
                               "16777216\nsum "),
            0u)
      << SidecarText();
}

// The sidecar remembers the floor and the lead of the space that was lost.
TEST_F(SqliteSidecarTest, SpaceCreatedAgainWithASlowerFloor_StartsAboveTheOldLeases) {
  SpaceOptions old_options;
  old_options.floor_rate = uint64_t{1} << 20;
  old_options.max_lead = uint64_t{1} << 30;
  for (auto slow : std::vector<std::function<void(SpaceOptions&)>>{
           [](SpaceOptions& o) { o.floor_rate = 64; },
           [&](SpaceOptions& o) { o.floor_epoch = clock_.Now() - absl::Hours(24); },
           [](SpaceOptions& o) { o.max_lead = 4096; }}) {
    auto store = MustOpen(path_);
    ASSERT_TRUE(store->Create(space_, old_options, clock_.Now()).ok());
    clock_.Advance(absl::Hours(24 * 30));
    SegmentRequest request{0, uint64_t{1} << 28, 0};
    auto reply = store->Allocate(space_, old_options, {&request, 1}, clock_.Now());
    ASSERT_TRUE(reply.ok()) << reply.status();
    uint64_t end = EndOf(*reply);
    store.reset();
    fs::remove(path_);

    SpaceOptions options = old_options;
    slow(options);
    store = MustOpen(path_);
    ASSERT_TRUE(store->Create(space_, options, clock_.Now()).ok());
    request.length = 64;
    reply = store->Allocate(space_, options, {&request, 1}, clock_.Now());
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_GE(FirstOf(*reply), end);
    store.reset();
    for (const char* suffix : {"", "-locus"}) fs::remove(path_ + suffix);
  }
}

// The same, where the slower space comes back with an old copy of the file.
TEST_F(SqliteSidecarTest, CopyOfASpaceWithASlowerFloorPutBack_StartsAboveTheFasterOnesLeases) {
  SpaceOptions slow;
  slow.floor_rate = 64;
  SpaceOptions fast;
  fast.floor_rate = uint64_t{1} << 20;
  ASSERT_TRUE(MustOpen(path_)->Create(space_, slow, clock_.Now()).ok());
  fs::rename(path_, directory_ / "copy.db");
  ASSERT_TRUE(MustOpen(path_)->Create(space_, fast, clock_.Now()).ok());
  clock_.Advance(absl::Hours(24));
  SegmentRequest request{0, 4096, 0};
  auto reply = MustOpen(path_)->Allocate(space_, fast, {&request, 1}, clock_.Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  uint64_t end = EndOf(*reply);
  fs::rename(directory_ / "copy.db", path_);
  reply = MustOpen(path_)->Allocate(space_, slow, {&request, 1}, clock_.Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->loss_noticed);
  EXPECT_GE(FirstOf(*reply), end);
}

// Each of these leases fails at COMMIT: the log has no room, the sidecar has.
TEST_F(SqliteSidecarTest, LeasesThatFailAtCommit_RaiseNothing) {
  CreateSpace(*MustOpen(path_));
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = MustOpen(path_, false);
    uint64_t end = EndOf(Allocate(*store));
    const std::string text = SidecarText();
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = 1024;
    if (text.size() * 2 > small.rlim_cur || fs::file_size(path_ + "-wal") < small.rlim_cur)
      return 1;
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 12; ++i) {
      absl::Status full = TryAllocate(*store).status();
      if (!absl::IsUnavailable(full)) return 2;
      if (SidecarText() != text) return 3;
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    SegmentReply after = Allocate(*store);
    if (after.loss_noticed || FirstOf(after) != end) return 4;
    return Show(*store).losses == 1 ? 0 : 5;
  });
  EXPECT_EQ(child.Wait(), 0);
}

// A loss that cannot be committed is noticed again and again, and raises base once.
TEST_F(SqliteSidecarTest, LossWhoseLeasesFailAtCommit_RaisesBaseOnce) {
  CreateSpace(*MustOpen(path_));
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = MustOpen(path_, false);
    Allocate(*store);
    const uint64_t base = Show(*store).base;
    fs::remove(sidecar_);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small = limit;
    small.rlim_cur = 1024;
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 12; ++i) {
      if (!absl::IsUnavailable(TryAllocate(*store).status())) return 1;
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!Allocate(*store).loss_noticed) return 2;
    SpaceView view = Show(*store);
    if (view.losses != 2) return 3;
    return view.base <= base + 2 * SpaceOptions().max_lead ? 0 : 4;
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(SqliteSidecarTest, ReaderThatLocksTheSidecar_StallsNoWriter) {
  CreateSpace(*MustOpen(path_));
  SqliteSegmentStore::Options impatient;
  impatient.busy_timeout = absl::ZeroDuration();
  auto store = SqliteSegmentStore::Open(path_, impatient).value();
  int reader = open(sidecar_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_EQ(flock(reader, LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(TryAllocate(*store).ok());
  close(reader);
}

TEST_F(SqliteSidecarTest, LockFile_OpensOnlyForWritersOfTheDatabase) {
  auto mode_of = [](const std::string& path) {
    struct stat there {};
    EXPECT_EQ(stat(path.c_str(), &there), 0) << path;
    return there.st_mode & 07777;
  };
  const std::string lock = path_ + "-locus-lock";
  CreateSpace(*MustOpen(path_));
  for (auto [database, expected] : {std::pair{0644, 0600}, std::pair{0664, 0660}}) {
    ASSERT_EQ(chmod(path_.c_str(), database), 0);
    fs::remove(lock);
    Allocate(*MustOpen(path_));
    EXPECT_EQ(mode_of(lock), static_cast<mode_t>(expected));
  }
}

// An operator who runs a command as root must not leave files behind that the service cannot write.
TEST_F(SqliteSidecarTest, FilesMadeBesideTheDatabase_HaveItsOwner) {
  CreateSpace(*MustOpen(path_));
  // Any other user can own no file of another.
  bool given_away = geteuid() != 0 || chown(path_.c_str(), 65534, 65534) == 0;
  ASSERT_TRUE(given_away);
  struct stat database {};
  ASSERT_EQ(stat(path_.c_str(), &database), 0);
  for (const char* suffix : {"-locus", "-locus-lock"}) fs::remove(path_ + suffix);
  Allocate(*MustOpen(path_));
  for (const char* suffix : {"-locus", "-locus-lock"}) {
    struct stat beside {};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &beside), 0) << suffix;
    EXPECT_EQ(beside.st_uid, database.st_uid) << suffix;
    EXPECT_EQ(beside.st_gid, database.st_gid) << suffix;
  }
}

}  // namespace
}  // namespace locus
