// SPDX-License-Identifier: Apache-2.0
// What a failover or an absent shard asks of an operator, by the real command on two servers.
#include "tests/cli/moves_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunningCommand;

// Fences stay when a move has ended: a failover must not need a move to be survived.
TEST_F(CliMovesTest, FailoverOfShardsAtRest_IsMendedByRebind) {
  Publish(With({{0, 49, 2, 0, 0}, {100, 149, 3, 0, 0}}));
  if (HasFatalFailure()) return;
  const std::string file = File("peak");
  {
    Done({"start", file, "--only", "peak.1>2"});
    RunningCommand runner({"move", "run", file, "--only", "peak.1>2"});
    ASSERT_TRUE(WaitUntil([&] { return States(file).contains("peak.1>2 READY"); }));
    Done({"abort", file, "--only", "peak.1>2"});
    ASSERT_TRUE(WaitUntil([&] { return States(file).contains("peak.1>2 ABORTED"); }));
  }
  // The other move stands in the table, and nobody has begun it.
  servers_[0]->Sql("SET GLOBAL server_id = 11");
  servers_[1]->Sql("SET GLOBAL server_id = 12");
  auto refuses = [&](uint32_t vnode) {
    return !Server(1)
                .TrySql(absl::StrCat("INSERT INTO shop1.orders (order_id, value) VALUES (",
                                     (uint64_t{vnode} << 47) + 123456, ", 1)"))
                .ok();
  };
  EXPECT_TRUE(refuses(10) && refuses(120) && refuses(60000));
  EXPECT_THAT(Done({"rebind", file, "--dry-run"}), HasSubstr("would be bound"));
  EXPECT_TRUE(refuses(10));
  EXPECT_THAT(Done({"rebind", file}), Not(HasSubstr("LEFT")));
  EXPECT_FALSE(refuses(10) || refuses(120) || refuses(60000));
  EXPECT_THAT(Done({"rebind", file}), Not(HasSubstr("bound, were")));

  // And where the table has no moves at all.
  const RoutingTable now = publisher_->Current().value();
  const RoutingTable without =
      RoutingTable::Make(now.epoch() + 1, now.shards(), now.ranges(), {}, now.table_id()).value();
  Publish(without, GuardedChangesBetween(&now, without));
  servers_[0]->Sql("SET GLOBAL server_id = 1");
  servers_[1]->Sql("SET GLOBAL server_id = 2");
  EXPECT_TRUE(refuses(11));
  Done({"rebind", file});
  EXPECT_FALSE(refuses(11) || refuses(121) || refuses(60001));
}

// Only the source knows that a move of the file was begun.
TEST_F(CliMovesTest, RunStartedWhileASourceIsAway_TakesItsMovesWhenItAnswers) {
  RoutingTable now = publisher_->Current().value();
  auto next = RoutingTable::Make(now.epoch() + 1, now.shards(), {{32767, 1}, {65535, 2}}, {},
                                 now.table_id())
                  .value();
  Publish(next, GuardedChangesBetween(&now, next));
  Publish(With({{0, 49, 4, 0, 0}, {40000, 40049, 3, 0, 0}}));
  if (HasFatalFailure()) return;
  const std::string file = File("peak");
  Done({"start", file});
  servers_[1]->KillHard();
  RunningCommand runner({"move", "run", file});
  ASSERT_TRUE(WaitUntil([&] { return States(file).contains("peak.1>4 READY"); }));
  ASSERT_TRUE(servers_[1]->Start());
  WaitFor(file, "READY");
  EXPECT_EQ(Status(file).size(), 2u);
  for (const auto& move : Status(file)) EXPECT_EQ(move.at("state"), "READY") << move;
}

// Spoiled by hand, or written by a newer version.
TEST_F(CliMovesTest, RecordThatCannotBeRead_LeavesTheOtherMovesOfItsShardAlone) {
  Publish(With({{0, 49, 2, 0, 0}, {100, 149, 3, 0, 0}}));
  if (HasFatalFailure()) return;
  const std::string file = File("peak");
  Done({"start", file});
  Server(1).Sql("UPDATE shop1.locus_move SET phase = 'NOPE' WHERE move = 'peak.1>3'");
  const auto others = testing::RunLocus({"move", "status", file, "--only", "peak.1>2"});
  EXPECT_EQ(others.exit, 0) << others.err;
  EXPECT_THAT(others.out, HasSubstr("PLANNED"));
  Done({"hold", file, "--only", "peak.1>2"});
  // Nothing is begun beside a move of which nobody knows what it does.
  EXPECT_THAT(Refused({"start", file, "--only", "peak.1>3"}), HasSubstr("\"NOPE\" for phase"));
}

}  // namespace
}  // namespace locus
