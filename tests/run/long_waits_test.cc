// SPDX-License-Identifier: Apache-2.0
// How long writers wait for a move behind another transaction that does not end.
#include <iostream>
#include <thread>

#include "migration/fence/moved_tables.h"
#include "tests/run/fault_fixture.h"

namespace locus {
namespace {

using internal::Phase;

// A client of one shard that changes one order again and again, with a pause of 10 ms.
class Changer {
 public:
  Changer(const MysqlOptions& server, const std::string& table, const OrderId& id) {
    session_ = SqlSession::Open(server).value();
    statement_ =
        absl::StrCat("UPDATE ", table, " SET value = value + 1 WHERE order_id = ", Number(id));
    EXPECT_TRUE(session_
                    ->Run(absl::StrCat("INSERT INTO ", table, " (order_id, value) VALUES (",
                                       Number(id), ", 0)"))
                    .ok());
    thread_ = std::thread([this] { Work(); });
  }
  ~Changer() {
    stop_ = true;
    thread_.join();
  }
  uint64_t done() const { return done_; }

 private:
  void Work() {
    while (!stop_) {
      if (session_->Run(statement_).ok()) ++done_;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the pace of the client
    }
  }
  std::unique_ptr<SqlSession> session_;
  std::string statement_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> done_ = 0;
  std::thread thread_;  // the last member: it uses the others
};

class LongWaitsTest : public FaultFixture {
 protected:
  std::unique_ptr<SqlSession> Shop(size_t server) {
    MysqlOptions options = As(server, "shop");
    options.timeout = absl::Seconds(60);
    return SqlSession::Open(options).value();
  }
  std::unique_ptr<Changer> Changes(size_t server, const OrderId& id,
                                   const std::string& table = "orders") {
    MysqlOptions options = As(server, "shop");
    options.timeout = absl::Seconds(60);
    return std::make_unique<Changer>(options, table, id);
  }
  void RunUntilReady() {
    Begin();
    runner_ = StartFaulty(OptionsOf("one"), *publisher_);
    WaitForPhase(Phase::kReady);
  }
  // In a transaction that stays open.
  static std::string Insert(const OrderId& id) {
    return absl::StrCat("START TRANSACTION; INSERT INTO orders (order_id, value) VALUES (",
                        Number(id), ", 1)");
  }
  // Compared with a client of a table that has nothing to do with the move.
  void ExpectTimeFree(size_t server, const Changer& changer, uint64_t percent) {
    Sql(server, "CREATE TABLE aside (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT)");
    auto undisturbed = Changes(server, IdOf(1000, 1), "aside");
    const uint64_t before = changer.done();
    ASSERT_TRUE(WaitUntil([&] { return undisturbed->done() >= 1000; }));
    EXPECT_GE(100 * (changer.done() - before), percent * undisturbed->done()) << Record().status;
    std::cout << changer.done() - before << " of " << undisturbed->done() << " changes\n";
  }
};

TEST_F(LongWaitsTest, StartBehindALongReader_LeavesWritersMostOfTheTime) {
  auto changer = Changes(0, IdOf(7, 1));
  auto reader = Shop(0);
  ASSERT_TRUE(reader->Run("START TRANSACTION; SELECT COUNT(*) FROM orders").ok());
  Begin();
  runner_ = StartFaulty(OptionsOf("one"), *publisher_);
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("was not made"); })) << Record().status;
  ExpectTimeFree(0, *changer, 40);
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  WaitForPhase(Phase::kReady);
}

TEST_F(LongWaitsTest, StartBehindALongWriter_LeavesWritersMostOfTheTimeAndIsHeld) {
  // As after an earlier move of other vnodes that has not ended: all triggers stand.
  for (size_t server : {0, 1}) {
    auto fence = ShardFence::Create(As(server, "mover"), mysql::FenceOptionsOf(move_)).value();
    ASSERT_TRUE(fence.Install(TableAt(1, {}), static_cast<uint32_t>(server + 1)).ok());
    auto tables =
        mysql::MovedTables::Create(As(server, "mover"), move_.tables, move_.movers).value();
    ASSERT_TRUE(tables.Install("earlier").ok());
  }
  gate_patience_ = absl::Seconds(10);
  auto changer = Changes(0, IdOf(50, 1));
  auto writer = Shop(0);
  ASSERT_TRUE(writer->Run(Insert(IdOf(60, 1))).ok());
  Begin();
  for (MoveShard* shard : {&move_.source, &move_.target}) shard->server.timeout = absl::Seconds(5);
  runner_ = StartFaulty(OptionsOf("one"), *publisher_);
  ASSERT_TRUE(WaitUntil([&] { return Record().runner == "one"; }));
  ExpectTimeFree(0, *changer, 40);
  EXPECT_EQ(ToString(Record().phase), "PLANNED");
  WaitForHold("writers under way kept the fence");
  EXPECT_THAT(Record().wish.hold,
              ::testing::ContainsRegex("again and again: .*: session [0-9]+ \\(shop@127.0.0.1:"));
  ASSERT_TRUE(writer->Run("COMMIT").ok());
  AskFor(0);
  WaitForPhase(Phase::kReady);
}

TEST_F(LongWaitsTest, StepBehindALongWriter_LeavesWritersMostOfTheTimeAndIsHeld) {
  gate_patience_ = absl::Seconds(10);
  RunUntilReady();
  auto changer = Changes(0, IdOf(7, 1));
  auto writer = Shop(0);
  ASSERT_TRUE(writer->Run(Insert(IdOf(8, 1))).ok());
  AskFor(2500);
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("writers under way kept the fence"); }));
  ExpectTimeFree(0, *changer, 50);
  WaitForHold("writers under way kept the fence");
  EXPECT_THAT(Record().wish.hold,
              ::testing::ContainsRegex("again and again: .*: session [0-9]+ \\(shop@127.0.0.1:"));
  ASSERT_TRUE(writer->Run("COMMIT").ok());
  StepTo(2500);
}

// A session keeps the row that is to accept the band: the band stays where it is.
TEST_F(LongWaitsTest, StepBehindALongWriterOfTheTarget_DoesNotBegin) {
  RunUntilReady();
  StepTo(2500);
  uint64_t sequence = 0;
  auto changer = Changes(1, NextIn(7, sequence, 0, 2499));
  auto writer = Shop(1);
  ASSERT_TRUE(writer->Run(Insert(NextIn(8, sequence, 0, 2499))).ok());
  AskFor(5000);
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("writers under way kept the fence"); }));
  ExpectTimeFree(1, *changer, 50);
  EXPECT_EQ(Value(0, "SELECT own_lo FROM locus_shop.locus_fence WHERE lo = 0"), "2500");
  ASSERT_TRUE(writer->Run("COMMIT").ok());
  WaitForShare(5000);
}

// The same, but it begins when the band is on its way.
TEST_F(LongWaitsTest, TokenBehindALongWriter_LeavesOtherWritersMostOfTheTime) {
  for (MoveShard* shard : {&move_.source, &move_.target}) shard->server.timeout = absl::Seconds(5);
  uint64_t sequence = 0;
  const OrderId changed = NextIn(7, sequence, 0, 2499), kept = NextIn(8, sequence, 0, 2499);
  auto writer = Shop(1);
  mysql::RunnerOptions options = OptionsOf("one");
  bool writes = false;  // the step may be taken back, and made again
  options.before_statement = [&](const std::string& statement) {
    if (writes || !absl::StrContains(statement, "UPDATE locus_fence SET own_lo = 5000")) return;
    writes = true;
    EXPECT_TRUE(writer->Run(Insert(kept)).ok());
  };
  Begin();
  runner_ = StartFaulty(options, *publisher_);
  WaitForPhase(Phase::kReady);
  StepTo(2500);
  auto changer = Changes(1, changed);
  AskFor(5000);
  ASSERT_TRUE(WaitUntil([&] {
    return Value(0, "SELECT own_lo FROM locus_shop.locus_fence WHERE lo = 0") == "5000";
  }));
  ExpectTimeFree(1, *changer, 25);
  ASSERT_TRUE(writer->Run("COMMIT").ok());
  WaitForShare(5000);
}

// A client keeps a row of the target for longer than the stream tries.
TEST_F(LongWaitsTest, LockedRow_DoesNotKeepTheRunnerFromEnding) {
  RunUntilReady();
  const std::string id = Number(IdOf(7, 1));
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", id, ", 1)"));
  ASSERT_TRUE(WaitUntil([&] { return OrdersOn(1).contains(id); }));
  auto reader = Shop(1);
  ASSERT_TRUE(reader
                  ->Run(absl::StrCat("START TRANSACTION; SELECT * FROM orders WHERE order_id = ",
                                     id, " FOR UPDATE"))
                  .ok());
  Sql(0, absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", id));
  ASSERT_TRUE(WaitUntil([&] {
    // Not INNODB_TRX: the server renews its copy only after 0.1 s without a reader.
    return Value(1,
                 "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
                 " 'Innodb_row_lock_current_waits'") != "0";
  }));
  const auto before = std::chrono::steady_clock::now();
  runner_->End();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(40))
      << "the server's own limit is 50 s";
}

// Each COMMIT of the source hangs.
TEST_F(LongWaitsTest, AcknowledgementsThatNeverCome_LeaveFewSessionsBehind) {
  RunUntilReady();
  StepTo(2500);
  servers_[0]->Sql(
      "SET GLOBAL rpl_semi_sync_master_timeout = 600000;"
      "SET GLOBAL rpl_semi_sync_master_enabled = 1");
  auto sessions = [&] {
    return std::stoi(Value(0,
                           "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER ="
                           " 'mover'"));
  };
  const int before = sessions();
  int most = 0;
  WaitUntil(
      [&] {
        most = std::max(most, sessions());
        return false;
      },
      absl::Seconds(30));
  EXPECT_LE(most, before + 8) << before;
  servers_[0]->Sql("SET GLOBAL rpl_semi_sync_master_enabled = 0");
  StepTo(5000);
}

}  // namespace
}  // namespace locus
