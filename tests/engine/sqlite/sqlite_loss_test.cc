// SPDX-License-Identifier: Apache-2.0
// A store that is lost, put back or spoilt: what is noticed, and what is not covered.
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "src/engine/sqlite/sidecar.h"
#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

TEST_F(SqliteTest, Reopened_ContinuesWithoutALoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  store.reset();
  store = MustOpen(path_, false);
  SegmentReply reply = Allocate(*store);
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
    SegmentReply reply = Allocate(*MustOpen(path_, false));
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
    SegmentReply reply = Allocate(*store);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
    store.reset();
    fs::remove(path_);
  }
}

TEST_F(SqliteTest, MissingSidecar_IsALoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  fs::remove(sidecar_);
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GT(FirstOf(reply), end);
  EXPECT_FALSE(Allocate(*store).loss_noticed);
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
    if (spoil == 4) text.erase(text.find("space"));
    std::ofstream(sidecar_) << text;
    EXPECT_TRUE(Allocate(*store).loss_noticed) << text;
    EXPECT_FALSE(Allocate(*store).loss_noticed);
  }
}

// As a kill between the write of the sidecar and the commit leaves it.
TEST_F(SqliteTest, SidecarAheadByOne_CostsOneFalseLoss) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  {
    auto file = sqlite::SidecarFile::Lock(path_, absl::Seconds(1)).value();
    sqlite::Sidecar sidecar = file.Read().value();
    ++sidecar.identity.generation;
    ASSERT_TRUE(file.Write(sidecar).ok());
  }
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_FALSE(Allocate(*store).loss_noticed);
}

TEST_F(SqliteTest, LossInOneSpace_LiftsAllSpaces) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  SpaceName other = SpaceName::Parse("other").value();
  ASSERT_TRUE(store->Create(other, SpaceOptions(), clock_.Now()).ok());
  fs::remove(sidecar_);
  Allocate(*store);
  EXPECT_EQ(store->Show(other, clock_.Now())->losses, 2u);
}

// Also removes the log and its index, as in a restore of the file.
void RemoveLog(const std::string& path) {
  fs::remove(path + "-wal");
  fs::remove(path + "-shm");
}

TEST_F(SqliteTest, OldCopyRenamedIntoPlace_IsNoticedByOldAndNewHandles) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Allocate(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  uint64_t end = 0;
  for (int i = 0; i < 50; ++i) end = EndOf(Allocate(*store, 0, end));
  RemoveLog(path_);
  fs::rename(directory_ / "copy.db", path_);

  SegmentReply by_new = Allocate(*MustOpen(path_, false), 0, 0);
  EXPECT_TRUE(by_new.loss_noticed);
  EXPECT_GE(FirstOf(by_new), end);
  SegmentReply by_old = Allocate(*store, 0, end);
  EXPECT_GE(FirstOf(by_old), EndOf(by_new)) << "the handle opened the new file";
}

// A restore under running processes: they must not continue with the log that only they still have
// open.
TEST_F(SqliteTest, LogRemovedUnderAnOpenHandle_ItWorksOnANewLogAndRepeatsNothing) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Allocate(*store);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  uint64_t end = EndOf(Allocate(*store));
  RemoveLog(path_);
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
  EXPECT_GE(FirstOf(reply), end);
}

TEST_F(SqliteTest, OldCopyWrittenInPlace_IsNoticed) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Allocate(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  uint64_t end = 0;
  for (int i = 0; i < 50; ++i) end = EndOf(Allocate(*store));
  store.reset();  // the log goes into the file
  std::ofstream(path_, std::ios::in | std::ios::binary)
      << std::ifstream(directory_ / "copy.db", std::ios::binary).rdbuf();
  store = MustOpen(path_, false);
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
}

// The log still holds the latest identity, but not every section's head: the sums show it.
TEST_F(SqliteTest, OldCopyWrittenInPlaceUnderOpenHandles_RepeatsNothing) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  for (uint16_t section = 0; section < 200; ++section) Allocate(*store, section);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store = MustOpen(path_);
  std::map<uint16_t, uint64_t> ends;
  for (uint16_t section = 0; section < 200; ++section)
    ends[section] = EndOf(Allocate(*store, section));
  auto other = MustOpen(path_);
  sqlite3* db;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(RESTART)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  for (int i = 0; i < 3; ++i) ends[0] = EndOf(Allocate(*store, 0));
  std::ofstream(path_, std::ios::in | std::ios::binary)
      << std::ifstream(directory_ / "copy.db", std::ios::binary).rdbuf();
  for (uint16_t section = 0; section < 200; ++section) {
    SegmentStore& by = section % 2 == 0 ? *store : *other;
    auto reply = TryAllocate(by, section);
    if (!reply.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(reply.status())) << reply.status();
      continue;
    }
    ASSERT_GE(FirstOf(*reply), ends[section]) << "section " << section;
    ends[section] = EndOf(*reply);
  }
}

TEST_F(SqliteTest, StoreDeletedAndCreatedAgain_StartsAboveAllAllocationsOfTheOldOne) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Advance(absl::Hours(1));
  uint64_t end = 0;
  for (int i = 0; i < 100; ++i) end = EndOf(Allocate(*store));
  store.reset();
  for (const char* suffix : {"", "-wal", "-shm", "-locus"}) fs::remove(path_ + suffix);
  store = MustOpen(path_);
  CreateSpace(*store);
  EXPECT_GE(FirstOf(Allocate(*store)), end);
}

TEST_F(SqliteTest, StoreDeletedUnderAnOpenHandle_AllocatesNothingMore) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  Allocate(*store);
  fs::remove(path_);
  EXPECT_TRUE(absl::IsNotFound(TryAllocate(*store).status()));
  EXPECT_FALSE(fs::exists(path_));
}

// Not covered (docs/run/store-loss.md): file and sidecar put back together look as they once did.
TEST_F(SqliteTest, FileAndSidecarPutBackTogether_RepeatUntilAProcessHasSeenMore) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  store.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  fs::copy_file(sidecar_, directory_ / "copy.sidecar");
  Segment first = Allocate(*MustOpen(path_)).grants[0].segment;
  fs::rename(directory_ / "copy.db", path_);
  fs::rename(directory_ / "copy.sidecar", sidecar_);
  store = MustOpen(path_, false);
  EXPECT_EQ(Allocate(*store).grants[0].segment, first) << "this is the hole";
  uint64_t seen = first.end() + 64 * 4096;
  EXPECT_TRUE(Allocate(*store, 0, seen).loss_noticed) << "and this is how it closes";
}

// Not covered: a copy elsewhere that still grants.
TEST_F(SqliteTest, CopyThatStillGrants_RepeatsTheOthersSequences) {
  CreateSpace(*MustOpen(path_));
  fs::copy_file(path_, directory_ / "copy.db");
  fs::copy_file(sidecar_, directory_ / "copy.db-locus");
  Segment one = Allocate(*MustOpen(path_)).grants[0].segment;
  Segment other = Allocate(*MustOpen(directory_ / "copy.db")).grants[0].segment;
  EXPECT_EQ(one, other);
}

TEST_F(SqliteTest, ClockThatWasAhead_IsRepairedByDeclaringARestore) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Jump(absl::Hours(24 * 30));
  uint64_t end = EndOf(Allocate(*store));
  clock_.Jump(-absl::Hours(24 * 30));
  absl::Status status = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("behind the newest allocation"), absl::string_view::npos)
      << status;
  ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok());
  EXPECT_GE(FirstOf(Allocate(*store)), end);
}

TEST_F(SqliteTest, ClockThatWasAheadAndALostSidecar_AreRepairedTogether) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  clock_.Jump(absl::Hours(24 * 30));
  uint64_t end = EndOf(Allocate(*store));
  clock_.Jump(-absl::Hours(24 * 30));
  fs::remove(sidecar_);
  EXPECT_TRUE(absl::IsFailedPrecondition(TryAllocate(*store).status()));
  ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok());
  EXPECT_GE(FirstOf(Allocate(*store)), end);
}

// The commands of docs/run/engines-sqlite.md, run exactly as written there, under an open handle.
using SqliteRestoreTest = SqliteTest;

// The indented lines of steps 1 to 3 of the section "Restoring".
std::string RestoreCommands() {
  std::ifstream runbook(golden::ProjectDirectory() + "/docs/run/engines-sqlite.md");
  std::string commands, line;
  while (std::getline(runbook, line) && line != "## Restoring") continue;
  while (std::getline(runbook, line) && !line.starts_with("4. ")) {
    if (line.starts_with("       ")) commands += line.substr(7) + "\n";
  }
  return commands;
}

TEST_F(SqliteRestoreTest, StepsOfTheRunbook_LoseNothing) {
  const std::string orders = directory_ / "orders.db";
  auto store = MustOpen(orders);
  CreateSpace(*store);
  Allocate(*store);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(orders.c_str(), &db), SQLITE_OK);
  std::string backup = "VACUUM INTO '" + (directory_ / "copy.db") + "'";
  ASSERT_EQ(sqlite3_exec(db, backup.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  fs::permissions(orders, fs::perms(0640));
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) end = EndOf(Allocate(*store));

  std::string commands = RestoreCommands();
  ASSERT_NE(commands.find("mv orders.db lost.db"), std::string::npos) << commands;
  ASSERT_NE(commands.find("mv copy.db orders.db"), std::string::npos) << commands;
  ASSERT_EQ(std::system(("cd " + directory_.str() + " && set -e\n" + commands).c_str()), 0);

  EXPECT_EQ(fs::status(orders).permissions(), fs::perms(0640));
  EXPECT_EQ(store->Show(space_, clock_.Now())->losses, 1u) << "as the copy has it";
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_EQ(store->Show(space_, clock_.Now())->losses, 2u);
  // The files that were moved aside are whole: the log has the newest allocations.
  EXPECT_EQ(MustOpen(directory_ / "lost.db", false)->Show(space_, clock_.Now())->sections[0].head,
            end);
}

}  // namespace
}  // namespace locus
