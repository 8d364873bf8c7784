// SPDX-License-Identifier: Apache-2.0
// Moves as runners make them, on two servers, under live writers.
#include "migration/run/move_runner.h"

#include <fstream>
#include <iostream>
#include <set>

#include "absl/strings/match.h"
#include "migration/fence/moved_tables.h"
#include "migration/run/move_control.h"
#include "nlohmann/json.hpp"
#include "tests/run/live_move.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;

class MoveRunnerTest : public LiveMoveFixture {
 protected:
  // The runner says that it waits for the target.
  bool WaitsForTarget() {
    return absl::StrContains(Record().status, absl::StrCat("127.0.0.1:", servers_[1]->port()));
  }
};

TEST_F(MoveRunnerTest, ForthBackAndForthAgainUnderTraffic_EveryAcknowledgedWriteIsThereOnce) {
  // Some are of vnodes that stay.
  MakeOldOrders({0, 50, 99, 100, 150, 200, 299, 300}, 50);
  std::unique_ptr<LiveOrders> orders;
  MoveUnderTraffic(6, {10000, 3000, 10000}, LastWrites::kBehindIt, orders);
  if (HasFatalFailure()) return;

  std::map<std::string, std::string> expected = orders->Expected();
  AddOldOrders({0, 50, 99, 200, 299}, 50, expected);
  EXPECT_EQ(OrdersOn(1), expected);
  EXPECT_EQ(OrdersOn(0).size(), 0u);
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "150") << "those that stay";
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.items"), "0");
  EXPECT_EQ(Value(1,
                  "SELECT COUNT(*) FROM locus_shop.items JOIN locus_shop.orders USING (order_id,"
                  " value)"),
            absl::StrCat(orders->Expected().size()));
  const RoutingTable table = publisher_->Current().value();
  EXPECT_EQ(internal::SightOf(table, leg_).kind, internal::TableSight::Kind::kEnded);
  EXPECT_EQ(table.OwnerOf(ShardGene::FromUint16(uint16_t{150})).id, 1u);
  // The table that began the move is not the runner's.
  std::vector<PublishedEpoch> published = publisher_->History(100).value();
  std::erase_if(published, [](const PublishedEpoch& each) { return each.note.author.empty(); });
  EXPECT_GE(published.size(), 3u);
  for (const PublishedEpoch& each : published) {
    EXPECT_EQ(each.note.reason, absl::StrCat("move ", move_.name)) << each.epoch;
  }
  std::cout << orders->done() << " writes, " << orders->refusals() << " refusals, epoch "
            << table.epoch() << "\n"
            << Record().status << "\n";
}

TEST_F(MoveRunnerTest, CleanupWhereALaterMoveHasUsedTheVnodes_DeletesNoRow) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_50");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  Ask([&](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  // As a move back does that is being prepared, and will copy its rows here.
  Sql(0, "UPDATE locus_fence SET token = NULL WHERE lo = 0");
  Ask([&](Wish& wish) { wish.ending = Ending::kCleanup; });
  ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); })) << Record().status;
  EXPECT_THAT(Record().wish.hold, HasSubstr("says that a later move has used vnodes 0-99"));
  EXPECT_EQ(OrdersOn(0).size(), 50u);
  runner->End();
}

// Changes that a replica lacks which is promoted after the end.
TEST_F(MoveRunnerTest, CleanedUpAgain_RemovesTheTriggersThatCameBack) {
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  Ask([&](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  Ask([&](Wish& wish) { wish.ending = Ending::kCleanup; });
  WaitForPhase(Phase::kDone);
  runner->End();
  auto control = mysql::MoveControl::Create(move_).value();
  EXPECT_THAT(control->LookForRemains(publisher_->Current().value()).value().marks,
              ::testing::IsEmpty());
  ASSERT_TRUE(mysql::MovedTables::Create(As(1, "mover"), move_.tables, move_.movers)
                  ->Install(move_.name)
                  .ok());
  EXPECT_THAT(control->LookForRemains(publisher_->Current().value()).value().marks,
              ::testing::ElementsAre("orders-b: locus_moved_table"));
  const absl::Status again = control->CleanAgain();
  ASSERT_TRUE(again.ok()) << again;
  auto second = StartRunner("two");
  WaitForPhase(Phase::kDone);
  second->End();
  EXPECT_THAT(control->LookForRemains(publisher_->Current().value()).value().marks,
              ::testing::IsEmpty());
  EXPECT_EQ(Value(1,
                  "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_NAME LIKE"
                  " 'locus_version%'"),
            "0");
}

TEST_F(MoveRunnerTest, Abort_LeavesTheTargetAsItWas) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_500");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  ASSERT_EQ(OrdersOn(1).size(), 500u);
  Ask([&](Wish& wish) { wish.ending = Ending::kAbort; });
  WaitForPhase(Phase::kAborted);
  runner->End();
  EXPECT_TRUE(runner->status.ok()) << runner->status;
  EXPECT_EQ(OrdersOn(1).size(), 0u);
  EXPECT_EQ(OrdersOn(0).size(), 500u);
  EXPECT_EQ(internal::SightOf(publisher_->Current().value(), leg_).kind,
            internal::TableSight::Kind::kAbsent);
}

TEST_F(MoveRunnerTest, AbortBeforeTheStart_ChangesNoShard) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_10");
  ASSERT_TRUE(records_->Begin(move_.name, leg_, {}).ok());
  Ask([&](Wish& wish) { wish.ending = Ending::kAbort; });
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kAborted);
  runner->End();
  EXPECT_EQ(OrdersOn(0).size(), 10u);
  EXPECT_EQ(Value(0,
                  "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ="
                  " 'locus_shop'"),
            "0");
  EXPECT_EQ(internal::SightOf(publisher_->Current().value(), leg_).kind,
            internal::TableSight::Kind::kAbsent);
}

TEST_F(MoveRunnerTest, TargetAwayInAStep_WaitsForItAndLosesNothing) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_100");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  servers_[1]->Stall();
  Ask([&](Wish& wish) { wish.goal = 2500; });
  ASSERT_TRUE(WaitUntil([&] { return WaitsForTarget(); })) << Record().status;
  EXPECT_TRUE(WaitUntil([&] { return Record().silent < absl::Seconds(2); }))
      << "it lives, and waits";
  servers_[1]->Resume();
  WaitForShare(2500);
  servers_[1]->KillHard();
  ASSERT_TRUE(servers_[1]->Start());
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  servers_[0]->KillHard();
  ASSERT_TRUE(servers_[0]->Start());
  Ask([&](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  runner->End();
  EXPECT_EQ(OrdersOn(1).size(), 100u);
}

// The triggers of versions stand for another move already, so the source has tombstones from before
// the stream; and the target has some that no stream brought.
TEST_F(MoveRunnerTest, DeletedBeforeTheStream_InsertedAgainOnTheTarget_IsKeptOnTheWayBack) {
  for (size_t server : {0, 1}) {
    auto tables =
        mysql::MovedTables::Create(As(server, "mover"), move_.tables, move_.movers).value();
    ASSERT_TRUE(tables.Install("another").ok());
  }
  Sql(0,
      "INSERT INTO orders (order_id, value) VALUES (7, 1), (8, 1); DELETE FROM orders WHERE"
      " order_id = 7");
  Sql(1, "INSERT INTO orders (order_id, value, version) VALUES (8, 1, 50); DELETE FROM orders");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  Sql(1, "INSERT INTO orders (order_id, value) VALUES (7, 2)");
  Ask([&](Wish& wish) { wish.goal = 0; });
  WaitForShare(0);
  runner->End();
  const std::map<std::string, std::string> expected = {{"7", "2"}, {"8", "1"}};
  EXPECT_EQ(OrdersOn(0), expected);
  EXPECT_EQ(OrdersOn(1), expected);
}

TEST_F(MoveRunnerTest, FenceChangedByHand_IsHeldUntilItIsMended) {
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Sql(0, "UPDATE locus_fence SET own_lo = 1 WHERE lo = 200");
  ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); })) << Record().status;
  EXPECT_THAT(Record().wish.hold, HasSubstr("changed by hand"));
  Sql(0, "UPDATE locus_fence SET own_lo = 0 WHERE lo = 200");
  Ask([&](Wish& wish) {
    wish.hold.clear();
    wish.goal = 2500;
  });
  WaitForShare(2500);
}

TEST_F(MoveRunnerTest, WishChangedMeanwhile_NoPhaseIsEntered) {
  Begin();
  ASSERT_TRUE(*records_->Claim(move_.name, 7, "one", absl::Seconds(10)));
  const mysql::MoveRecord seen = Record();
  Ask([&](Wish& wish) { wish.ending = Ending::kAbort; });
  EXPECT_TRUE(absl::IsAborted(records_->SetPhase(seen, Phase::kPrepared)));
  EXPECT_EQ(Record().phase, Phase::kPlanned);
  EXPECT_TRUE(records_->SetPhase(Record(), Phase::kAborting).ok());
}

TEST_F(MoveRunnerTest, TwoMovesOfSomeVnodesBegunAtOnce_OneIsRefused) {
  auto other_link = mysql::ShardLink::Create(As(0, "mover")).value();
  mysql::MoveRecords other(*other_link);
  for (int round = 0; round < 20; ++round) {
    absl::Status here, there;
    std::thread thread([&] {
      there = other.Begin(absl::StrCat("there", round), {1, 3, {{50, 250}}}, {});
    });
    here = records_->Begin(absl::StrCat("here", round), leg_, {});
    thread.join();
    EXPECT_NE(here.ok(), there.ok()) << here << there;
    EXPECT_THAT(std::string((here.ok() ? there : here).message()), HasSubstr("has not ended"));
    Sql(0, "UPDATE locus_move SET phase = 'DONE'");
  }
}

// Together they are larger than an answer may be. Records stay when their moves have ended.
TEST_F(MoveRunnerTest, AnyNumberOfEndedMoves_AreListed) {
  Begin();
  Sql(0,
      "INSERT INTO locus_move (move, source, target, vnodes, phase, started, goal, step_by,"
      " dwell_ms, hold, ending, keep, serial, run, runner, status) SELECT CONCAT('past', seq),"
      " source, target, vnodes, 'DONE', started, goal, step_by, dwell_ms, hold, ending, keep,"
      " serial, run, runner, REPEAT('x', 8000) FROM locus_move JOIN seq_1_to_3000");
  const auto all = records_->List();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 3001u);
}

TEST_F(MoveRunnerTest, LongHold_IsCutBetweenLetters) {
  Begin();
  std::string why(989, 'x');
  for (int i = 0; i < 50; ++i) why += "\xE8\xAE\xA2";
  Ask([&](Wish& wish) { wish.hold = why; });
  // The limit of 990 bytes would cut the first of the letters.
  EXPECT_EQ(Record().wish.hold, absl::StrCat(std::string(989, 'x'), "..."));
  // Each of these is shown by four letters.
  Ask([&](Wish& wish) { wish.hold = std::string(990, '\x01'); });
  EXPECT_THAT(Record().wish.hold, HasSubstr("\\x01\\x01"));
  EXPECT_TRUE(records_->Note(move_.name, "hold", 0, std::string(100'000, '\xFF')).ok());
}

// Between one reading of the gates and the next the command becomes due: with the wish, and when
// the dwell has passed.
TEST_F(MoveRunnerTest, GateCommand_IsAskedBeforeEachStep) {
  Begin();
  mysql::RunnerOptions options = TestRunner("one", directory_ / "");
  const std::string asked = directory_ / "asked";
  options.gates.command = absl::StrCat("echo $LOCUS_SHARE-$LOCUS_NEXT_SHARE >> ", asked);
  auto runner = StartRunner(options);
  WaitForPhase(Phase::kReady);
  Ask([&](Wish& wish) {
    wish.goal = 10000;
    wish.by = 1000;
    wish.dwell = absl::Milliseconds(130);
  });
  WaitForShare(10000);
  runner->End();
  std::set<std::string> steps;
  std::ifstream file(asked);
  for (std::string line; std::getline(file, line);) steps.insert(line);
  std::set<std::string> all;
  for (int share = 0; share < 10000; share += 1000) {
    all.insert(absl::StrCat(share, "-", share + 1000));
  }
  EXPECT_EQ(steps, all);
}

// Waits of the runner that is gone continue, and do not start again.
TEST_F(MoveRunnerTest, WaitsOfARunnerThatIsGone_ContinueWithTheNext) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_100");
  Begin();
  mysql::RunnerOptions options = TestRunner("one", directory_ / "");
  options.gates.command = "exit 3";
  options.gates.patience = absl::Hours(1);
  auto runner = StartRunner(options);
  WaitForPhase(Phase::kReady);
  Ask([&](Wish& wish) {
    wish.goal = 2500;
    wish.dwell = absl::Hours(1);
  });
  const auto waited = [&](const char* timer) {
    const auto status = nlohmann::json::parse(Record().status);
    return status.at("waits").at(timer).get<int64_t>();
  };
  ASSERT_TRUE(WaitUntil([&] { return waited("gates_fail_ms") > 4000; })) << Record().status;
  EXPECT_GT(waited("at_share_ms"), 4000);
  runner->End();
  const auto status = nlohmann::json::parse(Record().status);
  EXPECT_EQ(status.at("compared").at("rows"), 100);
  EXPECT_GT(status.at("compared").at("estimated"), 0);
  // One that has not compared them itself.
  constexpr char kByAnother[] = "\"compared\":{\"rows\":0,";
  options.name = "two";
  auto second = StartRunner(options);
  std::string told;
  ASSERT_TRUE(WaitUntil([&] {
    const mysql::MoveRecord record = Record();
    told = record.status;
    return absl::StrContains(told, kByAnother) && absl::StrContains(told, "exit 3");
  }));
  const auto next = nlohmann::json::parse(told).at("waits");
  EXPECT_GT(next.at("gates_fail_ms"), 4000);
  EXPECT_GT(next.at("at_share_ms"), 4000);
  // A wish that was changed has its whole patience again.
  second->End();
  Ask([&](Wish& wish) { wish.dwell = absl::ZeroDuration(); });
  const uint64_t serial = Record().serial;
  options.name = "three";
  auto third = StartRunner(options);
  ASSERT_TRUE(WaitUntil([&] {
    told = Record().status;
    return absl::StrContains(told, "exit 3") &&
           absl::StrContains(told, absl::StrCat("\"serial\":", serial, ","));
  }));
  EXPECT_LT(nlohmann::json::parse(told).at("waits").at("gates_fail_ms"), 4000);
}

TEST_F(MoveRunnerTest, TwoRunners_OneActsAndTheOtherTakesOver) {
  Begin();
  auto one = StartRunner("one");
  WaitForPhase(Phase::kReady);
  ASSERT_EQ(Record().runner, "one");
  mysql::RunnerOptions patient = TestRunner("two", directory_ / "");
  patient.take_over_after = absl::Seconds(5);  // on a busy machine the first one may stand for one
  auto two = StartRunner(patient);
  Ask([&](Wish& wish) { wish.goal = 5000; });
  WaitForShare(5000);
  EXPECT_EQ(Record().runner, "one");
  one->End();
  EXPECT_TRUE(absl::IsCancelled(one->status)) << one->status;
  ASSERT_TRUE(WaitUntil([&] { return Record().runner == "two"; }));
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  two->End();
}

TEST_F(MoveRunnerTest, RowChangedPastTheGuards_IsFoundAndHeld) {
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_500");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  // As an applied binary log would: by the account that the guards let pass, past the streams.
  auto mover = SqlSession::Open(As(1, "mover")).value();
  ASSERT_TRUE(
      mover->Run("SET sql_log_bin = 0; UPDATE orders SET value = 7777 WHERE order_id = 77").ok());
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  Ask([&](Wish& wish) { wish.ending = Ending::kFinalize; });
  ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); }));
  EXPECT_THAT(Record().wish.hold, HasSubstr("orders 77"));
  EXPECT_EQ(Record().phase, Phase::kFinalizing);
}

// Servers that fold names: the log has "locus_shop", even if the endpoint has capitals.
class FoldedNamesTest : public MoveFixture {
 protected:
  std::vector<std::string> MoreLines() const override { return {"lower_case_table_names=1"}; }
};

TEST_F(FoldedNamesTest, DatabaseInOtherLetters_IsFollowed) {
  for (MoveShard* shard : {&move_.source, &move_.target}) shard->server.database = "Locus_Shop";
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  if (HasFatalFailure()) return;
  Sql(0, "INSERT INTO orders (order_id, value) VALUES (77, 5)");
  EXPECT_TRUE(WaitUntil(
      [&] { return Value(1, "SELECT value FROM locus_shop.orders WHERE order_id = 77") == "5"; }));
}

}  // namespace
}  // namespace locus
