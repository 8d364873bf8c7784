// SPDX-License-Identifier: Apache-2.0
// Moves of tables that have triggers of the service, forth and back under live writers: each write
// of a client fires them once, on the shard that accepted it.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "migration/fence/moved_tables.h"
#include "migration/fence/user_triggers.h"
#include "tests/run/live_move.h"

namespace locus {
namespace {

using internal::Phase;

class UserTriggersMoveTest : public LiveMoveFixture {
 protected:
  void MakeTrigger(size_t server, const std::string& name, const std::string& when,
                   const std::string& statements) {
    Sql(server, absl::StrCat("CREATE TRIGGER ", name, " ", when, " FOR EACH ROW ",
                             internal::UserTriggerBegin(move_.movers), " ", statements, "; END"));
  }
  void MakeTriggers(size_t server) {
    Sql(server,
        "ALTER TABLE orders ADD changes INT NOT NULL DEFAULT 0, ADD last BIGINT;"
        "CREATE TABLE history (id INT AUTO_INCREMENT PRIMARY KEY, order_id BIGINT UNSIGNED,"
        " kind CHAR(1), version BIGINT UNSIGNED)");
    MakeTrigger(server, "count_insert", "BEFORE INSERT ON orders", "SET NEW.changes = 1");
    MakeTrigger(server, "count_update", "BEFORE UPDATE ON orders",
                "SET NEW.changes = OLD.changes + 1");
    const std::string note = "INSERT INTO history (order_id, kind, version) VALUES ";
    MakeTrigger(server, "note_insert", "AFTER INSERT ON orders",
                note + "(NEW.order_id, 'i', NEW.version)");
    MakeTrigger(server, "note_update", "AFTER UPDATE ON orders",
                note + "(NEW.order_id, 'u', NEW.version)");
    MakeTrigger(server, "note_delete", "AFTER DELETE ON orders",
                note + "(OLD.order_id, 'd', OLD.version)");
    // It writes into another moved table, whose row events are in the log as well.
    MakeTrigger(server, "last_of_item", "AFTER UPDATE ON items",
                "UPDATE orders SET last = NEW.value WHERE order_id = NEW.order_id");
  }
};

TEST_F(UserTriggersMoveTest, ForthAndBackUnderTraffic_EachWriteFiresThemOnce) {
  for (size_t server : {0u, 1u}) MakeTriggers(server);
  MakeOldOrders({0}, 50);
  std::unique_ptr<LiveOrders> orders;
  // After the cleanup versions do not rise by themselves.
  MoveUnderTraffic(6, {10000, 3000, 10000}, LastWrites::kBeforeCleanup, orders);
  if (HasFatalFailure()) return;

  std::map<std::string, std::string> expected = orders->Expected();
  AddOldOrders({0}, 50, expected);
  EXPECT_EQ(OrdersOn(1), expected);
  EXPECT_EQ(Value(1,
                  "SELECT COUNT(*) FROM locus_shop.orders JOIN locus_shop.items USING (order_id)"
                  " WHERE orders.changes > 1 AND NOT orders.last <=> items.value"),
            "0");
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_shop.orders WHERE changes = 0"), "0");
  // Every change has a version of its own.
  std::set<std::string> changes;
  std::map<std::string, int> alive;
  for (size_t server : {0u, 1u}) {
    const auto results =
        servers_[server]->Sql("SELECT order_id, kind, version FROM locus_shop.history");
    EXPECT_GT(results[0].rows.size(), 100u) << "each shard accepted writes";
    for (const auto& row : results[0].rows) {
      EXPECT_TRUE(changes.insert(absl::StrCat(*row[0], *row[1], " ", *row[2])).second)
          << *row[0] << " " << *row[1] << " " << *row[2] << " is told twice";
      if (*row[1] != "u") alive[*row[0]] += *row[1] == "i" ? 1 : -1;
    }
  }
  for (const auto& [id, count] : alive) EXPECT_EQ(count, expected.contains(id) ? 1 : 0) << id;
}

// A REPLACE that deletes a row, and whose trigger inserts into another moved table meanwhile.
TEST_F(UserTriggersMoveTest, ReplaceWhoseTriggerInserts_IsRefusedAsEver) {
  for (size_t server : {0u, 1u}) {
    MakeTrigger(server, "item_of_old", "AFTER DELETE ON orders",
                "INSERT INTO items (order_id, line) VALUES (OLD.order_id, 9)");
  }
  Sql(0, "INSERT INTO orders (order_id, value) VALUES (7, 7)");
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  auto shop = mysql::ShardLink::Create(As(0, "shop")).value();
  const auto refused = shop->Run("REPLACE INTO orders (order_id, value) VALUES (7, 8)");
  EXPECT_THAT(std::string(refused.status().message()), ::testing::HasSubstr("LOCUS_REFUSED"));
  runner->End();
}

TEST_F(UserTriggersMoveTest, TriggerMadeAfterTheGuards_RunsBeforeThem) {
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  runner->End();
  auto fence = ShardFence::Create(As(0, "mover"), mysql::FenceOptionsOf(move_)).value();
  MakeTrigger(0, "late", "BEFORE INSERT ON orders",
              "SET NEW.order_id = NEW.order_id, NEW.value = 2");
  EXPECT_THAT(std::string(fence.VerifyTriggers().message()),
              ::testing::HasSubstr("runs before a trigger of the service"));
  ASSERT_TRUE(fence.InstallGuards().ok());
  auto tables = mysql::MovedTables::Create(As(0, "mover"), move_.tables, move_.movers).value();
  ASSERT_TRUE(tables.Install(move_.name).ok());
  EXPECT_TRUE(fence.VerifyTriggers().ok()) << fence.VerifyTriggers();
  EXPECT_TRUE(tables.Verify(move_.name).ok()) << tables.Verify(move_.name);
  EXPECT_EQ(Value(0,
                  "SELECT GROUP_CONCAT(TRIGGER_NAME ORDER BY ACTION_ORDER) FROM"
                  " information_schema.TRIGGERS WHERE EVENT_OBJECT_TABLE = 'orders' AND"
                  " EVENT_MANIPULATION = 'INSERT' AND ACTION_TIMING = 'BEFORE'"),
            "late,locus_guard_orders_insert,locus_version_orders_before_insert");
}

}  // namespace
}  // namespace locus
