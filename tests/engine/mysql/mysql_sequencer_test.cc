// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/testing/manual_clock.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

std::unique_ptr<MysqlSequencer> MustOpenSequencer(const MysqlOptions& options,
                                                  const SequencerOptions& sequencer = {}) {
  auto opened = MysqlSequencer::Open(options, sequencer);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

class MysqlSequencerUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return MustOpenSequencer(options_, options);
  }

 private:
  const MysqlOptions options_ = FreshMariadbDatabase();
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "mariadb",
                             [] { return std::make_unique<MysqlSequencerUnderTest>(); }}));

class MysqlSequencerTest : public MysqlTest {
 protected:
  // Rows of keys that were forgotten `seconds` ago.
  void StoreForgotten(int rows, int seconds) {
    std::string values;
    for (int i = 0; i < rows; ++i) {
      absl::StrAppend(&values, i > 0 ? "," : "", "('sequencer', 'old", seconds, "/", i,
                      "', 5, 1, UTC_TIMESTAMP(6) - INTERVAL ", seconds,
                      " SECOND, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))");
    }
    server_.Sql(absl::StrCat("INSERT INTO ", db_, ".sequence VALUES ", values));
  }
  std::string RowsLeft() {
    return server_.Value(absl::StrCat("SELECT COUNT(*) FROM ", db_, ".sequence"));
  }
};

TEST_F(MysqlSequencerTest, Next_IsOneStatement) {
  auto sequencer = MustOpenSequencer(options_);
  ASSERT_TRUE(sequencer->Next("a").ok());
  auto counts = [&] {
    return server_
        .Sql(
            "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE"
            " VARIABLE_NAME IN ('COM_INSERT', 'COM_UPDATE', 'COM_BEGIN', 'COM_COMMIT', "
            "'COM_DELETE')")[0]
        .rows;
  };
  auto before = counts();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sequencer->Next("a").ok());
  auto after = counts();
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(std::stoi(*after[i][1]) - std::stoi(*before[i][1]),
              *before[i][0] == "COM_INSERT" ? 100 : 0)
        << *before[i][0];
  }
}

TEST_F(MysqlSequencerTest, RowsOfForgottenKeys_GoAfterAMinuteInBatches) {
  StoreForgotten(250, 61);
  StoreForgotten(3, 30);
  auto sequencer = MustOpenSequencer(options_);
  ASSERT_TRUE(sequencer->Next("stays").ok());
  auto store = MustOpen(options_);
  CreateSpace(*store);
  Allocate(*store);
  server_.Sql(absl::StrCat("UPDATE ", db_, ".sequence SET expire_time = '2020-01-01' WHERE type_id",
                           " = 'space:orders'"));
  EXPECT_EQ(sequencer->RemoveExpired(120).value(), 120u);
  EXPECT_EQ(sequencer->RemoveExpired(1000).value(), 130u);
  EXPECT_EQ(sequencer->RemoveExpired(1000).value(), 0u);
  EXPECT_EQ(RowsLeft(), "5") << "three fresh, one that stays, one section";
}

TEST_F(MysqlSequencerTest, SequencerWithATtl_RemovesForgottenKeysByTheWay) {
  StoreForgotten(150, 61);
  SequencerOptions with_ttl;
  with_ttl.ttl = absl::Hours(1);
  ASSERT_TRUE(MustOpenSequencer(options_, with_ttl)->Next("a").ok());
  EXPECT_EQ(RowsLeft(), "51");
}

// The first life's row is deleted, so that its version is gone with it.
TEST_F(MysqlSequencerTest, ReturnIntoALaterLifeOfADeletedKey_IsTooLate) {
  auto sequencer = MustOpenSequencer(options_);
  SequenceBatch first = sequencer->NextBatch("a", 10).value();
  server_.Sql(absl::StrCat("DELETE FROM ", db_, ".sequence"));
  SequenceBatch second = sequencer->NextBatch("a", 10).value();
  EXPECT_EQ(second.last(), first.last());
  EXPECT_EQ(sequencer->Return("a", first, 5).value(), false);
  EXPECT_EQ(sequencer->Get("a").value(), 10);
}

TEST_F(MysqlSequencerTest, ServersDefaults_DoNotChangeTheArithmetic) {
  constexpr char kOdd[] =
      "SET GLOBAL sql_mode='NO_UNSIGNED_SUBTRACTION,NO_BACKSLASH_ESCAPES,ANSI_QUOTES,ORACLE';"
      "SET GLOBAL autocommit=0; SET GLOBAL time_zone='+13:00';"
      "SET GLOBAL tx_isolation='SERIALIZABLE'; SET GLOBAL completion_type=CHAIN;"
      "SET GLOBAL collation_server=utf8mb4_general_ci; SET GLOBAL sql_select_limit=0";
  constexpr char kBack[] =
      "SET GLOBAL sql_mode=DEFAULT; SET GLOBAL autocommit=1; SET GLOBAL time_zone='SYSTEM';"
      "SET GLOBAL tx_isolation='REPEATABLE-READ'; SET GLOBAL completion_type=NO_CHAIN;"
      "SET GLOBAL collation_server=DEFAULT; SET GLOBAL sql_select_limit=DEFAULT";
  server_.Sql(kOdd);
  {
    MysqlOptions options = FreshMariadbDatabase();
    SequencerOptions limited;
    limited.max_value = 10;
    auto sequencer = MustOpenSequencer(options, limited);
    EXPECT_EQ(sequencer->NextBatch("A", 10)->last(), 10);
    EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("A").status()));
    EXPECT_EQ(sequencer->Next("a\\'\"").value(), 1);
    EXPECT_EQ(MustOpenSequencer(options, limited)->Get("A").value(), 10) << "committed";
    auto store = MustOpen(options);
    CreateSpace(*store);
    uint64_t end = EndOf(Allocate(*store));
    EXPECT_EQ(FirstOf(Allocate(*MustOpen(options))), end);
    EXPECT_LT(absl::AbsDuration(Allocate(*store).granted_at - absl::Now()), absl::Minutes(5));
  }
  server_.Sql(kBack);
}

TEST_F(MysqlSequencerTest, BadOptions_AreRefused) {
  SequencerOptions bad;
  bad.step = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(MysqlSequencer::Open(options_, bad).status()));
}

TEST_F(MysqlSequencerTest, ForkedChild_IsRefusedAndTouchesNoSocket) {
  auto sequencer = MustOpenSequencer(options_);
  ASSERT_TRUE(sequencer->Next("a").ok());
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(sequencer->Next("a").status());
    sequencer.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  EXPECT_EQ(sequencer->Stats().connects, 1u);
}

// The server's clock has passed the time at which the counter is forgotten, the caller's has not:
// one of them has jumped, and a process may hold numbers of the counter.
TEST_F(MysqlSequencerTest, ServersClockThatJumpedAhead_ForgetsNoCounter) {
  fakes::ManualClock behind(absl::Now() - absl::Hours(1));
  SequencerOptions with_ttl;
  with_ttl.ttl = absl::Hours(1);
  auto sequencer = MysqlSequencer::Open(options_, with_ttl, behind).value();
  ASSERT_EQ(sequencer->NextBatch("a", 10)->last(), 10);
  const auto jump = [this] {
    server_.Sql(absl::StrCat("UPDATE ", db_, ".sequence SET expire_time = UTC_TIMESTAMP(6) - ",
                             "INTERVAL 2 MINUTE"));
  };
  jump();
  EXPECT_EQ(sequencer->RemoveExpired(10).value(), 0u);
  EXPECT_FALSE(sequencer->SetIfNotExists("a", 3).value());
  jump();
  EXPECT_EQ(sequencer->Get("a").value(), 10);
  jump();
  EXPECT_EQ(sequencer->Next("a").value(), 11);
  jump();
  behind.Advance(absl::Hours(1));
  EXPECT_EQ(sequencer->Next("a").value(), 1) << "forgotten by both";
}

// Server and caller are one host. In the test the server's clock has jumped from the start.
TEST_F(MysqlSequencerTest, ClockOfServerAndCallerThatJumpedAhead_ForgetsNoCounter) {
  fakes::ManualClock clock(absl::Now() - absl::Hours(3));
  SequencerOptions with_ttl;
  with_ttl.ttl = absl::Hours(1);
  auto sequencer = MysqlSequencer::Open(options_, with_ttl, clock).value();
  ASSERT_EQ(sequencer->NextBatch("a", 10)->last(), 10);
  const auto pass = [this] {
    server_.Sql(absl::StrCat("UPDATE ", db_, ".sequence SET expire_time = UTC_TIMESTAMP(6) - ",
                             "INTERVAL 1 MINUTE"));
  };
  pass();
  clock.Jump(absl::Hours(3));
  EXPECT_FALSE(sequencer->SetIfNotExists("a", 3).value());
  clock.Advance(absl::Minutes(59));
  EXPECT_EQ(sequencer->Next("a").value(), 11);
  clock.Advance(absl::Minutes(1));
  pass();
  EXPECT_EQ(sequencer->Next("a").value(), 1) << "it has been so late for the ttl";
}

// The server was 10 minutes behind its callers and is stepped to the right time. In the test the
// row's time and the caller's clock go back instead.
TEST_F(MysqlSequencerTest, ServersClockThatWasBehind_ForgetsNoCounterOnceItIsSet) {
  fakes::ManualClock ahead(absl::Now() + absl::Minutes(10));
  SequencerOptions with_ttl;
  with_ttl.ttl = absl::Minutes(2);
  auto sequencer = MysqlSequencer::Open(options_, with_ttl, ahead).value();
  ASSERT_EQ(sequencer->NextBatch("a", 5)->last(), 5);
  server_.Sql(absl::StrCat("UPDATE ", db_, ".sequence SET expire_time = expire_time - INTERVAL ",
                           "10 MINUTE"));
  ahead.Jump(-absl::Minutes(10));
  EXPECT_EQ(sequencer->Next("a").value(), 6);
}

}  // namespace
}  // namespace locus
