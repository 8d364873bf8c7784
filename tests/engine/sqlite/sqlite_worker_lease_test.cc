// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "locus/engine/sqlite.h"
#include "locus/testing/manual_clock.h"
#include "tests/support/temporary_directory.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<SqliteWorkerLeaseStore> MustOpen(const std::string& path, Clock& clock) {
  SqliteSegmentStore::Options options;
  options.create = true;
  options.busy_timeout = absl::Seconds(30);
  auto store = SqliteWorkerLeaseStore::Open(path, options, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

class SqliteUnderTest : public WorkerStoreUnderTest {
 public:
  std::unique_ptr<WorkerLeaseStore> Connect() override {
    return MustOpen(directory_ / "store.db", clock_);
  }
  void LoseAll() override {
    for (const char* suffix : {"", "-wal", "-shm", "-locus", "-workers-locus"}) {
      fs::remove(directory_ / ("store.db" + std::string(suffix)));
    }
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  TemporaryDirectory directory_;
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

class SqliteWorkerLeaseTest : public ::testing::Test {
 protected:
  SqliteWorkerLeaseTest() : path_(directory_ / "store.db"), store_(MustOpen(path_, clock_)) {
    EXPECT_TRUE(store_->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  }
  absl::StatusOr<WorkerGrant> Acquire(const std::string& nonce) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.caller_now = clock_.Now();
    return store_->Acquire(space_, wish);
  }
  absl::StatusOr<WorkerGrant> Renew(const WorkerGrant& grant, const std::string& nonce) {
    WorkerRenew renewal;
    renewal.worker = grant.worker;
    renewal.token = grant.token;
    renewal.ceiling = grant.ceiling;
    renewal.nonce = nonce;
    renewal.caller_now = clock_.Now();
    return store_->Renew(space_, renewal);
  }
  void Reopen() {
    store_.reset();
    store_ = MustOpen(path_, clock_);
  }

  TemporaryDirectory directory_;
  fakes::ManualClock clock_;
  const std::string path_;
  const SpaceName space_;
  const absl::Duration whole_ = WorkerLeaseTerm().ttl + WorkerLeaseTerm().max_skew;
  std::unique_ptr<SqliteWorkerLeaseStore> store_;
};

TEST_F(SqliteWorkerLeaseTest, Reopened_ContinuesWithoutALoss) {
  const WorkerGrant grant = *Acquire("a");
  Reopen();
  EXPECT_FALSE(Renew(grant, "a")->loss_noticed);
  EXPECT_EQ(store_->Show(space_)->losses, 0u);
}

// The copy knows neither b's lease nor a's renewal, and the clock has passed a's first ceiling.
TEST_F(SqliteWorkerLeaseTest, OldCopyPutBack_GrantsNothingUntilLostLeasesEnd) {
  WorkerGrant a = *Acquire("a");
  store_.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store_ = MustOpen(path_, clock_);
  const WorkerGrant b = *Acquire("b");
  clock_.Advance(whole_);
  a = *Renew(a, "a");
  store_.reset();
  fs::copy_file(directory_ / "copy.db", path_, fs::copy_options::overwrite_existing);
  clock_.Advance(absl::Milliseconds(1));
  store_ = MustOpen(path_, clock_);
  const absl::Status status = Acquire("c").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(Renew(a, "a").ok());
  clock_.Advance(whole_ + absl::Milliseconds(1));
  auto c = Acquire("c");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_GE(c->floor, b.ceiling);
  EXPECT_GT(c->token, b.token);
}

TEST_F(SqliteWorkerLeaseTest,
       FileDeletedBesideItsSidecar_CreatedAgain_RestsAsLongAsTheLongestTerm) {
  WorkerAcquire wish;
  wish.nonce = "a";
  wish.term.ttl = absl::Hours(3);
  wish.caller_now = clock_.Now();
  const WorkerGrant grant = *store_->Acquire(space_, wish);
  store_.reset();
  fs::remove(path_);
  store_ = MustOpen(path_, clock_);
  ASSERT_TRUE(store_->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  EXPECT_EQ(Acquire("b").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GE(store_->Show(space_)->rest_until, grant.ceiling);
}

// As a process leaves it that is killed after the sidecar was written, and before the commit.
TEST_F(SqliteWorkerLeaseTest, OnlyTheSidecarHasTheNewSpace_FirstEverIsGrantedAtOnce) {
  store_.reset();
  for (const bool is_first_ever : {true, false}) {
    const std::string path = directory_ / (is_first_ever ? "killed.db" : "unknown.db");
    MustOpen(path, clock_).reset();
    fs::copy_file(path, path + ".before");
    store_ = MustOpen(path, clock_);
    ASSERT_TRUE(store_->Create(space_, {.first_ever = is_first_ever}, clock_.Now()).ok());
    store_.reset();
    fs::rename(path + ".before", path);
    store_ = MustOpen(path, clock_);
    ASSERT_TRUE(store_->Create(space_, {.first_ever = is_first_ever}, clock_.Now()).ok());
    EXPECT_EQ(Acquire("a").ok(), is_first_ever) << Acquire("a").status();
    store_.reset();
  }
}

TEST_F(SqliteWorkerLeaseTest, MissingSidecar_IsALoss) {
  const WorkerGrant grant = *Acquire("a");
  store_.reset();
  ASSERT_TRUE(fs::remove(path_ + "-workers-locus"));
  store_ = MustOpen(path_, clock_);
  EXPECT_EQ(Acquire("b").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Renew(grant, "a").ok());
}

TEST_F(SqliteWorkerLeaseTest, SegmentsInTheSameFile_AreAnotherMatter) {
  SqliteSegmentStore::Options options;
  options.create = true;
  auto segments = *SqliteSegmentStore::Open(path_, options);
  ASSERT_TRUE(segments->Create(space_, SpaceOptions(), clock_.Now()).ok());
  SegmentRequest request{0, 64, 0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(
        segments->Allocate(space_, SpaceOptions(), {&request, 1}, clock_.Now())->loss_noticed);
    ASSERT_TRUE(Acquire("n" + std::to_string(i)).ok());
  }
  EXPECT_EQ(store_->Show(space_)->losses, 0u);
}

TEST_F(SqliteWorkerLeaseTest, ClockBehindTheNewestGrant_IsRefusedUntilARestIsDeclared) {
  clock_.Advance(absl::Hours(1));
  const WorkerGrant grant = *Acquire("a");
  clock_.Advance(-absl::Hours(1));
  const absl::Status status = Acquire("b").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.message().find("locus lease create --lost"), absl::string_view::npos) << status;
  ASSERT_TRUE(
      store_->Create(space_, {.lost = true, .longest_ttl = absl::Minutes(1)}, clock_.Now()).ok());
  clock_.Advance(absl::Minutes(2) + absl::Milliseconds(1));
  auto b = Acquire("b");
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_NE(b->worker, grant.worker) << "that one rests until its ceiling";
}

TEST_F(SqliteWorkerLeaseTest, RowThatCannotBe_IsDataLossAndNamed) {
  ASSERT_TRUE(Acquire("a").ok());
  sqlite3* db;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(db, "UPDATE locus_worker SET floor = ceiling + 1", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(db);
  const absl::Status status = store_->Show(space_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_NE(status.message().find("worker 0 has the floor"), absl::string_view::npos) << status;
}

TEST_F(SqliteWorkerLeaseTest, ForkedChild_IsRefusedAndLeavesTheFileAlone) {
  ASSERT_TRUE(Acquire("a").ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = absl::IsFailedPrecondition(Acquire("b").status());
    store_.reset();
    _exit(refused ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(Acquire("b").ok());
}

}  // namespace
}  // namespace locus
