// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

SqliteSegmentStore::Options Creating() {
  SqliteSegmentStore::Options options;
  options.create = true;
  options.busy_timeout = absl::Seconds(30);
  return options;
}

std::unique_ptr<SqliteSequencer> MustOpenSequencer(const std::string& path,
                                                   const SequencerOptions& options = {}) {
  auto sequencer = SqliteSequencer::Open(path, Creating(), options);
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return *std::move(sequencer);
}

class SqliteUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return MustOpenSequencer(directory_ / "store.db", options);
  }

 private:
  TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

class SqliteSequencerTest : public SqliteTest {
 protected:
  void Sql(const char* statement) {
    sqlite3* db;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
};

TEST_F(SqliteSequencerTest, MissingFile_IsCreatedOnlyWhenAsked) {
  absl::Status status = SqliteSequencer::Open(path_, {}, {}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SqliteSequencerTest, BadOptions_AreRefusedBeforeAnythingIsOpened) {
  SequencerOptions options;
  options.step = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(SqliteSequencer::Open(path_, Creating(), options).status()));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SqliteSequencerTest, OneFile_HoldsSegmentsAndSequences) {
  auto store = MustOpen(path_);
  CreateSpace(*store);
  SegmentReply before = Allocate(*store);
  auto sequencer = MustOpenSequencer(path_);
  EXPECT_EQ(sequencer->Next("a").value(), 1);
  SegmentReply after = Allocate(*store);
  EXPECT_FALSE(after.loss_noticed);
  EXPECT_EQ(FirstOf(after), EndOf(before));
  EXPECT_EQ(sequencer->Next("a").value(), 2);
}

TEST_F(SqliteSequencerTest, NumberThatCannotBe_IsDataLoss) {
  auto sequencer = MustOpenSequencer(path_);
  ASSERT_TRUE(sequencer->Next("a").ok());
  Sql("UPDATE locus_sequence SET value = -5");
  absl::Status status = sequencer->Next("a").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("-5"), absl::string_view::npos);
}

TEST_F(SqliteSequencerTest, ForgottenKeys_AreSweptAsNewOnesCome) {
  SequencerOptions options;
  options.ttl = absl::Milliseconds(1);
  auto brief = MustOpenSequencer(path_, options);
  auto lasting = MustOpenSequencer(path_);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(brief->Next("brief" + std::to_string(i)).ok());
  while (lasting->Get("brief19").ok()) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(lasting->Next("lasting" + std::to_string(i)).ok());
  sqlite3* db;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  sqlite3_stmt* count;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT count(*) FROM locus_sequence", -1, &count, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(count), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int64(count, 0), 20);
  sqlite3_finalize(count);
  sqlite3_close(db);
}

TEST_F(SqliteSequencerTest, ForkedChild_IsRefused) {
  auto sequencer = MustOpenSequencer(path_);
  ASSERT_TRUE(sequencer->Next("a").ok());
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(sequencer->Next("a").status());
    sequencer.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(sequencer->Next("a").value(), 2);
}

// Each name has a log of its own: by the other one, the numbers would begin again.
TEST_F(SqliteSequencerTest, FileOfTwoNames_IsRefused) {
  auto sequencer = MustOpenSequencer(path_);
  ASSERT_EQ(sequencer->NextBatch("a", 10)->last(), 10);
  const std::string other = path_ + "-other";
  std::filesystem::create_hard_link(path_, other);
  for (const std::string& name : {path_, other}) {
    const absl::Status refused = SqliteSequencer::Open(name, {}, {}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("2 names"));
  }
  EXPECT_EQ(sequencer->Next("a").value(), 11);
  std::filesystem::remove(other);
  EXPECT_EQ(MustOpenSequencer(path_)->Next("a").value(), 12);
}

// As into a container.
TEST_F(SqliteSequencerTest, FileThatIsMountedAlone_IsRefused) {
  ASSERT_EQ(MustOpenSequencer(path_)->NextBatch("a", 10)->last(), 10);
  const std::string mounted = path_ + "-mounted";
  std::ofstream(mounted).flush();
  ChildProcess child([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 2;
    if (mount(path_.c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0) return 2;
    const absl::Status refused = SqliteSequencer::Open(mounted, {}, {}).status();
    const bool says_why = absl::StrContains(refused.message(), "mounted as a single file");
    return absl::IsFailedPrecondition(refused) && says_why ? 0 : 1;
  });
  const int code = child.Wait();
  if (code == 2) GTEST_SKIP() << "no namespaces for this user";
  EXPECT_EQ(code, 0);
}

// The host's clock jumped ahead, past the time at which the counter is forgotten. The time since
// boot has not.
TEST_F(SqliteSequencerTest, ClockThatJumpedAhead_ForgetsNoCounterOfThisBoot) {
  SequencerOptions options;
  options.ttl = absl::Hours(1);
  auto sequencer = MustOpenSequencer(path_, options);
  ASSERT_EQ(sequencer->NextBatch("a", 10)->last(), 10);
  constexpr char kJump[] = "UPDATE locus_sequence SET expires_at = 1";
  Sql(kJump);
  EXPECT_EQ(MustOpenSequencer(path_)->Get("a").value(), 10);
  EXPECT_FALSE(sequencer->SetIfNotExists("a", 3).value());
  Sql(kJump);
  ASSERT_TRUE(sequencer->Next("new").ok()) << "sweeps forgotten ones";
  EXPECT_EQ(sequencer->Next("a").value(), 11);
  Sql(kJump);
  Sql("UPDATE locus_sequence_boot SET expires_at = 1");
  EXPECT_EQ(sequencer->Next("a").value(), 1) << "both have passed";
  Sql(kJump);
  Sql("UPDATE locus_sequence_boot SET boot = 'another'");
  EXPECT_EQ(sequencer->Next("a").value(), 1) << "processes of another boot hold nothing";
  Sql(kJump);
  Sql("DELETE FROM locus_sequence_boot");
  EXPECT_EQ(sequencer->Next("a").value(), 1) << "a row of an earlier version";
}

}  // namespace
}  // namespace locus
