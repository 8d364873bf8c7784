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
#include "src/engine/mysql/store_time.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/segment/segment_store_contract.h"
#include "tests/support/child_process.h"
#include "tests/support/fork_with_threads.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

class MysqlUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = MustOpen(options_);
    MysqlStoreTime::Tell(*store, clock_);
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
  const MysqlOptions options_ = FreshMariadbDatabase();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "mariadb", [] { return std::make_unique<MysqlUnderTest>(); }}));

TEST_F(MysqlTest, StoreTime_IsTheServersClock) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  absl::Time before = absl::Now();
  SegmentReply many = Allocate(*store);
  SegmentReply at_once = Allocate(*store);
  absl::Time after = absl::Now();
  for (const SegmentReply& reply : {many, at_once}) {
    EXPECT_GE(reply.granted_at, before - absl::Microseconds(1));
    EXPECT_LE(reply.granted_at, after);
  }
}

// The one statement decides as the rules do: compared with a store in memory, by the same clock.
TEST_F(MysqlTest, RandomAllocations_AreAsTheRulesSay) {
  fakes::ManualClock clock;
  auto store = MustOpen(options_);
  MysqlStoreTime::Tell(*store, clock);
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
    std::vector<SegmentRequest> requests;
    for (uint64_t n = 1 + (random() % 4 == 0 ? 2 : 0); n > 0; --n) {
      auto section = static_cast<uint16_t>((i + n) % 5);
      uint64_t seen = random() % 50 == 0 ? ends[section] + 640 : random() % 2 * ends[section];
      requests.push_back({section, uint64_t{64} << random() % 12, seen});
    }
    SegmentReply got = store->Allocate(SpaceName(), space, requests, clock.Now()).value();
    SegmentReply expected = twin.Allocate(SpaceName(), space, requests, clock.Now()).value();
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

TEST_F(MysqlTest, AllocationOfOneSection_IsOneStatement) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  Allocate(*store);
  auto transactions = [this] {
    return std::stoi(
        server_.Value("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
                      " WHERE VARIABLE_NAME = 'COM_BEGIN'"));
  };
  int before = transactions();
  for (int i = 0; i < 20; ++i) Allocate(*store);
  EXPECT_EQ(transactions(), before);
}

// A call that only reads the space's row must not wait for an allocation under way.
TEST_F(MysqlTest, SpaceLockedByAnother_AllocationOfOneSectionProceeds) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  Allocate(*store);
  auto blocker = SqlSession::Open(options_).value();
  ASSERT_TRUE(blocker->Run("START TRANSACTION; SELECT * FROM locus_space FOR UPDATE").ok());
  EXPECT_TRUE(TryAllocate(*store).ok());
}

TEST_F(MysqlTest, SectionLockedByAnother_IsUnavailableWithinTheTimeout) {
  MysqlOptions options = options_;
  options.timeout = absl::Seconds(1);
  auto patient = MustOpen(options_);
  CreateSpace(*patient);
  Allocate(*patient);
  auto store = MustOpen(options);
  auto blocker = SqlSession::Open(options_).value();
  ASSERT_TRUE(blocker->Run("START TRANSACTION; SELECT * FROM `sequence` FOR UPDATE").ok());
  absl::Time start = absl::Now();
  absl::Status status = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(40)) << "the server's own limit is 50 s";
  ASSERT_TRUE(blocker->Run("ROLLBACK").ok());
  EXPECT_TRUE(WaitUntil([&] { return TryAllocate(*store).ok(); }));
  EXPECT_GE(store->Stats().failures, 1u);
}

TEST_F(MysqlTest, AllocationOfAllSections_IsOneTransaction) {
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
  std::vector<SegmentRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) requests.push_back({section, 64, 0});
  for (const char* when : {"first use", "later"}) {
    int64_t before = commits();
    auto reply = store->Allocate(SpaceName(), SpaceOptions(), requests, absl::Now());
    ASSERT_TRUE(reply.ok()) << reply.status();
    for (const SegmentGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
    EXPECT_EQ(commits(), before + 1) << when;
  }
}

TEST_F(MysqlTest, VersionNumber_RisesWithEveryAllocation) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  for (int i = 1; i <= 3; ++i) {
    Allocate(*store);
    EXPECT_EQ(server_.Value("SELECT version_number FROM " + db_ + ".sequence"), absl::StrCat(i));
  }
}

TEST_F(MysqlTest, KilledSession_IsMadeAgain) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  std::string id =
      server_.Value("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '" + db_ + "'");
  server_.Sql("KILL CONNECTION " + id);
  ASSERT_TRUE(WaitUntil([&] {
    return server_.Value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = " + id) ==
           "0";
  }));
  EXPECT_EQ(FirstOf(Allocate(*store)), end);
  EXPECT_EQ(store->Stats().connects, 2u);
}

TEST_F(MysqlTest, ForkedChild_IsRefusedAndMayOpenItsOwn) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  uint64_t end = EndOf(Allocate(*store));
  ChildProcess child([&] {
    if (!absl::IsFailedPrecondition(TryAllocate(*store).status())) return 1;
    store.reset();
    return TryAllocate(*MustOpen(options_)).ok() ? 0 : 2;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(FirstOf(Allocate(*store)), end + 4096);
  EXPECT_EQ(store->Stats().connects, 1u);
}

TEST_F(MysqlTest, SignalPipe_IsLeftAsItWas) {
  struct sigaction action;
  MustOpen(options_);
  sigaction(SIGPIPE, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

class MysqlSchemaTest : public ::testing::Test {
 protected:
  void Sql(const std::string& statement) {
    server_.Sql(absl::StrCat("USE ", options_.database, ";", statement));
  }
  MariadbServer& server_ = SharedMariadb();
  const MysqlOptions options_ = [this] {
    static int made = 0;
    return server_.OptionsFor(absl::StrCat("locus_schema_", ++made));
  }();
};

TEST_F(MysqlSchemaTest, NoTables_AreCreatedOnlyWhenAsked) {
  absl::Status status = MysqlSegmentStore::Open(options_).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), options_.database)) << status;
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  CreateSpace(*MustOpen(options_));
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok()) << "changes nothing";
  EXPECT_TRUE(TryAllocate(*MustOpen(options_)).ok());
}

TEST_F(MysqlSchemaTest, NewerVersion_IsRefusedAndLeftAlone) {
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  Sql("UPDATE locus_schema SET version = 99");
  for (absl::Status status :
       {MysqlSegmentStore::CreateSchema(options_), MysqlSegmentStore::Open(options_).status(),
        MysqlSequencer::Open(options_, {}).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "99")) << status;
  }
}

TEST_F(MysqlSchemaTest, CreationThatWasCutOff_IsFinished) {
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  Sql("DROP TABLE locus_space; DELETE FROM locus_schema");
  EXPECT_TRUE(absl::IsFailedPrecondition(MysqlSegmentStore::Open(options_).status()));
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  CreateSpace(*MustOpen(options_));
}

TEST_F(MysqlSchemaTest, TablesOfOthers_AreRefusedAndLeftAlone) {
  Sql("CREATE TABLE `sequence` (mine INT)");
  absl::Status status = MysqlSegmentStore::CreateSchema(options_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  Sql("SELECT mine FROM `sequence`");
}

TEST_F(MysqlSchemaTest, BadOptions_AreRefused) {
  for (auto spoil : std::vector<std::function<void(MysqlOptions&)>>{
           [](MysqlOptions& o) { o.hosts.clear(); }, [](MysqlOptions& o) { o.hosts[0].port = 0; },
           [](MysqlOptions& o) { o.database.clear(); },
           [](MysqlOptions& o) { o.password.append("\0x", 2); },
           [](MysqlOptions& o) { o.timeout = absl::Milliseconds(999); },
           [](MysqlOptions& o) { o.connect_timeout = absl::InfiniteDuration(); },
           [](MysqlOptions& o) { o.max_connections = 0; }}) {
    MysqlOptions options = options_;
    spoil(options);
    EXPECT_TRUE(absl::IsInvalidArgument(MysqlSegmentStore::Open(options).status()));
  }
}

TEST_F(MysqlSchemaTest, WrongPassword_IsPermanentAndNotInTheMessage) {
  MysqlOptions options = options_;
  options.password = "hunter2-wrong";
  absl::Status status = MysqlSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "hunter2")) << status;
  options = options_;
  options.database = "locus_not_there";
  EXPECT_TRUE(absl::IsFailedPrecondition(MysqlSegmentStore::Open(options).status()));
}

TEST_F(MysqlSchemaTest, WeakDurability_IsRefusedUnlessAccepted) {
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  for (const char* weak : {"0", "2"}) {
    server_.Sql(absl::StrCat("SET GLOBAL innodb_flush_log_at_trx_commit = ", weak));
    absl::Status status = MysqlSegmentStore::Open(options_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "innodb_flush_log_at_trx_commit")) << status;
  }
  MysqlOptions accepting = options_;
  accepting.accept_weak_durability = true;
  EXPECT_TRUE(MysqlSegmentStore::Open(accepting).ok());
  server_.Sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
  EXPECT_TRUE(MysqlSegmentStore::Open(options_).ok());
}

TEST_F(MysqlSchemaTest, HostThatIsNotThere_NextOneIsTaken) {
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options_).ok());
  MysqlOptions options = options_;
  options.hosts.insert(options.hosts.begin(), {"127.0.0.1", FreePort()});
  EXPECT_TRUE(MysqlSegmentStore::Open(options).ok());
  options.hosts.pop_back();
  absl::Status status = MysqlSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(options.hosts[0].port))) << status;
}

}  // namespace
}  // namespace locus
