// SPDX-License-Identifier: Apache-2.0
// Ways in which a MariaDB server loses allocations: which of them the store notices by itself, and
// which it does not.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/mysql/store_time.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/engine/mysql/mariadb_replica.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "locus_loss";

class MysqlLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    options_ = server_.OptionsFor(kDatabase);
    ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
    store_ = MustOpen(options_);
    CreateSpace(*store_);
  }

  // Allocates from section 0; returns the last end.
  uint64_t AllocateSome(SegmentStore& store, int allocations = 20) {
    uint64_t end = 0;
    for (int i = 0; i < allocations; ++i) end = EndOf(Allocate(store));
    return end;
  }
  // The identity distinguishes tables by the second in which they were made.
  void WaitForAnotherSecond() {
    // The kernel stamps files by a clock that is some milliseconds late.
    const absl::Time next =
        absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 1) + absl::Milliseconds(50);
    ASSERT_TRUE(WaitUntil([&] { return absl::Now() > next; }));
  }
  std::vector<std::string> Client(const std::string& program) const {
    return {program, "--no-defaults", "-h127.0.0.1", absl::StrCat("-P", server_.port()), "-uroot"};
  }
  void Dump(const std::string& file) {
    auto words = Client("mariadb-dump");
    words.push_back(kDatabase);
    ASSERT_EQ(RunProgram(words, file), 0);
  }
  void Restore(const std::string& file) {
    auto words = Client("mariadb");
    words.push_back(kDatabase);
    ASSERT_EQ(RunProgram(words, server_.path("restore.log"), file), 0);
  }
  void ExpectNoticed(SegmentStore& store, uint64_t end, uint16_t section = 0) {
    SegmentReply reply = Allocate(store, section);
    EXPECT_TRUE(reply.loss_noticed);
    EXPECT_GE(FirstOf(reply), end);
    EXPECT_FALSE(Allocate(store, section).loss_noticed) << "once";
  }

  // The next allocation lies above all before, by more than the loss of all of them would need; no
  // loss is reported, and it happens once.
  void ExpectRaised(SegmentStore& store, uint64_t end) {
    SegmentReply reply = Allocate(store);
    EXPECT_FALSE(reply.loss_noticed);
    EXPECT_GE(FirstOf(reply), end);
    EXPECT_GT(FirstOf(reply), end + SpaceOptions().max_lead / 2);
    EXPECT_EQ(FirstOf(Allocate(store)), EndOf(reply)) << "once";
  }
  uint64_t Losses() { return store_->Show(SpaceName(), absl::Now()).value().losses; }

  MariadbServer server_;
  MysqlOptions options_;
  std::unique_ptr<MysqlSegmentStore> store_;
};

TEST_F(MysqlLossTest, ServerKilledAndRestarted_LosesNothing) {
  uint64_t end = AllocateSome(*store_);
  server_.KillHard();
  absl::Status status = TryAllocate(*store_).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  ASSERT_TRUE(server_.Start());
  SegmentReply reply = Allocate(*store_);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_EQ(FirstOf(reply), end);
}

TEST_F(MysqlLossTest, DumpRestored_IsNoticedByOldAndNewHandles) {
  for (bool new_handle : {false, true}) {
    AllocateSome(*store_);
    Dump(server_.path("dump.sql"));
    uint64_t end = AllocateSome(*store_);
    WaitForAnotherSecond();
    Restore(server_.path("dump.sql"));
    auto fresh = MustOpen(options_);
    ExpectNoticed(new_handle ? *fresh : *store_, end);
  }
}

TEST_F(MysqlLossTest, DumpRestored_LiftsSectionsThatTheDumpDoesNotKnow) {
  AllocateSome(*store_);
  Dump(server_.path("dump.sql"));
  uint64_t end = EndOf(Allocate(*store_, 7));
  WaitForAnotherSecond();
  Restore(server_.path("dump.sql"));
  ExpectNoticed(*store_, end, 7);
}

// Base is raised, so that nothing repeats, but losses are not counted: to the server it looks as a
// chown of its files does.
TEST_F(MysqlLossTest, DataDirectoryPutBack_RaisesBase) {
  AllocateSome(*store_);
  server_.Stop();
  WaitForAnotherSecond();
  fs::copy(server_.path("data"), server_.path("backup"), fs::copy_options::recursive);
  ASSERT_TRUE(server_.Start());
  uint64_t end = AllocateSome(*store_);
  server_.Empty();
  fs::rename(server_.path("backup"), server_.path("data"));
  ASSERT_TRUE(server_.Start());
  auto fresh = MustOpen(options_);  // knows nothing of the allocations that were lost
  ExpectRaised(*fresh, end);
  EXPECT_FALSE(Allocate(*store_).loss_noticed);
}

// Only the files' time differs, and base is raised for that above what the process has seen: the
// process still proves the loss.
TEST_F(MysqlLossTest, DataDirectoryPutBackUnderAProcessThatSawMore_IsALoss) {
  const uint64_t losses = Losses();
  server_.Stop();
  WaitForAnotherSecond();
  fs::copy(server_.path("data"), server_.path("backup"), fs::copy_options::recursive);
  ASSERT_TRUE(server_.Start());
  uint64_t end = AllocateSome(*store_);
  server_.Empty();
  fs::rename(server_.path("backup"), server_.path("data"));
  ASSERT_TRUE(server_.Start());
  SegmentReply reply = Allocate(*store_, 0, end);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_EQ(Losses(), losses + 1);
}

// Version 1 of the tables recorded IDs of the server and the files' time.
TEST_F(MysqlLossTest, IdentityOfVersion1_IsALossOnAnotherServerOnly) {
  std::string space = absl::StrCat(kDatabase, ".locus_space");
  std::string now = server_.Value("SELECT identity FROM " + space);
  std::string ids = now.substr(0, now.find(" files "));
  ids = ids.substr(0, ids.rfind('/'));
  auto record = [&](const std::string& identity) {
    server_.Sql(absl::StrCat("UPDATE ", space, " SET identity = '", identity, "'"));
  };
  const uint64_t losses = Losses();
  const uint64_t end = AllocateSome(*store_);
  record(ids + "/2026-01-01 00:00:00");
  ExpectRaised(*store_, end);
  EXPECT_EQ(Losses(), losses);
  record(ids + "1/2026-01-01 00:00:00");
  EXPECT_TRUE(Allocate(*store_).loss_noticed);
  EXPECT_EQ(Losses(), losses + 1);
}

TEST_F(MysqlLossTest, FilesChangedOwnerOrMode_IsNoLoss) {
  const uint64_t losses = Losses();
  for (const char* program : {"chmod", "chown"}) {
    uint64_t end = AllocateSome(*store_);
    WaitForAnotherSecond();
    std::string files = server_.path("data");
    ASSERT_EQ(std::string(program) == "chmod"
                  ? RunProgram({"chmod", "-R", "u+rw", files}, server_.path("chmod.log"))
                  : RunProgram({"chown", "-R", absl::StrCat("--reference=", files), files},
                               server_.path("chown.log")),
              0);
    server_.Sql("FLUSH TABLES");
    ExpectRaised(*store_, end);
    EXPECT_EQ(Losses(), losses) << program;
  }
}

// The loss destroys base too, so it must not come within the lead of the last one: an hour passes.
TEST_F(MysqlLossTest, EmptiedServer_AllocatesNothingUntilCreatedAndThenAboveAll) {
  fakes::ManualClock clock(absl::Now());
  MysqlStoreTime::Tell(*store_, clock);
  auto allocation = [&] {
    SegmentRequest request{0, 4096, 0};
    return store_->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, clock.Now());
  };
  clock.Advance(absl::Hours(1));
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) end = EndOf(allocation().value());
  server_.Empty();
  ASSERT_TRUE(server_.Start());
  EXPECT_TRUE(absl::IsFailedPrecondition(allocation().status())) << "no database";
  server_.OptionsFor(kDatabase);
  EXPECT_TRUE(absl::IsNotFound(allocation().status())) << "no tables";
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  EXPECT_TRUE(absl::IsNotFound(allocation().status())) << "no space";
  ASSERT_TRUE(store_->Create(SpaceName(), SpaceOptions(), clock.Now()).ok());
  EXPECT_GE(FirstOf(allocation().value()), end);
}

TEST_F(MysqlLossTest, TablesDroppedUnderAnOpenHandle_AreNotMadeAgain) {
  AllocateSome(*store_);
  server_.Sql(absl::StrCat("DROP TABLE ", kDatabase, ".sequence"));
  EXPECT_TRUE(absl::IsNotFound(TryAllocate(*store_).status()));
}

TEST_F(MysqlLossTest, SpaceRowGoneAndCreatedAgain_StartsAboveItsSections) {
  ASSERT_TRUE(
      store_->Raise(SpaceName(), uint64_t{1} << 46, RaiseReach::kAnywhere, absl::Now()).ok());
  uint64_t end = AllocateSome(*store_);
  server_.Sql(absl::StrCat("DELETE FROM ", kDatabase, ".locus_space"));
  EXPECT_TRUE(absl::IsNotFound(TryAllocate(*store_).status()));
  CreateSpace(*store_);
  EXPECT_GE(FirstOf(Allocate(*store_)), end);
}

TEST_F(MysqlLossTest, TableRebuilt_IsNoLoss) {
  const uint64_t losses = Losses();
  uint64_t end = AllocateSome(*store_);
  WaitForAnotherSecond();
  server_.Sql(absl::StrCat("OPTIMIZE TABLE ", kDatabase, ".sequence"));
  ExpectRaised(*store_, end);
  EXPECT_EQ(Losses(), losses);
}

// Not covered (docs/run/engines-mysql.md): rows put back in place look as they once did, and so
// does a disk or virtual machine that is put back as a whole.
TEST_F(MysqlLossTest, RowsPutBackInPlace_RepeatUntilAProcessHasSeenMore) {
  AllocateSome(*store_, 3);
  std::string table = absl::StrCat(kDatabase, ".sequence");
  std::string head = server_.Value("SELECT sequence_no FROM " + table);
  Segment first = Allocate(*store_).grants[0].segment;
  server_.Sql(absl::StrCat("UPDATE ", table, " SET sequence_no = ", head));
  EXPECT_EQ(Allocate(*store_).grants[0].segment, first) << "this is the hole";
  server_.Sql(absl::StrCat("UPDATE ", table, " SET sequence_no = ", head));
  EXPECT_TRUE(Allocate(*store_, 0, first.end()).loss_noticed) << "and this is how it closes";
  server_.Sql(absl::StrCat("UPDATE ", table, " SET sequence_no = ", head));
  ASSERT_TRUE(store_->DeclareRestored(SpaceName(), absl::Now()).ok());
  EXPECT_GE(FirstOf(Allocate(*store_)), first.end()) << "or so";
}

// Not covered (docs/run/engines-mysql.md): the time at which a table was made is that of its .frm,
// and rsync leaves files alone that did not change.
TEST_F(MysqlLossTest, DataDirectoryPutBackByRsync_RepeatsUntilAProcessHasSeenMore) {
  AllocateSome(*store_);
  std::string data = server_.path("data") + "/", backup = server_.path("backup") + "/";
  server_.Stop();
  WaitForAnotherSecond();
  ASSERT_EQ(RunProgram({"rsync", "-a", data, backup}), 0);
  ASSERT_TRUE(server_.Start());
  Segment first = Allocate(*store_).grants[0].segment;
  server_.Stop();
  ASSERT_EQ(RunProgram({"rsync", "-a", "--delete", backup, data}), 0);
  ASSERT_TRUE(server_.Start());
  EXPECT_EQ(Allocate(*MustOpen(options_)).grants[0].segment, first) << "this is the hole";
  EXPECT_TRUE(Allocate(*store_, 0, first.end() + 4096).loss_noticed) << "and this is how it closes";
}

TEST_F(MysqlLossTest, ClockOfTheServer_IsComparedBothWays) {
  for (absl::Duration off : {absl::Seconds(61), -absl::Seconds(61)}) {
    SegmentRequest request;
    absl::Status status =
        store_->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now() + off).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
}

// A primary with its asynchronous replica, and a store that knows both.
class MysqlFailoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (MariadbServer* server : {&primary_, &replica_}) ASSERT_TRUE(server->Start());
    Replicate(primary_, replica_);
    options_ = primary_.OptionsFor(kDatabase);
    options_.hosts.push_back({"127.0.0.1", replica_.port()});
    ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
    store_ = MustOpen(options_);
    CreateSpace(*store_);
  }

  MariadbServer primary_{ReplicaSettings(1)};
  MariadbServer replica_{ReplicaSettings(2)};
  MysqlOptions options_;
  std::unique_ptr<MysqlSegmentStore> store_;
};

TEST_F(MysqlFailoverTest, ReplicaThatLacksTheLastSeconds_IsNoticedAndNothingRepeats) {
  Allocate(*store_);
  auto sequencer = MysqlSequencer::Open(options_, {}).value();
  EXPECT_EQ(sequencer->Next("a").value(), 1);
  WaitForReplica(primary_, replica_);
  CutOff(replica_);
  uint64_t end = 0;
  for (int i = 0; i < 200; ++i) end = EndOf(Allocate(*store_));
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  primary_.KillHard();
  absl::Status status = TryAllocate(*store_).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << "the replica is read-only: " << status;
  Promote(replica_);

  SegmentReply reply = Allocate(*store_);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_FALSE(Allocate(*store_).loss_noticed);
  EXPECT_EQ(sequencer->Next("a").value(), 2) << "keys have no floor: this number repeats";
}

// FAILED_PRECONDITION is for "every host read-only": callers do not retry it.
TEST_F(MysqlFailoverTest, PrimaryMadeReadOnlyUnderOpenConnections_IsUnavailableUntilTheNextCall) {
  Allocate(*store_);
  WaitForReplica(primary_, replica_);
  MakeReadOnly(primary_);
  Promote(replica_);
  absl::Status status = TryAllocate(*store_).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(Allocate(*store_).loss_noticed) << "on the other host";
  MakeReadOnly(replica_);
  EXPECT_TRUE(absl::IsUnavailable(TryAllocate(*store_).status()));
  status = TryAllocate(*store_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

// Not covered (docs/run/engines-mysql.md): the floor of the old one reaches what the new one
// granted.
TEST_F(MysqlFailoverTest, OldPrimaryThatStillGrants_RepeatsInTime) {
  fakes::ManualClock clock(absl::Now());
  WaitForReplica(primary_, replica_);
  Promote(replica_);
  MysqlOptions old_only = options_, new_only = options_;
  old_only.hosts.pop_back();
  new_only.hosts.erase(new_only.hosts.begin());
  auto old_store = MustOpen(old_only), new_store = MustOpen(new_only);
  MysqlStoreTime::Tell(*old_store, clock);
  MysqlStoreTime::Tell(*new_store, clock);
  auto allocation = [&](SegmentStore& store) {
    SegmentRequest request{0, 64, 0};
    return store.Allocate(SpaceName(), SpaceOptions(), {&request, 1}, clock.Now())
        ->grants[0]
        .segment;
  };
  Segment granted = allocation(*new_store);
  EXPECT_LT(allocation(*old_store).end(), granted.first) << "not at once";
  SpaceOptions space;
  absl::Time then = space.floor_epoch + absl::Seconds(static_cast<double>(granted.first) / 16384);
  clock.Advance(absl::Ceil(then - clock.Now(), absl::Microseconds(1)));
  EXPECT_EQ(allocation(*old_store), granted);
}

}  // namespace
}  // namespace locus
