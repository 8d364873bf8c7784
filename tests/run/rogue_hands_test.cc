// SPDX-License-Identifier: Apache-2.0
// Changes by hand to tables, rows and routing tables while orders move.
#include <iostream>

#include "tests/run/fault_fixture.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;

class RogueHandsTest : public FaultFixture {
 protected:
  // A table that moves 0..99 and 200..299 as `moves` say, published over the newest one.
  void PublishByHand(std::vector<VnodeMove> moves, std::vector<VnodeRange> ranges = {{65535, 1}}) {
    ASSERT_TRUE(WaitUntil([&] {
      const RoutingTable newest = publisher_->Current().value();
      const RoutingTable table =
          RoutingTable::Make(newest.epoch() + 1, shards_, ranges, moves).value();
      GuardedChanges named;
      for (const VnodeSpan& span : GuardedChangesBetween(&newest, table).moves) {
        named.moves.push_back(span);
      }
      return publisher_->Publish(table, newest.epoch(), named).ok();
    }));
  }
  std::vector<VnodeMove> Moves(uint32_t share, uint64_t step) {
    return {{0, 99, 2, share, step}, {200, 299, 2, share, step}};
  }
  uint64_t PublishedStep() { return internal::SightOf(publisher_->Current().value(), leg_).step; }
  std::unique_ptr<SqlSession> MoverOn(size_t server) {
    return SqlSession::Open(As(server, "mover")).value();
  }
  void Resume() {
    Ask([](Wish& wish) { wish.hold.clear(); });
  }
};

TEST_F(RogueHandsTest, TablesPublishedByHand_AreCopedWithOrHeld) {
  StartReady(4);
  StepTo(2500);
  const uint64_t step = PublishedStep();

  // Another move: ours stays as it was, and both continue.
  std::vector<VnodeMove> more = Moves(2500, step);
  more.push_back({1000, 1099, 2, 0, 0});
  PublishByHand(more);
  StepTo(5000);
  if (HasFatalFailure()) return;
  ASSERT_NE(publisher_->Current()->MoveOf(ShardGene::FromUint16(uint16_t{1000})), nullptr);

  // Another share of the same step is put right.
  PublishByHand(Moves(1234, PublishedStep()));
  WaitForShare(5000);

  // Another share of another step, and no move at all, need an operator.
  const uint64_t good = publisher_->Current()->epoch();
  PublishByHand(Moves(1234, PublishedStep() + 1000));
  WaitForHold("another publisher changed it; publish an earlier epoch again with `locus table");
  for (const bool again : {false, true}) {
    ASSERT_TRUE(WaitUntil([&] { return !StatusSays("\"published\":{\"share\":5000"); }));
    const PreparedTable restored = PrepareRestore(*publisher_, good).value();
    ASSERT_TRUE(publisher_
                    ->Publish(restored.table, restored.expected(),
                              GuardedChangesBetween(&*restored.newest, restored.table))
                    .ok());
    ASSERT_TRUE(WaitUntil([&] { return StatusSays("\"published\":{\"share\":5000"); }));
    Resume();
    WaitForShare(5000);
    if (again || HasFailure()) break;
    PublishByHand({});
    WaitForHold("the routing table does not have this move any more");
  }
  StepTo(7500);
  ExpectNothingLost();
}

TEST_F(RogueHandsTest, RowsChangedByHandOnTheTarget_AreReportedAndNotSpread) {
  StartReady(4);
  StepTo(5000);
  uint64_t sequence = 1u << 20;
  const std::string id = Number(NextIn(7, sequence, 6000, 9999));
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", id, ", 1)"));
  ASSERT_TRUE(WaitUntil([&] { return OrdersOn(1).contains(id); }));
  // By the account that the guards let pass: the order is the source's.
  ASSERT_TRUE(
      MoverOn(1)->Run(absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", id)).ok());
  WaitForHold("met 1 writes past the guards: update of row");
  EXPECT_EQ(OrdersOn(0)[id], "1");
  orders_->WaitForWrites(50);
  // Differences of the shards are found at the last comparison, if not before.
  StepTo(10000);
  Ask([](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForHold(absl::StrCat("orders ", id));
  EXPECT_EQ(Record().phase, Phase::kFinalizing);
  // By a client, now that the target accepts the order.
  Sql(1, absl::StrCat("DELETE FROM orders WHERE order_id = ", id));
  Resume();
  WaitForPhase(Phase::kFinalized);
  orders_->Stop();
  EXPECT_EQ(OrdersOn(1), orders_->Expected());
}

TEST_F(RogueHandsTest, LogOfTheSourceAppliedByHandToTheTarget_IsHeldAndNothingIsLost) {
  StartReady(2);
  uint64_t sequence = 1u << 20;
  const std::string mine = Number(NextIn(7, sequence, 0, 4999));
  Sql(0, "FLUSH BINARY LOGS");
  const std::string file = servers_[0]->Sql("SHOW MASTER STATUS")[0].rows[0][0].value();
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", mine, ", 1)"));
  Sql(0, absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", mine));
  Sql(0, "FLUSH BINARY LOGS");
  StepTo(5000);
  // Rows that the target has accepted since are newer than those of the log.
  Sql(1, absl::StrCat("UPDATE orders SET value = 3 WHERE order_id = ", mine));
  ASSERT_TRUE(WaitUntil([&] { return OrdersOn(0)[mine] == "3"; }));

  const std::string sql = directory_ / "log.sql", out = directory_ / "applied.log";
  ASSERT_EQ(RunProgram({"mariadb-binlog", "--database=locus_shop", "--table=orders",
                        servers_[0]->path(absl::StrCat("data/", file))},
                       sql),
            0);
  // As people do: on, past what cannot be applied.
  RunProgram({"mariadb", "--no-defaults", "--force", "--host=127.0.0.1",
              absl::StrCat("--port=", servers_[1]->port()), "--user=root", "locus_shop"},
             out, sql);
  WaitForHold("the stream from the target ");
  std::cout << Record().wish.hold << "\n";
  EXPECT_EQ(OrdersOn(0)[mine], "3") << "the source keeps what was acknowledged";
}

TEST_F(RogueHandsTest, OnlineSchemaChangeOfTheSource_IsHeldAndNothingIsLost) {
  StartReady(1);  // a writer that follows the routing table
  StepTo(5000);
  if (HasFatalFailure()) return;
  const std::string columns = "order_id, value, version";
  Sql(0,
      absl::StrCat(
          "CREATE TABLE _orders_new LIKE orders; ALTER TABLE _orders_new ADD note INT;"
          "CREATE TRIGGER osc_del AFTER DELETE ON orders FOR EACH ROW DELETE IGNORE FROM"
          " _orders_new WHERE order_id = OLD.order_id;"
          "CREATE TRIGGER osc_upd AFTER UPDATE ON orders FOR EACH ROW REPLACE INTO _orders_new (",
          columns,
          ") VALUES (NEW.order_id, NEW.value, NEW.version);"
          "CREATE TRIGGER osc_ins AFTER INSERT ON orders FOR EACH ROW REPLACE INTO _orders_new (",
          columns, ") VALUES (NEW.order_id, NEW.value, NEW.version);",
          "INSERT IGNORE INTO _orders_new (", columns, ") SELECT ", columns,
          " FROM orders LOCK IN SHARE MODE;"
          "RENAME TABLE orders TO _orders_old, _orders_new TO orders; DROP TABLE _orders_old"));
  // Whichever is noticed first: the new trigger, the new table, or by the stream that writes rows.
  ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); })) << Record().status;
  EXPECT_THAT(Record().wish.hold,
              ::testing::AnyOf(HasSubstr("table \"orders\" may have been changed while it moves: "),
                               HasSubstr("CREATE TRIGGER of table \"orders\""),
                               HasSubstr("the target has 4 columns, the source 3")));
  orders_->WaitForWrites(50);
  // The fences still say which shard accepts an order, but the new table of the source has no
  // guards.
  Sql(0, "ALTER TABLE orders DROP note");
  AskFor(0);
  WaitForHold("trigger");
  // As they are on the other shard, the guards first.
  const auto names = servers_[1]->Sql(
      "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'locus_shop' AND"
      " EVENT_OBJECT_TABLE = 'orders' ORDER BY TRIGGER_NAME");
  for (const auto& row : names[0].rows) {
    const auto shown = servers_[1]->Sql(absl::StrCat("SHOW CREATE TRIGGER locus_shop.", *row[0]));
    Sql(0, *shown[0].rows[0][2]);
  }
  AskFor(0);
  ASSERT_TRUE(WaitUntil([&] { return Published(0); })) << Record().status << Record().wish.hold;
  ExpectEachOnItsOwner(0);
}

// RESET MASTER gives the numbers of GTIDs again. A stream that finds its own number in the new log
// would go on behind it, and leave out what stands before.
TEST_F(RogueHandsTest, LogBegunAgainBetweenReaders_StopsTheStreamUntilItIsSeededAgain) {
  StartReady(4);
  runner_->End();
  const std::string before = Value(0, "SELECT @@GLOBAL.gtid_binlog_pos");
  const uint64_t read = std::stoull(before.substr(before.rfind('-') + 1));
  servers_[0]->Sql("RESET MASTER");
  ASSERT_TRUE(WaitUntil([&] {
    const std::string now = Value(0, "SELECT @@GLOBAL.gtid_binlog_pos");
    return !now.empty() && std::stoull(now.substr(now.rfind('-') + 1)) > read + 100;
  }));
  runner_ = StartFaulty(OptionsOf("two"), *publisher_);
  WaitForHold("the log was begun anew, by RESET MASTER or from a backup");
  Ask([](Wish& wish) {
    wish.repair = {.guards = true, .forth = true};
    wish.hold.clear();
  });
  WaitForPhase(Phase::kReady);
  StepTo(5000);
  ExpectNothingLost();
}

}  // namespace
}  // namespace locus
