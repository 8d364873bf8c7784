// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <map>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/memory.h"
#include "src/engine/mariadb/store_time.h"
#include "tests/engine/mariadb/mariadb_fixture.h"
#include "tests/lease/segment_store_contract.h"
#include "tests/support/child_process.h"
#include "tests/support/fork_with_threads.h"

namespace locus {

using internal::MariadbStoreTime;

namespace {

class MariadbUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = MustOpen(options_);
    MariadbStoreTime::Tell(*store, clock_);
    return store;
  }
  void LoseSpaces() override {
    const std::string& db = options_.database;
    SharedMariadb().Sql(absl::StrCat("DELETE FROM ", db, ".`sequence`; DELETE FROM ", db,
                                     ".locus_space; DELETE FROM ", db,
                                     ".sequence_type WHERE type_id LIKE 'space:%'"));
  }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  const MariadbOptions options_ = FreshMariadbDatabase();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "mariadb", [] { return std::make_unique<MariadbUnderTest>(); }}));

TEST_F(MariadbTest, StoreTime_IsTheServersClock) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  absl::Time before = absl::Now();
  LeaseReply many = Lease(*store);
  LeaseReply at_once = Lease(*store);
  absl::Time after = absl::Now();
  for (const LeaseReply& reply : {many, at_once}) {
    EXPECT_GE(reply.granted_at, before - absl::Microseconds(1));
    EXPECT_LE(reply.granted_at, after);
  }
}

// What the one statement decides, decided by the rules: beside a store in memory, by the same
// clock.
TEST_F(MariadbTest, RandomLeases_AreAsTheRulesSay) {
  fakes::ManualClock clock;
  auto store = MustOpen(options_);
  MariadbStoreTime::Tell(*store, clock);
  MemorySegmentStore twin(clock);
  SpaceOptions space;
  space.max_lead = 1 << 18;
  space.floor_epoch = absl::FromUnixNanos(1672531200'123456789);
  for (SegmentStore* each :
       {static_cast<SegmentStore*>(store.get()), static_cast<SegmentStore*>(&twin)}) {
    ASSERT_TRUE(each->Create(SpaceName(), space, clock.Now()).ok());
  }
  std::mt19937_64 random(7);
  std::map<uint16_t, uint64_t> ends;
  for (int i = 0; i < 400; ++i) {
    clock.Advance(absl::Microseconds(random() % 4'000'000));
    std::vector<LeaseRequest> requests;
    for (uint64_t n = 1 + (random() % 4 == 0 ? 2 : 0); n > 0; --n) {
      auto section = static_cast<uint16_t>((i + n) % 5);
      uint64_t seen = random() % 50 == 0 ? ends[section] + 640 : random() % 2 * ends[section];
      requests.push_back({section, uint64_t{64} << random() % 12, seen});
    }
    LeaseReply got = store->Lease(SpaceName(), space, requests, clock.Now()).value();
    LeaseReply expected = twin.Lease(SpaceName(), space, requests, clock.Now()).value();
    EXPECT_EQ(got.loss_noticed, expected.loss_noticed) << i;
    EXPECT_EQ(got.granted_at, expected.granted_at) << i;
    for (size_t n = 0; n < requests.size(); ++n) {
      EXPECT_EQ(got.grants[n].segment, expected.grants[n].segment) << i;
      EXPECT_EQ(got.grants[n].wait, expected.grants[n].wait) << i;
      EXPECT_EQ(got.grants[n].lead, expected.grants[n].lead) << i;
      uint64_t& end = ends[requests[n].section];
      end = std::max(end, got.grants[n].segment.end());
    }
  }
  EXPECT_EQ(store->Show(SpaceName(), clock.Now())->base, twin.Show(SpaceName(), clock.Now())->base);
}

TEST_F(MariadbTest, LeaseOfOneSection_IsOneStatement) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  Lease(*store);
  auto transactions = [this] {
    return std::stoi(
        server_.Value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
                      " WHERE VARIABLE_NAME = 'COM_BEGIN'"));
  };
  int before = transactions();
  for (int i = 0; i < 20; ++i) Lease(*store);
  EXPECT_EQ(transactions(), before);
}

// A lease under way must not be waited for by whoever only reads the space's row.
TEST_F(MariadbTest, SpaceLockedByAnother_LeaseOfOneSectionGoesOn) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  Lease(*store);
  auto blocker = SqlSession::Open(options_).value();
  ASSERT_TRUE(blocker->Run("START TRANSACTION; SELECT * FROM locus_space FOR UPDATE").ok());
  EXPECT_TRUE(TryLease(*store).ok());
}

TEST_F(MariadbTest, SectionLockedByAnother_IsUnavailableWithinTheTimeout) {
  MariadbOptions options = options_;
  options.timeout = absl::Seconds(1);
  auto patient = MustOpen(options_);
  CreateSpace(*patient);
  Lease(*patient);
  auto store = MustOpen(options);
  auto blocker = SqlSession::Open(options_).value();
  ASSERT_TRUE(blocker->Run("START TRANSACTION; SELECT * FROM `sequence` FOR UPDATE").ok());
  absl::Time start = absl::Now();
  absl::Status status = TryLease(*store).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(40)) << "the server's own limit is 50 s";
  ASSERT_TRUE(blocker->Run("ROLLBACK").ok());
  EXPECT_TRUE(WaitUntil([&] { return TryLease(*store).ok(); }));
  EXPECT_GE(store->Stats().failures, 1u);
}

TEST_F(MariadbTest, LeaseOfAllSections_IsOneTransaction) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  auto commits = [&] {
    int64_t count = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(server_.Value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
                                       " WHERE VARIABLE_NAME = 'COM_COMMIT'"),
                         &count));
    return count;
  };
  std::vector<LeaseRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) requests.push_back({section, 64, 0});
  for (const char* when : {"first use", "later"}) {
    int64_t before = commits();
    auto reply = store->Lease(SpaceName(), SpaceOptions(), requests, absl::Now());
    ASSERT_TRUE(reply.ok()) << reply.status();
    for (const LeaseGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
    EXPECT_EQ(commits(), before + 1) << when;
  }
}

TEST_F(MariadbTest, VersionNumber_RisesByEveryLease) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  for (int i = 1; i <= 3; ++i) {
    Lease(*store);
    EXPECT_EQ(server_.Value("SELECT version_number FROM " + db_ + ".sequence"), absl::StrCat(i));
  }
}

TEST_F(MariadbTest, KilledSession_IsMadeAgain) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  std::string id =
      server_.Value("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '" + db_ + "'");
  server_.Sql("KILL CONNECTION " + id);
  ASSERT_TRUE(WaitUntil([&] {
    return server_.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = " + id) ==
           "0";
  }));
  EXPECT_EQ(FirstOf(Lease(*store)), end);
  EXPECT_EQ(store->Stats().connects, 2u);
}

TEST_F(MariadbTest, ForkedChild_IsRefusedAndMayOpenItsOwn) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  uint64_t end = EndOf(Lease(*store));
  ChildProcess child([&] {
    if (!absl::IsFailedPrecondition(TryLease(*store).status())) return 1;
    store.reset();
    return TryLease(*MustOpen(options_)).ok() ? 0 : 2;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(FirstOf(Lease(*store)), end + 4096);
  EXPECT_EQ(store->Stats().connects, 1u);
}

TEST_F(MariadbTest, SignalPipe_IsLeftAsItWas) {
  struct sigaction action;
  MustOpen(options_);
  sigaction(SIGPIPE, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

class MariadbSchemaTest : public ::testing::Test {
 protected:
  void Sql(const std::string& statement) {
    server_.Sql(absl::StrCat("USE ", options_.database, ";", statement));
  }
  MariadbServer& server_ = SharedMariadb();
  const MariadbOptions options_ = [this] {
    static int made = 0;
    return server_.OptionsFor(absl::StrCat("locus_schema_", ++made));
  }();
};

TEST_F(MariadbSchemaTest, NoTables_AreCreatedOnlyWhenAsked) {
  absl::Status status = MariadbSegmentStore::Open(options_).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), options_.database)) << status;
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  CreateSpace(*MustOpen(options_));
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok()) << "changes nothing";
  EXPECT_TRUE(TryLease(*MustOpen(options_)).ok());
}

TEST_F(MariadbSchemaTest, NewerVersion_IsRefusedAndLeftAlone) {
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  Sql("UPDATE locus_schema SET version = 99");
  for (absl::Status status :
       {MariadbSegmentStore::CreateSchema(options_), MariadbSegmentStore::Open(options_).status(),
        MariadbSequencer::Open(options_, {}).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "99")) << status;
  }
}

TEST_F(MariadbSchemaTest, CreationThatWasCutOff_IsFinished) {
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  Sql("DROP TABLE locus_space; DELETE FROM locus_schema");
  EXPECT_TRUE(absl::IsFailedPrecondition(MariadbSegmentStore::Open(options_).status()));
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  CreateSpace(*MustOpen(options_));
}

TEST_F(MariadbSchemaTest, TablesOfOthers_AreRefusedAndLeftAlone) {
  Sql("CREATE TABLE `sequence` (mine INT)");
  absl::Status status = MariadbSegmentStore::CreateSchema(options_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  Sql("SELECT mine FROM `sequence`");
}

TEST_F(MariadbSchemaTest, BadOptions_AreRefused) {
  for (auto spoil : std::vector<std::function<void(MariadbOptions&)>>{
           [](MariadbOptions& o) { o.hosts.clear(); },
           [](MariadbOptions& o) { o.hosts[0].port = 0; },
           [](MariadbOptions& o) { o.database.clear(); },
           [](MariadbOptions& o) { o.password.append("\0x", 2); },
           [](MariadbOptions& o) { o.timeout = absl::Milliseconds(999); },
           [](MariadbOptions& o) { o.connect_timeout = absl::InfiniteDuration(); },
           [](MariadbOptions& o) { o.max_connections = 0; }}) {
    MariadbOptions options = options_;
    spoil(options);
    EXPECT_TRUE(absl::IsInvalidArgument(MariadbSegmentStore::Open(options).status()));
  }
}

TEST_F(MariadbSchemaTest, WrongPassword_IsForSomebodyToRepairAndNotInTheMessage) {
  MariadbOptions options = options_;
  options.password = "hunter2-wrong";
  absl::Status status = MariadbSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "hunter2")) << status;
  options = options_;
  options.database = "locus_not_there";
  EXPECT_TRUE(absl::IsFailedPrecondition(MariadbSegmentStore::Open(options).status()));
}

TEST_F(MariadbSchemaTest, WeakDurability_IsRefusedUnlessAccepted) {
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  for (const char* weak : {"0", "2"}) {
    server_.Sql(absl::StrCat("SET GLOBAL innodb_flush_log_at_trx_commit = ", weak));
    absl::Status status = MariadbSegmentStore::Open(options_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "innodb_flush_log_at_trx_commit")) << status;
  }
  MariadbOptions accepting = options_;
  accepting.accept_weak_durability = true;
  EXPECT_TRUE(MariadbSegmentStore::Open(accepting).ok());
  server_.Sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
  EXPECT_TRUE(MariadbSegmentStore::Open(options_).ok());
}

TEST_F(MariadbSchemaTest, HostThatIsNotThere_NextOneIsTaken) {
  ASSERT_TRUE(MariadbSegmentStore::CreateSchema(options_).ok());
  MariadbOptions options = options_;
  options.hosts.insert(options.hosts.begin(), {"127.0.0.1", FreePort()});
  EXPECT_TRUE(MariadbSegmentStore::Open(options).ok());
  options.hosts.pop_back();
  absl::Status status = MariadbSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(options.hosts[0].port))) << status;
}

}  // namespace
}  // namespace locus
