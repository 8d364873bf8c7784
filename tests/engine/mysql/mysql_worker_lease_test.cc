// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/store_time.h"
#include "src/engine/mysql/worker_rows.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

std::unique_ptr<MysqlWorkerLeaseStore> MustOpen(const MysqlOptions& options) {
  auto store = MysqlWorkerLeaseStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

MysqlOptions FreshWorkerDatabase() {
  MysqlOptions options = FreshMariadbDatabase();
  EXPECT_TRUE(MysqlWorkerLeaseStore::CreateSchema(options).ok());
  return options;
}

class MysqlUnderTest : public WorkerStoreUnderTest {
 public:
  std::unique_ptr<WorkerLeaseStore> Connect() override {
    auto store = MustOpen(options_);
    MysqlStoreTime::Tell(*store, clock_);
    return store;
  }
  void LoseAll() override {
    const std::string& db = options_.database;
    SharedMariadb().Sql(absl::StrCat("DELETE FROM ", db, ".locus_workers; DELETE FROM ", db,
                                     ".locus_worker_space"));
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  const MysqlOptions options_ = FreshWorkerDatabase();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Mariadb, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "mariadb", [] { return std::make_unique<MysqlUnderTest>(); }}));

class MysqlWorkerLeaseTest : public ::testing::Test {
 protected:
  void CreateSpace() {
    ASSERT_TRUE(store_->Create(space_, {.first_ever = true}, absl::Now()).ok());
  }
  WorkerAcquire Wish(const std::string& nonce) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.caller_now = absl::Now();
    return wish;
  }
  WorkerRenew RenewalOf(const WorkerGrant& grant, const std::string& nonce) {
    WorkerRenew renewal;
    renewal.worker = grant.worker;
    renewal.token = grant.token;
    renewal.ceiling = grant.ceiling;
    renewal.nonce = nonce;
    renewal.caller_now = absl::Now();
    return renewal;
  }
  void Sql(const std::string& statements) {
    SharedMariadb().Sql(absl::StrCat("USE ", options_.database, "; ", statements));
  }

  const MysqlOptions options_ = FreshWorkerDatabase();
  const SpaceName space_;
  std::unique_ptr<MysqlWorkerLeaseStore> store_ = MustOpen(options_);
};

TEST_F(MysqlWorkerLeaseTest, StoreTime_IsTheServersClock) {
  CreateSpace();
  const absl::Time before = absl::Now();
  auto grant = store_->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_GE(grant->granted_at, before - absl::Milliseconds(1));
  EXPECT_LE(grant->granted_at, absl::Now());
}

TEST_F(MysqlWorkerLeaseTest, NoTables_SaysHowToMakeThem) {
  const absl::Status status = MysqlWorkerLeaseStore::Open(FreshMariadbDatabase()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_NE(status.message().find("locus lease create"), absl::string_view::npos) << status;
}

TEST_F(MysqlWorkerLeaseTest, AnotherVersion_IsRefused) {
  Sql("UPDATE locus_worker_birth SET version = 2");
  const absl::Status status = MysqlWorkerLeaseStore::Open(options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.message().find("newer locus"), absl::string_view::npos) << status;
}

// A replica that is promoted has another server ID.
TEST_F(MysqlWorkerLeaseTest, AnotherServer_IsALossWhateverTheCallAnswers) {
  CreateSpace();
  WorkerAcquire wish = Wish("a");
  wish.range = {0, 0};
  auto grant = store_->Acquire(space_, wish);
  ASSERT_TRUE(grant.ok()) << grant.status();
  Sql("UPDATE locus_worker_space SET identity = 'server/another'");
  wish.nonce = "b";  // its call is refused, because the only ID is taken
  EXPECT_EQ(store_->Acquire(space_, wish).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Show(space_)->losses, 1u);
  const absl::Time rest_until = store_->Show(space_)->rest_until;
  EXPECT_GE(rest_until, grant->ceiling);
  EXPECT_EQ(store_->Acquire(space_, Wish("c")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(store_->Renew(space_, RenewalOf(*grant, "a")).ok());
  EXPECT_EQ(store_->Show(space_)->rest_until, rest_until) << "noticed once";
}

// A dump that is put back makes the tables anew.
TEST_F(MysqlWorkerLeaseTest, DumpPutBack_IsALoss) {
  CreateSpace();
  auto a = store_->Acquire(space_, Wish("a"));
  ASSERT_TRUE(a.ok()) << a.status();
  Sql("CREATE TABLE kept AS SELECT * FROM locus_worker_birth;"
      "DROP TABLE locus_worker_birth;"
      "CREATE TABLE locus_worker_birth (one TINYINT NOT NULL CHECK (one = 1),"
      " version INT NOT NULL, PRIMARY KEY (one)) WITH SYSTEM VERSIONING;"
      "INSERT INTO locus_worker_birth SELECT * FROM kept; DROP TABLE kept");
  EXPECT_EQ(store_->Acquire(space_, Wish("b")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_->Show(space_)->losses, 1u);
}

TEST_F(MysqlWorkerLeaseTest, ManyRecords_AreReadInPages) {
  CreateSpace();
  Sql("INSERT INTO locus_workers SELECT 'orders', seq, 5, 0, 4000000000000, 1, 1, 'x', '{}'"
      " FROM seq_0_to_2499");
  WorkerAcquire wish = Wish("a");
  wish.range = {0, 2500};
  auto grant = store_->Acquire(space_, wish);
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->worker, 2500u);
  EXPECT_EQ(store_->Show(space_)->workers.size(), 2501u);
}

// A caller that finds no space makes none while another one may do so: it would write over the
// other's.
TEST_F(MysqlWorkerLeaseTest, SpaceMadeByTwoAtOnce_IsThatOfTheFirst) {
  auto other = SqlSession::Open(options_);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE((*other)->Run(absl::StrCat("START TRANSACTION;", mysql::kLockNewSpaces)).ok());
  std::atomic<bool> done = false;
  absl::Status created;
  std::thread caller([&] {
    created = store_->Create(space_, {.first_ever = true}, absl::Now());
    done = true;
  });
  EXPECT_TRUE(WaitUntil([&] {
    return done || SharedMariadb().Value(absl::StrCat(
                       "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = \"",
                       mysql::kLockNewSpaces, "\"")) == "1";
  }));
  EXPECT_FALSE(done);
  auto made = (*other)->Run(
      "INSERT INTO locus_worker_space VALUES ('orders', 4000000000000, 0, 3, 'server/another');"
      "COMMIT");
  EXPECT_TRUE(made.ok()) << made.status();
  caller.join();
  EXPECT_TRUE(created.ok()) << created;
  EXPECT_EQ(absl::ToUnixMillis(store_->Show(space_)->rest_until), 4'000'000'000'000);
}

TEST_F(MysqlWorkerLeaseTest, StalledServer_IsUnavailableWithinTheBound) {
  MariadbServer server;
  ASSERT_TRUE(server.Start()) << server.LogTail();
  MysqlOptions options = server.OptionsFor("locus_leases");
  ASSERT_TRUE(MysqlWorkerLeaseStore::CreateSchema(options).ok());
  auto patient = MustOpen(options);
  ASSERT_TRUE(patient->Create(space_, {.first_ever = true}, absl::Now()).ok());
  auto grant = patient->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  options.timeout = absl::Seconds(1);
  auto store = MustOpen(options);
  server.Stall();
  EXPECT_EQ(store->Renew(space_, RenewalOf(*grant, "a")).status().code(),
            absl::StatusCode::kUnavailable);
  server.Resume();
  EXPECT_TRUE(WaitUntil([&] { return store->Renew(space_, RenewalOf(*grant, "a")).ok(); }));
  // The same call again, like a caller that got no answer.
  auto again = patient->Acquire(space_, Wish("a"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->token, grant->token);
}

}  // namespace
}  // namespace locus
