// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/schema_change.h"

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Kind = StatementEffect::Kind;

StatementEffect Of(std::string_view statement, std::string_view session = "shop") {
  return EffectOf(stream::ParseStatement(statement, session), "shop", {"orders", "order`items"},
                  {"locus_fence"});
}

TEST(StatementEffectTest, StatementsOfTheTables_ChangeThem) {
  EXPECT_EQ(Of("ALTER TABLE Orders ADD a INT"), (StatementEffect{Kind::kTable, "orders"}));
  EXPECT_EQ(Of("TRUNCATE `order``items`"), (StatementEffect{Kind::kTable, "order`items"}));
  EXPECT_EQ(Of("RENAME TABLE x TO y, Shop.orders TO z", "far").kind, Kind::kTable);
  EXPECT_EQ(Of("ALTER TABLE orders ADD a INT", "far"), StatementEffect{});
  EXPECT_EQ(Of("CREATE TABLE preorders (orders INT)"), StatementEffect{});
  EXPECT_EQ(EffectOf(stream::ParseStatement("TRUNCATE TABLE \xDFtable", "shop"), "shop",
                     {"\xC3\x9Ftable"}, {})
                .kind,
            Kind::kTable);
  EXPECT_EQ(EffectOf(stream::ParseStatement("TRUNCATE orders", "far"), "", {"orders"}, {}).kind,
            Kind::kTable)
      << "of any database";
}

TEST(StatementEffectTest, TriggersOfOthers_MayUnguard) {
  EXPECT_EQ(Of("DROP TRIGGER locus_guard_orders_insert"),
            (StatementEffect{Kind::kTriggers, "orders"}));
  EXPECT_EQ(Of("DROP TRIGGER far.locus_guard_orders_insert"), StatementEffect{});
  EXPECT_EQ(Of("DROP TRIGGER orders_log"), StatementEffect{});
  EXPECT_EQ(Of("CREATE TRIGGER mine BEFORE INSERT ON orders FOR EACH ROW SET @a = 1"),
            (StatementEffect{Kind::kTriggers, "orders"}));
  EXPECT_EQ(
      Of("CREATE DEFINER=`m`@`h` TRIGGER locus_guard_orders_insert BEFORE INSERT ON orders FOR"
         " EACH ROW SET @a = 1"),
      StatementEffect{});
}

TEST(StatementEffectTest, DroppedDatabase_TakesAllTables) {
  EXPECT_EQ(Of("DROP DATABASE shop"), (StatementEffect{Kind::kDropsTables, ""}));
  EXPECT_EQ(Of("CREATE OR REPLACE SCHEMA shop", "far").kind, Kind::kDropsTables);
  EXPECT_EQ(Of("DROP DATABASE far"), StatementEffect{});
}

TEST(StatementEffectTest, RowsAsText_CountWhereTheStreamNeedsThem) {
  EXPECT_EQ(Of("INSERT INTO orders VALUES (1)"), (StatementEffect{Kind::kRows, "orders"}));
  EXPECT_EQ(Of("UPDATE far.x JOIN shop.orders USING (a) SET b = 1", "far"),
            (StatementEffect{Kind::kRows, "orders"}));
  EXPECT_EQ(Of("UPDATE locus_fence SET own_lo = 1"), (StatementEffect{Kind::kRows, "locus_fence"}));
  EXPECT_EQ(Of("TRUNCATE locus_fence"), StatementEffect{});
  EXPECT_EQ(Of("REPLACE INTO heartbeat VALUES ('orders')"), StatementEffect{});
  EXPECT_EQ(Of("SELECT f()", "far").kind, Kind::kUnknown);
}

}  // namespace
}  // namespace locus::internal
