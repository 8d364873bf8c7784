// SPDX-License-Identifier: Apache-2.0
// Guards that an operator drops when a move has ended, by the real command on two servers.
#include "tests/cli/moves_fixture.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunningCommand;

class CliMovesGuardsTest : public CliMovesTest {
 protected:
  // Guards on orders and items of the shard.
  std::string Guards(uint32_t shard) {
    return Value(shard,
                 "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ="
                 " DATABASE() AND TRIGGER_NAME LIKE 'locus\\_guard\\_%'");
  }
  // Of a client that has an old table and has never heard of locus.
  bool Takes(uint32_t shard, uint32_t vnode) {
    return Server(shard)
        .TrySql(absl::StrCat("INSERT INTO shop", shard, ".orders (order_id) VALUES (",
                             (uint64_t{vnode} << 47) + ++sequence_, ")"))
        .ok();
  }
  std::string Keeps(uint32_t shard, const std::string& file, std::vector<std::string> more = {}) {
    const std::string before = Guards(shard);
    std::vector<std::string> words = {"guards", "drop", file, absl::StrCat("orders-", shard),
                                      "--yes"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string why = Refused(words);
    EXPECT_THAT(why, HasSubstr(absl::StrCat("orders-", shard, ": its guards stay; nothing was")));
    EXPECT_EQ(Guards(shard), before);
    return why;
  }
  // Vnodes 0..49 from shard 1 to 2.
  void MoveToFinalized(const std::string& file) {
    Publish(With({{0, 49, 2}}));
    Done({"start", file});
    for (uint32_t shard : {1u, 2u}) {
      EXPECT_THAT(Done({"guards", "drop", file, absl::StrCat("orders-", shard), "--yes"}),
                  HasSubstr("there are no guards; nothing to drop"));
    }
    RunningCommand runner({"move", "run", file});
    WaitFor(file, "READY");
    if (HasFatalFailure()) return;
    for (uint32_t shard : {1u, 2u}) {
      EXPECT_THAT(Keeps(shard, file, {"--grace", "0s"}),
                  AllOf(HasSubstr("moves vnodes 0-49"), HasSubstr("peak.1>2 is READY"),
                        HasSubstr("locus_version_"), Not(HasSubstr("published"))));
    }
    Done({"step", file, "--to", "10000"});
    WaitFor(file, "SWITCHED");
    if (HasFatalFailure()) return;
    Done({"finalize", file});
    WaitFor(file, "FINALIZED");
    if (HasFatalFailure()) return;
    ASSERT_TRUE(WaitUntil([&] { return publisher_->Current().value().moves().empty(); }));
    EXPECT_THAT(Keeps(2, file), AllOf(Not(HasSubstr("moves vnodes")),
                                      HasSubstr("peak.1>2 is FINALIZED"), HasSubstr("published")));
    Done({"cleanup", file, "--keep"});
    WaitFor(file, "DONE");
    EXPECT_EQ(runner.Finish().exit, 0);
  }

  uint64_t sequence_ = 1000;
};

TEST_F(CliMovesGuardsTest, DroppedAfterAMove_AreMadeAgainByTheNext) {
  const std::string file = File("peak");
  MoveToFinalized(file);
  if (HasFatalFailure()) return;
  // Its version triggers stand.
  EXPECT_THAT(Keeps(1, file, {"--grace", "0s"}),
              AllOf(HasSubstr("locus_version_"), Not(HasSubstr("peak.1>2 is"))));
  {
    Done({"cleanup", file});
    RunningCommand runner({"move", "run", file});
    ASSERT_TRUE(WaitUntil([&] {
      return Value(1,
                   "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ="
                   " DATABASE() AND TRIGGER_NAME LIKE 'locus\\_version\\_%'") == "0";
    }));
    WaitFor(file, "DONE");
    EXPECT_EQ(runner.Finish().exit, 0);
  }
  // The table in force is some seconds old.
  EXPECT_THAT(Keeps(1, file), AllOf(HasSubstr("wait for --grace 24h"), Not(HasSubstr("peak.1>2"))));
  EXPECT_THAT(Refused({"guards", "drop", file, "orders-9"}),
              AllOf(HasSubstr("no shard \"orders-9\""), HasSubstr("orders-1, orders-2")));

  EXPECT_FALSE(Takes(1, 10));
  const auto asked = Move({"guards", "drop", file, "orders-1", "--grace", "0s"});
  EXPECT_EQ(asked.exit, 1);
  EXPECT_THAT(asked.out,
              AllOf(HasSubstr("orders-1: would drop 6 guards: locus_guard_items_delete"),
                    HasSubstr("FencedTransactions with fence_first"), HasSubstr("fenced SQL")));
  EXPECT_THAT(asked.err, HasSubstr("nothing was dropped; where that is right, add --yes"));
  EXPECT_EQ(Guards(1), "6");
  KilledAndRepeated({"guards", "drop", file, "orders-1", "--grace", "0s", "--yes"});
  EXPECT_THAT(Done({"guards", "drop", file, "orders-1"}), HasSubstr("nothing to drop"));
  EXPECT_EQ(Guards(1), "0");
  EXPECT_EQ(Guards(2), "6");
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_fence WHERE own_lo = own_hi"), "1");
  EXPECT_TRUE(Takes(1, 10)) << "unseen";
  Server(1).Sql("DELETE FROM shop1.orders");

  // The vnodes go back.
  Publish(With({{0, 49, 1}}));
  const std::string back = File("back");
  EXPECT_THAT(Done({"preflight", back}),
              AllOf(HasSubstr("locus_guard_items_insert is missing"),
                    HasSubstr("`locus move run` mends it"), Not(HasSubstr("FAIL"))));
  EXPECT_THAT(Keeps(2, back), HasSubstr("epoch"));
  Done({"start", back});
  RunningCommand runner({"move", "run", back});
  WaitFor(back, "READY");
  if (HasFatalFailure()) return;
  EXPECT_EQ(Guards(1), "6");
  EXPECT_FALSE(Takes(1, 10));
  Done({"abort", back});
  WaitFor(back, "ABORTED");
  EXPECT_EQ(runner.Finish().exit, 0);
  EXPECT_THAT(Done({"guards", "drop", back, "orders-1", "--grace", "0s", "--yes"}),
              HasSubstr("dropped 6 guards"));
}

TEST_F(CliMovesGuardsTest, ShardsThatCannotBeAsked_KeepThem) {
  const std::string file = File("peak");
  GuardedTable orders, items;
  orders.name = "orders";
  items.name = "items";
  MysqlOptions options = Server(1).Account("shop1");
  options.user = "mover";
  const absl::Status installed = ShardFence::Create(options, FenceOf({items, orders}))
                                     ->Install(publisher_->Current().value(), 1);
  ASSERT_TRUE(installed.ok()) << installed;
  // The record of a move of shard 4, which nobody can read.
  Publish(With({{300, 349, 4}}));
  Done({"start", file});
  const RoutingTable now = publisher_->Current().value();
  const RoutingTable without =
      RoutingTable::Make(now.epoch() + 1, now.shards(), now.ranges(), {}, now.table_id()).value();
  Publish(without, GuardedChangesBetween(&now, without));
  EXPECT_THAT(Keeps(1, file, {"--grace", "0s"}), HasSubstr("peak.1>4 is PLANNED"));
  Server(1).Sql("UPDATE shop1.locus_move SET phase = 'NOPE'");
  EXPECT_THAT(Keeps(1, file, {"--grace", "0s"}),
              AllOf(HasSubstr("shard \"orders-1\""), HasSubstr("\"NOPE\" for phase")));
  Server(1).Sql("UPDATE shop1.locus_move SET phase = 'ABORTED'");
  std::vector<Shard> more = without.shards();
  more.push_back({.id = 9, .name = "orders-9", .endpoint = "redis://h9", .labels = {}});
  Publish(RoutingTable::Make(without.epoch() + 1, more, without.ranges(), {}, without.table_id())
              .value());
  EXPECT_THAT(Keeps(1, file, {"--grace", "0s"}), HasSubstr("\"orders-9\" has no endpoint of"));
  Publish(RoutingTable::Make(without.epoch() + 2, without.shards(), without.ranges(), {},
                             without.table_id())
              .value());
  servers_[1]->KillHard();
  EXPECT_THAT(Keeps(1, file, {"--grace", "0s"}),
              AllOf(HasSubstr("shard \"orders-2\" cannot be asked"), HasSubstr("\"orders-3\""),
                    Not(HasSubstr("\"orders-4\""))));
  ASSERT_TRUE(servers_[1]->Start());
  Done({"guards", "drop", file, "orders-1", "--grace", "0s", "--yes"});
  EXPECT_EQ(Guards(1), "0");
}

}  // namespace
}  // namespace locus
