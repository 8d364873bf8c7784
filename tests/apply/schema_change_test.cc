// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/schema_change.h"

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Effect = SchemaChange::Effect;

SchemaChange Of(std::string_view statement, std::string_view session = "shop") {
  return EffectOf(statement, session, "shop", {"orders", "order`items"});
}

TEST(SchemaChangeTest, StatementsOfTheTables_ChangeThem) {
  EXPECT_EQ(Of("ALTER TABLE Orders ADD a INT"), (SchemaChange{Effect::kTable, "orders"}));
  EXPECT_EQ(Of("TRUNCATE `order``items`"), (SchemaChange{Effect::kTable, "order`items"}));
  EXPECT_EQ(Of("RENAME TABLE shop.orders TO shop.o2", "far").effect, Effect::kTable);
  EXPECT_EQ(Of("ALTER TABLE orders ADD a INT", "far"), SchemaChange{});
  EXPECT_EQ(EffectOf("TRUNCATE TABLE \xDFtable", "shop", "shop", {"\xC3\x9Ftable"}).effect,
            Effect::kTable);
}

TEST(SchemaChangeTest, TriggersOfOthers_MayUnguard) {
  EXPECT_EQ(Of("DROP TRIGGER locus_guard_i_orders"), (SchemaChange{Effect::kTriggers, "orders"}));
  EXPECT_EQ(Of("CREATE TRIGGER mine BEFORE INSERT ON orders FOR EACH ROW SET @a = 1"),
            (SchemaChange{Effect::kTriggers, "orders"}));
  EXPECT_EQ(Of("CREATE DEFINER=`m`@`h` TRIGGER locus_guard_i BEFORE INSERT ON orders FOR EACH ROW"),
            SchemaChange{});
}

TEST(SchemaChangeTest, DroppedDatabase_TakesAllTables) {
  EXPECT_EQ(Of("DROP DATABASE shop"), (SchemaChange{Effect::kDropsTables, ""}));
  EXPECT_EQ(Of("DROP SCHEMA IF EXISTS shop").effect, Effect::kDropsTables);
  EXPECT_EQ(Of("DROP DATABASE far", "far"), SchemaChange{});
}

TEST(SchemaChangeTest, RightsStatisticsAndOurOwnTables_ChangeNothing) {
  for (const char* statement :
       {"GRANT SELECT ON shop.orders TO a@b", "ANALYZE TABLE orders", "FLUSH TABLES orders",
        "CREATE TABLE IF NOT EXISTS locus_move (orders INT)", "ALTER TABLE other ADD a INT"}) {
    EXPECT_EQ(Of(statement), SchemaChange{}) << statement;
  }
}

}  // namespace
}  // namespace locus::internal
