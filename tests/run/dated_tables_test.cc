// SPDX-License-Identifier: Apache-2.0
// Moves of tables that are partitioned by a TIMESTAMP, and so have it in their primary key; and of
// tables that were never read before.
#include "absl/strings/str_cat.h"
#include "tests/run/live_move.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;

class DatedTablesTest : public LiveMoveFixture {
 protected:
  // Sessions of clients are in another zone than those of the tools.
  std::vector<std::string> MoreLines() const override { return {"default_time_zone=+05:30"}; }
};

TEST_F(DatedTablesTest, ForthAndBackUnderTraffic_AllRowsAreThere) {
  for (size_t server : {0u, 1u}) {
    Sql(server,
        "DROP TABLE items; CREATE TABLE items (order_id BIGINT UNSIGNED NOT NULL, line INT NOT"
        " NULL, kind ENUM('sold', 'gift') NOT NULL DEFAULT 'gift', created TIMESTAMP NOT NULL"
        " DEFAULT CURRENT_TIMESTAMP, value BIGINT, version BIGINT UNSIGNED NOT NULL DEFAULT 1,"
        " PRIMARY KEY (order_id, line, kind, created)) PARTITION BY RANGE (UNIX_TIMESTAMP(created))"
        " (PARTITION none VALUES LESS THAN (1), PARTITION old VALUES LESS THAN (1577836800),"
        " PARTITION recent VALUES LESS THAN MAXVALUE)");
  }
  move_.tables[1].primary_key = {"order_id", "line", "kind", "created"};
  MakeOldOrders({0}, 300);
  // In each partition, and several of one order at neighbouring seconds.
  Sql(0,
      "SET sql_mode = ''; INSERT INTO items (order_id, line, kind, created, value) SELECT"
      " (999 << 32) + seq, seq % 3, 1 + seq % 2, IF(seq % 3 = 0, '0000-00-00', FROM_UNIXTIME("
      "1577836500 + seq * 2)), seq FROM seq_1_to_300;"
      "INSERT INTO items (order_id, line, kind, created, value) SELECT order_id, line, kind,"
      " FROM_UNIXTIME(UNIX_TIMESTAMP(created) + 1), value FROM items");
  std::unique_ptr<LiveOrders> orders;
  MoveUnderTraffic(4, {10000, 0, 10000}, LastWrites::kBeforeCleanup, orders);
  if (HasFatalFailure()) return;

  std::map<std::string, std::string> expected = orders->Expected();
  const size_t live = expected.size();
  AddOldOrders({0}, 300, expected);
  EXPECT_EQ(OrdersOn(1), expected);
  EXPECT_EQ(Value(1,
                  "SELECT COUNT(*) FROM locus_shop.items JOIN locus_shop.orders USING (order_id)"
                  " WHERE items.value = orders.value"),
            absl::StrCat(600 + live));
  EXPECT_EQ(
      Value(1,
            "SELECT CONCAT(COUNT(*), ' ', SUM(UNIX_TIMESTAMP(created) = 0), ' ', "
            "SUM(UNIX_TIMESTAMP(created) -"
            " 1577836500 IN (2 * value, 2 * value + 1))) FROM locus_shop.items WHERE order_id >>"
            " 32 = 999"),
      "600 100 400");
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.items"), "0");
}

// Begun without a preflight. MovableTablesTest shows what would come of each.
TEST_F(DatedTablesTest, TablesThatDiffer_AreRefusedByTheRunBeforeAnythingChanges) {
  const struct {
    const char *source, *target, *undo_source, *undo_target, *says;
  } kinds[] = {
      {"ADD s VARCHAR(20), ADD UNIQUE u (s)", "ADD s VARCHAR(20), ADD UNIQUE u (s(1))",
       "DROP KEY u, DROP s", "DROP KEY u, DROP s", "unique key u: s on the source, s(1)"},
      {"ADD CONSTRAINT few CHECK (value < 9)", "COMMENT ''", "DROP CONSTRAINT few", "COMMENT ''",
       "CHECK (`value` < 9): there on the source, missing"},
      {"ADD CONSTRAINT parent FOREIGN KEY (order_id) REFERENCES orders (order_id)", "COMMENT ''",
       "DROP FOREIGN KEY parent", "COMMENT ''", "only on the source"},
      {"COMMENT ''", "ADD CONSTRAINT parent FOREIGN KEY (order_id) REFERENCES orders (order_id)",
       "COMMENT ''", "DROP FOREIGN KEY parent", "only on the target"},
  };
  const auto alter = [&](const char* of_source, const char* of_target) {
    Sql(0, absl::StrCat("ALTER TABLE items ", of_source));
    Sql(1, absl::StrCat("ALTER TABLE items ", of_target));
  };
  std::unique_ptr<Running> runner;
  for (const auto& kind : kinds) {
    alter(kind.source, kind.target);
    if (runner == nullptr) {
      Begin();
      runner = StartRunner("one");
    } else {
      Ask([](Wish& wish) { wish.hold.clear(); });
    }
    ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); }, absl::Minutes(1)));
    EXPECT_THAT(Record().wish.hold, HasSubstr(kind.says));
    EXPECT_EQ(Record().phase, Phase::kPlanned);
    for (size_t server : {0u, 1u}) {
      EXPECT_EQ(Value(server,
                      "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_NAME LIKE"
                      " 'locus%'"),
                "0");
    }
    alter(kind.undo_source, kind.undo_target);
  }
  Ask([](Wish& wish) { wish.hold.clear(); });
  WaitForPhase(Phase::kReady);
}

}  // namespace
}  // namespace locus
