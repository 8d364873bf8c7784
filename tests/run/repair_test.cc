// SPDX-License-Identifier: Apache-2.0
// Running moves that lose triggers or logs, and how `locus move repair` mends them.
#include <iostream>

#include "absl/strings/match.h"
#include "migration/cut_over/wishes.h"
#include "migration/run/move_control.h"
#include "migration/run/repair_findings.h"
#include "tests/run/live_orders.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Repair;
using internal::Wish;
using mysql::RepairFinding;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RepairTest : public MoveFixture {
 protected:
  void SetUp() override {
    MoveFixture::SetUp();
    control_ = mysql::MoveControl::Create(move_).value();
  }
  void BeginAndWaitUntilReady() {
    Begin();
    runner_ = StartRunner("one");
    WaitForPhase(Phase::kReady);
  }
  void StepTo(uint32_t share) {
    Ask([&](Wish& wish) { wish.goal = share; });
    WaitForShare(share);
  }
  // Waits for a hold that says `text`.
  void WaitForHold(const std::string& text) {
    ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(Record().wish.hold, text); }))
        << Record().wish.hold << "\n"
        << Record().status;
  }
  std::vector<std::string> Findings() {
    std::vector<std::string> lines;
    auto findings = control_->Findings();
    EXPECT_TRUE(findings.ok()) << findings.status();
    if (!findings.ok()) return lines;
    for (const RepairFinding& finding : *findings) {
      lines.push_back(
          absl::StrCat(finding.shard, " ", std::string(ToString(finding.kind)), " ", finding.what));
    }
    return lines;
  }
  // Does the same as the verb: asks for all repairs that the findings need.
  void RepairAsFound() {
    Repair repair;
    const std::vector<RepairFinding> findings = control_->Findings().value();
    for (const RepairFinding& finding : findings) {
      EXPECT_TRUE(finding.by.any()) << finding.what;
      repair.guards = repair.guards || finding.by.guards;
      repair.forth = repair.forth || finding.by.forth;
      repair.back = repair.back || finding.by.back;
    }
    AskFor(repair);
  }
  void AskFor(const Repair& repair) {
    auto asked = control_->Change(
        "repair", [&](const internal::Standing& now) { return AskRepair(now, repair); }, false);
    ASSERT_TRUE(asked.ok()) << asked.status();
    ASSERT_TRUE(WaitUntil([&] { return !Record().wish.repair.any(); })) << Record().status;
  }
  std::vector<std::string> Noted(const std::string& kind) {
    std::vector<std::string> texts;
    const std::vector<mysql::MoveEvent> events = control_->Events(10'000).value();
    for (const mysql::MoveEvent& event : events) {
      if (event.kind == kind) texts.push_back(event.text);
    }
    return texts;
  }
  // Stops the runner, changes orders of `server` by a client, and purges all its logs but the last.
  void PurgeBehind(size_t server, const std::string& statements) {
    runner_->End();
    Sql(server, statements);
    PurgeLogs(server);
    runner_ = StartRunner("another");
  }
  // All but the newest.
  void PurgeLogs(size_t server) {
    // A log that a reader has open, or that the server may need after a crash, stays.
    ASSERT_TRUE(WaitUntil([&] {
      servers_[server]->Sql("FLUSH BINARY LOGS");
      const auto before = servers_[server]->Sql("SHOW BINARY LOGS");
      servers_[server]->Sql(absl::StrCat("PURGE BINARY LOGS TO '", *before[0].rows.back()[0], "'"));
      return servers_[server]->Sql("SHOW BINARY LOGS")[0].rows.size() == 1;
    }));
  }

  std::unique_ptr<mysql::MoveControl> control_;
  std::unique_ptr<Running> runner_;
};

// IDs of vnode 0 whose cohort is below 2500, which the target has at that share, or is not.
std::string IdIn(uint64_t& sequence, bool moved) {
  return Number(moved ? NextIn(0, sequence, 0, 2500) : NextIn(0, sequence, 2500, 10000));
}

TEST_F(RepairTest, GuardDroppedUnderTraffic_IsHeldAndMadeAgainAndRogueRowsAreListed) {
  uint64_t sequence = uint64_t{999} << 32;
  const std::string rogue = IdIn(sequence, false);
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", rogue, ", 1)"));
  BeginAndWaitUntilReady();
  StepTo(2500);
  EXPECT_THAT(Findings(), IsEmpty());
  LiveOrders orders(*publisher_, 4);
  orders.WaitForWrites(50);

  Sql(1, "DROP TRIGGER locus_guard_orders_update; DROP TRIGGER locus_version_items_after_delete");
  EXPECT_THAT(Findings(),
              ElementsAre("orders-b lost trigger locus_guard_orders_update is missing",
                          "orders-b lost trigger locus_version_items_after_delete is missing"));
  WaitForHold("met a change of triggers, behind which writes may have passed the guards: DROP");
  // A client with an old table, which nothing refuses now: the source accepts this order. Its
  // session leaves no trace in the log.
  Sql(1, absl::StrCat("SET sql_log_bin = 0; UPDATE orders SET value = 666 WHERE order_id = ", rogue,
                      "; SET sql_log_bin = 1"));
  orders.WaitForWrites(50);
  Ask([&](Wish& wish) { wish.hold.clear(); });
  WaitForHold("trigger locus_guard_orders_update is missing");

  RepairAsFound();
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_THAT(Noted("mended"), Contains(HasSubstr("trigger locus_guard_orders_update is missing")));
  WaitForHold("the shards differ: 1 rows differ");
  EXPECT_EQ(Record().phase, Phase::kVerifying) << "no step is made before they are equal";
  EXPECT_THAT(Noted("differs"), ElementsAre(HasSubstr("orders " + rogue)));
  EXPECT_EQ(Value(1, "SELECT value FROM locus_shop.orders WHERE order_id = " + rogue), "666")
      << "nothing is changed without an operator";

  // The owner's row is right: a change of it, above both versions, comes by the stream.
  Sql(0, "UPDATE orders SET version = version + 10 WHERE order_id = " + rogue);
  Ask([&](Wish& wish) { wish.hold.clear(); });
  WaitForPhase(Phase::kReady);
  StepTo(10000);
  orders.WaitForWrites(50);
  orders.Stop();
  std::map<std::string, std::string> expected = orders.Expected();
  expected[rogue] = "1";
  EXPECT_EQ(OrdersOn(1), expected);
}

TEST_F(RepairTest, WriteInTheGapThatTheLogShows_IsReportedByTheStreamAndFoundByTheComparison) {
  uint64_t sequence = uint64_t{999} << 32;
  const std::string rogue = IdIn(sequence, false);
  BeginAndWaitUntilReady();
  StepTo(2500);
  Sql(1, "DROP TRIGGER locus_guard_orders_insert");
  Sql(1, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", rogue, ", 666)"));
  WaitForHold("the stream from the target met");
  ASSERT_TRUE(WaitUntil([&] {
    return absl::StrContains(Record().status, "met 1 writes past the guards: insert of row");
  })) << Record().status;
  RepairAsFound();
  WaitForHold("the shards differ: 1 rows differ");
  EXPECT_THAT(Noted("differs"), ElementsAre(HasSubstr("orders " + rogue)));
  EXPECT_THAT(Noted("repair"), Contains(HasSubstr("writes past the guards")));
  EXPECT_EQ(OrdersOn(0).count(rogue), 0u) << "never applied to the other shard";
}

// The guards refuse every write of the shard meanwhile.
TEST_F(RepairTest, MapOfTheFenceDropped_IsMadeAgain) {
  BeginAndWaitUntilReady();
  Ask([](Wish& wish) { wish.hold = "by hand"; });
  Sql(1, "DROP TABLE locus_vnode");
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("orders-b lost table locus_vnode is missing")));
  RepairAsFound();
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_shop.locus_vnode"), "65536");
  EXPECT_THAT(Noted("mended"), Contains(HasSubstr("locus_vnode is missing")));
}

// Guards are made by an account of an administrator by hand, and one is spoiled.
TEST_F(RepairTest, TriggersOfTwoDefinersAndAWrongBody_AreMadeByOneAccount) {
  BeginAndWaitUntilReady();
  const std::string create = servers_[0]
                                 ->Sql("SHOW CREATE TRIGGER locus_shop.locus_guard_items_delete")[0]
                                 .rows[0][2]
                                 .value();
  Sql(0,
      "DROP TRIGGER locus_guard_items_delete; CREATE TRIGGER locus_guard_items_delete BEFORE DELETE"
      " ON items FOR EACH ROW SET @nothing = 1");
  WaitForHold("met a change of triggers");
  EXPECT_THAT(Findings(),
              Contains(HasSubstr("wrong trigger locus_guard_items_delete has another")));
  RepairAsFound();
  WaitForPhase(Phase::kReady);
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_EQ(servers_[0]
                ->Sql("SHOW CREATE TRIGGER locus_shop.locus_guard_items_delete")[0]
                .rows[0][2]
                .value(),
            create);
}

TEST_F(RepairTest, LogOfTheTargetPurged_StreamBackBeginsAgainAndRollbackLosesNothing) {
  uint64_t sequence = uint64_t{999} << 32;
  std::vector<std::string> moved, stays;
  for (int i = 0; i < 6; ++i) moved.push_back(IdIn(sequence, true));
  for (int i = 0; i < 2; ++i) stays.push_back(IdIn(sequence, false));
  for (const auto* ids : {&moved, &stays}) {
    for (const std::string& id : *ids) {
      if (&id == &moved[3]) continue;
      Sql(0,
          absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", id,
                       ", 1); INSERT INTO items (order_id, line, value) VALUES (", id, ", 1, 1)"));
    }
  }
  BeginAndWaitUntilReady();
  StepTo(2500);
  // While no stream follows: changed, deleted, inserted, and deleted and inserted again.
  PurgeBehind(1, absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", moved[0],
                              "; DELETE FROM items WHERE order_id = ", moved[1],
                              "; DELETE FROM orders WHERE order_id = ", moved[1],
                              "; INSERT INTO orders (order_id, value) VALUES (", moved[3], ", 4)",
                              "; DELETE FROM items WHERE order_id = ", moved[2],
                              "; DELETE FROM orders WHERE order_id = ", moved[2],
                              "; INSERT INTO orders (order_id, value) VALUES (", moved[2], ", 5)"));
  Sql(0, absl::StrCat("UPDATE orders SET value = 3 WHERE order_id = ", stays[0]));
  WaitForHold("(1236)");
  EXPECT_THAT(Record().wish.hold, HasSubstr("the stream from the target"));
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("orders-b lost binary log: what the stream to "
                                                "orders-a needs was purged")));
  LiveOrders orders(*publisher_, 4);
  orders.WaitForWrites(50);
  RepairAsFound();
  WaitForPhase(Phase::kReady);
  orders.WaitForWrites(50);
  StepTo(0);
  orders.WaitForWrites(50);
  orders.Stop();
  std::map<std::string, std::string> expected = orders.Expected();
  expected.insert({{moved[0], "2"},
                   {moved[2], "5"},
                   {moved[3], "4"},
                   {moved[4], "1"},
                   {moved[5], "1"},
                   {stays[0], "3"},
                   {stays[1], "1"}});
  EXPECT_EQ(OrdersOn(0), expected);
  EXPECT_EQ(Value(0, absl::StrCat("SELECT COUNT(*) FROM locus_shop.items WHERE order_id IN (",
                                  moved[1], ", ", moved[2], ")")),
            "0");
  StepTo(10000);
  EXPECT_EQ(OrdersOn(1), expected);
}

TEST_F(RepairTest, LogOfTheSourcePurged_StreamForthBeginsAgainAndTheMoveEnds) {
  uint64_t sequence = uint64_t{999} << 32;
  std::vector<std::string> stays;
  for (int i = 0; i < 4; ++i) stays.push_back(IdIn(sequence, false));
  for (const std::string& id : stays) {
    Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", id, ", 1)"));
  }
  BeginAndWaitUntilReady();
  StepTo(2500);
  PurgeBehind(0, absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", stays[0],
                              "; DELETE FROM orders WHERE order_id = ", stays[1]));
  WaitForHold("(1236)");
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("orders-a lost binary log: what the stream to "
                                                "orders-b needs was purged")));
  LiveOrders orders(*publisher_, 4);
  orders.WaitForWrites(20);
  RepairAsFound();
  WaitForPhase(Phase::kReady);
  StepTo(10000);
  orders.WaitForWrites(50);
  orders.Stop();
  Ask([&](Wish& wish) { wish.ending = internal::Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  std::map<std::string, std::string> expected = orders.Expected();
  expected.insert({{stays[0], "2"}, {stays[2], "1"}, {stays[3], "1"}});
  EXPECT_EQ(OrdersOn(1), expected);
}

// The server purges its oldest log between the two statements that look at it.
TEST_F(RepairTest, LogPurgedWhileItIsLookedAt_IsFound) {
  BeginAndWaitUntilReady();
  runner_->End();
  Sql(0, "INSERT INTO orders (order_id, value) VALUES (1, 1)");
  auto source = mysql::ShardLink::Create(As(0, "mover")).value();
  auto target = mysql::ShardLink::Create(As(1, "mover")).value();
  bool purged = false;
  source->set_before_statement([&](const std::string& statement) {
    if (purged || !absl::StrContains(statement, "BINLOG_GTID_POS")) return;
    purged = true;
    PurgeLogs(0);
  });
  const auto findings = mysql::FindingsOf(move_, Record(), *source, *target);
  ASSERT_TRUE(findings.ok()) << findings.status();
  ASSERT_TRUE(purged);
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_THAT(findings->front().what, HasSubstr("was purged"));
}

// As after the promotion of a replica that lacked the last transactions.
TEST_F(RepairTest, LogThatEndsBeforeTheStream_BeginsAgain) {
  BeginAndWaitUntilReady();
  StepTo(2500);
  runner_->End();
  uint64_t sequence = uint64_t{999} << 32;
  Sql(0, absl::StrCat("RESET MASTER; INSERT INTO orders (order_id, value) VALUES (",
                      IdIn(sequence, false), ", 1)"));
  runner_ = StartRunner("another");
  WaitForHold("(1236)");
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("orders-a lost binary log: it ends at ")));
  RepairAsFound();
  WaitForPhase(Phase::kReady);
  StepTo(10000);
  EXPECT_EQ(OrdersOn(1).size(), 1u);
}

// An event that cannot be applied: the table was changed, and changed back.
TEST_F(RepairTest, EventThatCannotBeApplied_IsPassedByBeginningTheStreamAgain) {
  BeginAndWaitUntilReady();
  StepTo(2500);
  Sql(1, "ALTER TABLE orders ADD COLUMN note INT; ALTER TABLE orders DROP COLUMN note");
  WaitForHold("may have been changed while it moves");
  EXPECT_THAT(Findings(), IsEmpty());
  // Nothing is lost, so only this continues.
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(Record().status, R"("next":"repair --reseed target")");
  })) << Record().status;
  AskFor({true, false, true});
  WaitForPhase(Phase::kReady);
  StepTo(0);
}

// No shard would accept the band that the target gives up.
TEST_F(RepairTest, RollbackWhileTheStreamBackIsStopped_WaitsForIt) {
  BeginAndWaitUntilReady();
  StepTo(2500);
  const std::string fence =
      "SELECT GROUP_CONCAT(CONCAT_WS(' ', own_lo, own_hi, step)) FROM"
      " locus_shop.locus_fence";
  const std::string before = servers_[1]->Value(fence);
  auto holder = SqlSession::Open(servers_[0]->Account("locus_shop")).value();
  ASSERT_TRUE(
      holder->Run("BEGIN; SELECT * FROM locus_checkpoint WHERE direction = 0 FOR UPDATE").ok());
  Ask([](Wish& wish) { wish.goal = 0; });
  ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(Record().status, "stands still"); }))
      << Record().status;
  EXPECT_EQ(servers_[1]->Value(fence), before);
  EXPECT_TRUE(holder->Run("COMMIT").ok());
  WaitForShare(0);
}

TEST_F(RepairTest, CheckpointDeletedByHand_IsNotTakenForANewStream) {
  uint64_t sequence = uint64_t{999} << 32;
  const std::string moved = IdIn(sequence, true);
  BeginAndWaitUntilReady();
  StepTo(2500);
  runner_->End();
  Sql(0, "DELETE FROM locus_checkpoint WHERE direction = 0");
  Sql(1, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", moved, ", 1)"));
  runner_ = StartRunner("another");
  WaitForHold("so it is not known how far the stream has come");
  RepairAsFound();
  WaitForPhase(Phase::kReady);
  StepTo(0);
  EXPECT_EQ(OrdersOn(0).count(moved), 1u);
}

}  // namespace
}  // namespace locus
