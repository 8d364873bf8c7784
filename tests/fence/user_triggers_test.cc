// SPDX-License-Identifier: Apache-2.0
// Which triggers of the service a move carries.
#include "migration/fence/user_triggers.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<GuardedTable> Tables() {
  GuardedTable orders, items, notes;
  orders.name = "orders";
  items.name = "items";
  notes.name = "notes";
  notes.key = GuardedTable::Key::kGeneAndCohort;
  return {orders, items, notes};
}

std::string Why(const std::string& statements, const std::string& table = "orders") {
  return WhyNotCarried({table, absl::StrCat(UserTriggerBegin({"m@h"}), statements, "; END"), ""},
                       Tables(), {"m@h"}, {"bill"});
}

std::string WhyBody(const std::string& body, const std::vector<std::string>& movers = {"m@h"}) {
  return WhyNotCarried({"orders", body, ""}, Tables(), movers, {});
}

TEST(UserTriggersTest, SpareTheMovers_ByTheirFirstStatement) {
  for (const char* body :
       {"l: BEGIN IF USER() IN ('m@h') THEN LEAVE l; END IF; SET NEW.a = 1; END",
        "`l`: begin /* movers */ if binary user() in (x'6D4068', 'other@h') then leave l;"
        " end if; BEGIN DECLARE a INT; SET a = 1; END; END"}) {
    EXPECT_THAT(WhyBody(body), IsEmpty()) << body;
  }
  for (const char* body :
       {"SET NEW.a = 1", "BEGIN IF USER() IN ('m@h') THEN SET @x = 1; END IF; END",
        "l: BEGIN SET NEW.a = 1; IF USER() IN ('m@h') THEN LEAVE l; END IF; END",
        "l: BEGIN IF USER() IN ('m@h') THEN LEAVE k; END IF; END",
        "l: BEGIN IF USER() NOT IN ('m@h') THEN LEAVE l; END IF; END",
        "l: BEGIN IF USER() IN ('x@h') THEN LEAVE l; END IF; END",
        "l: BEGIN IF USER() IN ('m@h') AND @x THEN LEAVE l; END IF; END",
        "l: BEGIN IF USER() IN ('m@h') THEN LEAVE l; END", "l: BEGIN IF USER() IN (", "l:", ""}) {
    EXPECT_THAT(WhyBody(body), HasSubstr("would run again")) << body;
  }
  EXPECT_THAT(WhyBody("l: BEGIN IF USER() IN ('m@h') THEN LEAVE l; END IF; END", {"m@h", "n@h"}),
              HasSubstr("would run again"))
      << "each of them";
}

TEST(UserTriggersTest, ChangesOfTheOrderOrAddedRows_AreCarried) {
  for (const char* statements :
       {"SET NEW.changed = NOW(6), NEW.token = UUID()",
        "IF NEW.value < 0 THEN SIGNAL SQLSTATE '45001'; END IF",
        "SET NEW.name = REPLACE(NEW.name, 'a', INSERT('b', 1, 1, 'c'))",
        "SET NEW.rate = (SELECT rate FROM rates WHERE day = CURDATE() FOR UPDATE)",
        "INSERT INTO history (order_id, value) VALUES (NEW.order_id, 'CALL x; NEXTVAL(s)')",
        "INSERT INTO items SET order_id = NEW.order_id, line = 1 ON DUPLICATE KEY UPDATE line = 2",
        "UPDATE items i SET value = NEW.value WHERE i.order_id = NEW.order_id",
        "DELETE FROM items WHERE OLD.order_id = order_id",
        "SET NEW.total = (SELECT SUM(value) FROM shop.items WHERE order_id = NEW.order_id)"}) {
    EXPECT_THAT(Why(statements), IsEmpty()) << statements;
  }
  EXPECT_THAT(
      Why("UPDATE notes SET n = 1 WHERE shard_gene = NEW.shard_gene AND cohort = NEW.cohort",
          "notes"),
      IsEmpty());
}

TEST(UserTriggersTest, TriggerThatMakesShardsDiffer_IsRefusedWithItsReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"SET NEW.n = NEXTVAL(s)", "both shards would give"},
      {"SET NEW.n = NEXT VALUE FOR s", "both shards would give"},
      {"CALL charge(NEW.order_id)", "calls a procedure"},
      {"SET NEW.n = bill (NEW.order_id)", "stored function bill"},
      {"SET NEW.n = shop.`Bill`(NEW.order_id)", "stored function"},
      {"SET @locus_gone_orders = NULL", "variable of locus"},
      {"SET @`LOCUS_x` = NULL", "variable of locus"},
      {"UPDATE stock SET n = n - 1 WHERE item = NEW.item", "table stock, which does not move"},
      {"IF 1 THEN UPDATE items i JOIN stock USING (a) SET n = 1 WHERE i.order_id = NEW.order_id",
       "table stock"},
      {"UPDATE items, shop.stock SET n = 1 WHERE order_id = NEW.order_id", "table stock"},
      {"DELETE FROM totals WHERE order_id = OLD.order_id", "table totals"},
      {"DELETE IGNORE t FROM totals t WHERE order_id = OLD.order_id", "table totals"},
      {"REPLACE INTO totals VALUES (1)", "table totals"},
      {"REPLACE totals VALUES (1)", "table totals"},
      {"INSERT INTO totals VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1", "table totals"},
      {"SET NEW.no = (SELECT MAX(no) + 1 FROM orders)", "of other orders"},
      {"UPDATE items SET value = 1 WHERE order_id = NEW.parent", "of other orders"},
      {"UPDATE items SET value = NEW.order_id", "of other orders"},
      {"UPDATE items SET value = 1 WHERE order_id <> NEW.order_id", "of other orders"},
      {"DELETE FROM items WHERE order_id = OLD.order_id OR line = 1", "of other orders"},
      {"DELETE FROM items", "of other orders"}};
  for (const auto& [statements, why] : cases) {
    EXPECT_THAT(Why(statements), HasSubstr(why)) << statements;
  }
  EXPECT_THAT(Why("UPDATE notes SET n = 1 WHERE shard_gene = NEW.shard_gene", "notes"),
              HasSubstr("compare shard_gene and cohort"));
}

}  // namespace
}  // namespace locus::internal
