// SPDX-License-Identifier: Apache-2.0
// Guards that an operator drops from a shard at rest, on a server.
#include "gmock/gmock.h"
#include "tests/fence/fence_fixture.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kDatabase[] = "locus_shop";

class DropGuardsTest : public FencedServerTest {
 protected:
  void SetUp() override {
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE items (order_id BIGINT UNSIGNED PRIMARY KEY, version BIGINT UNSIGNED NOT"
        " NULL DEFAULT 1); CREATE TABLE orders LIKE items"));
    const absl::Status installed = Fence().Install(table_, 1);
    ASSERT_TRUE(installed.ok()) << installed;
  }
  ShardFence Fence(std::vector<GuardedTable> tables = {{.name = "items"}, {.name = "orders"}}) {
    MysqlOptions options = server_->Account(kDatabase);
    options.user = "mover";
    return ShardFence::Create(options, FenceOf(std::move(tables))).value();
  }
  void Sql(const std::string& statements) {
    server_->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }
  std::string Guards() {
    return server_->Value(
        "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'locus_shop' AND"
        " TRIGGER_NAME LIKE 'locus\\_guard\\_%'");
  }
  // Whether the shard takes an order of a vnode that it does not have.
  bool TakesForeign() {
    const std::string id = Number(IdOf(5000, ++sequence_));
    return server_
        ->TrySql(absl::StrCat("INSERT INTO locus_shop.orders (order_id) VALUES (", id, ")"))
        .ok();
  }
  std::string Refusal(const absl::StatusOr<std::vector<std::string>>& dropped) {
    EXPECT_TRUE(absl::IsFailedPrecondition(dropped.status())) << dropped.status();
    EXPECT_EQ(Guards(), "6") << "nothing changes";
    return std::string(dropped.status().message());
  }

  RoutingTable table_ =
      RoutingTable::Make(1,
                         {{.id = 1, .name = "orders-a", .endpoint = "mysql://a/o", .labels = {}},
                          {.id = 2, .name = "orders-b", .endpoint = "mysql://b/o", .labels = {}}},
                         {{999, 1}, {65535, 2}})
          .value();
  uint64_t sequence_ = 0;
};

TEST_F(DropGuardsTest, ShardAtRest_TakesEveryWriteAndKeepsTheRows) {
  EXPECT_FALSE(TakesForeign());
  EXPECT_THAT(Fence().DropGuards(true).value(),
              ElementsAre("locus_guard_items_delete", "locus_guard_items_insert",
                          "locus_guard_items_update", "locus_guard_orders_delete",
                          "locus_guard_orders_insert", "locus_guard_orders_update"));
  EXPECT_EQ(Guards(), "6");
  EXPECT_FALSE(TakesForeign());
  EXPECT_THAT(Fence().DropGuards(false).value(), SizeIs(6));
  EXPECT_EQ(Guards(), "0");
  EXPECT_TRUE(TakesForeign());
  EXPECT_EQ(server_->Value("SELECT CONCAT(lo, '-', hi) FROM locus_shop.locus_fence"), "0-999");
  EXPECT_EQ(server_->Value("SELECT COUNT(fence) FROM locus_shop.locus_vnode"), "1000");
  EXPECT_THAT(Fence().DropGuards(false).value(), IsEmpty()) << "again";
  EXPECT_TRUE(Fence().Install(table_, 1).ok());
  EXPECT_TRUE(Fence().Verify().ok()) << Fence().Verify();
  EXPECT_FALSE(TakesForeign());
}

TEST_F(DropGuardsTest, VersionTriggers_KeepThem) {
  MovedTable moved;
  moved.guard.name = "items";
  moved.primary_key = {"order_id"};
  for (const VersionTrigger& trigger : VersionTriggersOf(moved, {"mover@127.0.0.1"})) {
    if (trigger.timing != "BEFORE" || trigger.event != "INSERT") continue;
    Sql(absl::StrCat("CREATE TRIGGER ", trigger.name, " BEFORE INSERT ON items FOR EACH ROW ",
                     trigger.body));
  }
  // Of whichever table: the move may have been one of fewer tables.
  for (const bool dry : {true, false}) {
    EXPECT_THAT(Refusal(Fence().DropGuards(dry)),
                AllOf(HasSubstr("locus_version_items_before_insert on items"),
                      HasSubstr("`locus move cleanup`")));
  }
}

TEST_F(DropGuardsTest, GuardedTableThatIsNotNamed_KeepsThem) {
  EXPECT_THAT(Refusal(Fence({{.name = "orders"}}).DropGuards(false)),
              AllOf(HasSubstr("locus_guard_items_delete on items"), HasSubstr("name every")));
}

// A slow reader must not make everybody else wait behind DROP TRIGGER.
TEST_F(DropGuardsTest, TableInUse_IsUnavailableAndTheCallContinues) {
  MysqlOptions options = server_->Account(kDatabase);
  auto reader = SqlSession::Open(options).value();
  ASSERT_TRUE(reader->Run("BEGIN; SELECT * FROM orders").ok());
  const auto dropped = Fence().DropGuards(false);
  EXPECT_TRUE(absl::IsUnavailable(dropped.status())) << dropped.status();
  EXPECT_THAT(std::string(dropped.status().message()),
              AllOf(HasSubstr("locus_guard_orders_delete"), HasSubstr("repeat the call")));
  EXPECT_EQ(Guards(), "3") << "those of items are gone";
  EXPECT_FALSE(TakesForeign());
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  EXPECT_THAT(Fence().DropGuards(false).value(), SizeIs(3));
  EXPECT_EQ(Guards(), "0");
}

TEST_F(DropGuardsTest, WhileAMoveIsPrepared_IsUnavailable) {
  MysqlOptions options = server_->Account(kDatabase);
  auto runner = SqlSession::Open(options).value();
  ASSERT_TRUE(runner->Run("DO GET_LOCK(CONCAT('locus_prepare ', SHA1(DATABASE())), 2)").ok());
  const auto dropped = Fence().DropGuards(false);
  EXPECT_TRUE(absl::IsUnavailable(dropped.status())) << dropped.status();
  EXPECT_EQ(Guards(), "6");
  ASSERT_TRUE(runner->Run("DO RELEASE_ALL_LOCKS()").ok());
  EXPECT_TRUE(Fence().DropGuards(false).ok());
}

}  // namespace
}  // namespace locus
