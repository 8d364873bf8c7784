// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/rebalance.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

using testing::HasSubstr;

RoutingTable EvenTable(int shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 0; i < shards; ++i) {
    names.emplace_back(absl::StrCat("orders-", i), absl::StrCat("mysql://h", i));
  }
  return RoutingTable::MakeEven(names).value();
}

RebalanceRequest Adding(const std::string& name) {
  RebalanceRequest request;
  request.add = {{.name = name, .endpoint = "mysql://" + name}};
  return request;
}

std::string Refusal(const RoutingTable& table, const RebalanceRequest& request) {
  absl::Status status = PlanRebalance(table, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

// A shard for each vnode: what the owners are when all that moves has arrived.
std::vector<uint32_t> OwnersAfterMoves(const RoutingTable& table) {
  std::vector<uint32_t> owners;
  for (int vnode = 0; vnode < 65536; ++vnode) {
    auto gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
    const VnodeMove* move = table.MoveOf(gene);
    owners.push_back(move != nullptr ? move->to : table.OwnerOf(gene).id);
  }
  return owners;
}

void CheckPlan(const RoutingTable& table, const RebalancePlan& plan) {
  std::vector<uint32_t> owners = OwnersAfterMoves(table);
  std::map<uint32_t, size_t> vnodes = plan.vnodes_before;
  size_t moved = 0;
  for (size_t i = 0; i < plan.moves.size(); ++i) {
    const PlannedMove& move = plan.moves[i];
    ASSERT_LE(move.first, move.last);
    ASSERT_NE(move.from, move.to);
    if (i > 0) {
      const PlannedMove& before = plan.moves[i - 1];
      ASSERT_GT(move.first, before.last);
      ASSERT_FALSE(move.first == before.last + 1 && move.from == before.from &&
                   move.to == before.to);
    }
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      ASSERT_EQ(owners[vnode], move.from);
      ASSERT_EQ(table.MoveOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))), nullptr);
      owners[vnode] = move.to;
      ++moved;
      ++vnodes[move.to];
      --vnodes[move.from];
    }
  }
  EXPECT_EQ(moved, plan.moved_vnodes);
  EXPECT_EQ(vnodes, plan.vnodes_after);
  RoutingTable after = AfterRebalance(plan);
  EXPECT_EQ(OwnersAfterMoves(after), owners);
  EXPECT_EQ(after.epoch(), table.epoch());
  EXPECT_TRUE(after.moves().empty());
}

RebalanceRequest RandomRequest(const RoutingTable& table, std::mt19937_64& random) {
  RebalanceRequest request;
  for (uint64_t n = random() % 3; n > 0; --n) {
    request.add.push_back(
        {.name = absl::StrCat("new-", n), .endpoint = absl::StrCat("mysql://new-", n)});
  }
  if (request.add.empty()) request.weights[table.shards()[0].name] = 70;
  if (table.shards().size() > 1 && random() % 2 == 0) {
    request.remove = {table.shards().back().name};
  }
  if (random() % 2 == 0) {
    for (int i = 0; i < 65536; ++i) request.load.push_back(static_cast<double>(random() % 100));
  }
  return request;
}

TEST(PlanRebalanceTest, RandomTablesAndRequests_MakePlansThatAreReadBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    RoutingTable table = RandomTable(seed).Next(1 + seed);
    RebalancePlan plan = PlanRebalance(table, RandomRequest(table, random)).value();
    CheckPlan(table, plan);
    absl::StatusOr<RebalancePlan> again = ParsePlan(table, PlanAsJson(plan));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(*again == plan);
  }
}

TEST(PlanRebalanceTest, NewShard_GetsItsPortionInOneMoveOfEach) {
  RoutingTable table = EvenTable(4);
  RebalancePlan plan = PlanRebalance(table, Adding("orders-4")).value();
  EXPECT_EQ(plan.table.FindShard(5)->name, "orders-4");
  EXPECT_EQ(plan.moves.size(), 4u);
  EXPECT_EQ(plan.moved_vnodes, 13107u);
  EXPECT_EQ(plan.vnodes_before.at(5), 0u);
  EXPECT_EQ(plan.vnodes_after.at(5), 13107u);
  EXPECT_FALSE(plan.peak_before.has_value());
  EXPECT_NEAR(plan.moved_load, 0.2, 1e-4);
}

TEST(PlanRebalanceTest, NewShards_GetTheIdsAboveTheHighest) {
  RoutingTable table =
      RoutingTable::Make(1, {{.id = 7, .name = "a", .endpoint = "e", .labels = {}}}, {{65535, 7}})
          .value();
  RebalanceRequest request;
  request.add = {{.name = "b", .endpoint = "f"}, {.name = "c", .endpoint = "g", .weight = 5}};
  request.weights = {{"b", 10}};
  RebalancePlan plan = PlanRebalance(table, request).value();
  EXPECT_EQ(plan.table.FindShard(8)->name, "b");
  EXPECT_EQ(plan.table.FindShard(8)->weight, 10u);
  EXPECT_EQ(plan.table.FindShard(9)->weight, 5u);
}

TEST(PlanRebalanceTest, RemovedShard_GivesAllAndStaysWithWeightZero) {
  RebalanceRequest request;
  request.remove = {"orders-1"};
  RebalancePlan plan = PlanRebalance(EvenTable(4), request).value();
  EXPECT_EQ(plan.table.FindShard(2)->weight, 0u);
  EXPECT_EQ(plan.vnodes_after.at(2), 0u);
  EXPECT_EQ(plan.moved_vnodes, 16384u);
  EXPECT_EQ(plan.moves.size(), 3u);
}

TEST(PlanRebalanceTest, OneShard_NothingMoves) {
  RebalancePlan plan = PlanRebalance(EvenTable(1), {}).value();
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_EQ(plan.moved_load, 0);
  RebalanceRequest request;
  request.load.assign(65536, 1);
  plan = PlanRebalance(EvenTable(1), request).value();
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_EQ(plan.peak_before, 1.0);
  EXPECT_EQ(plan.peak_after, 1.0);
}

TEST(PlanRebalanceTest, AsManyShardsAsVnodes_EachHasOne) {
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= 65536; ++id) {
    std::string name = absl::StrCat("s", id);
    shards.push_back({.id = id, .name = name, .endpoint = "e-" + name, .labels = {}});
  }
  RoutingTable table = RoutingTable::Make(1, shards, {{65535, 1}}).value();
  RebalancePlan plan = PlanRebalance(table, {}).value();
  EXPECT_EQ(plan.moved_vnodes, 65535u);
  EXPECT_TRUE(std::ranges::all_of(plan.vnodes_after, [](auto e) { return e.second == 1; }));
  EXPECT_THAT(Refusal(table, Adding("one-more")), HasSubstr("more than 65536 shards"));
}

TEST(PlanRebalanceTest, RingThatWraps_CountsTheWrappedVnodesAsTheFirstShards) {
  std::vector<Shard> shards = {{.id = 1, .name = "a", .endpoint = "e", .labels = {}},
                               {.id = 2, .name = "b", .endpoint = "f", .labels = {}}};
  RoutingTable table = RoutingTable::Make(1, shards, {{99, 1}, {32867, 2}}).value();
  RebalancePlan plan = PlanRebalance(table, {}).value();
  EXPECT_EQ(plan.vnodes_before.at(1), 32768u);
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_EQ(AfterRebalance(plan).OwnerOf(ShardGene::FromUint16(uint16_t{65535})).id, 1u);
}

TEST(PlanRebalanceTest, OnlyOneWeightLeft_ItGetsAll) {
  RebalanceRequest request;
  request.weights = {{"orders-0", 0}, {"orders-2", 0}};
  RebalancePlan plan = PlanRebalance(EvenTable(3), request).value();
  EXPECT_EQ(plan.vnodes_after.at(2), 65536u);
  request.load.assign(65536, 0);
  request.load[0] = 1;
  plan = PlanRebalance(EvenTable(3), request).value();
  EXPECT_EQ(plan.vnodes_after.at(2), 65536u) << "vnodes without load leave too";
}

TEST(PlanRebalanceTest, MovesUnderWay_CountAsTheTargetsAndAreNotMovedAgain) {
  RoutingTable even = EvenTable(2);
  RoutingTable table =
      RoutingTable::Make(3, even.shards(), even.ranges(), {{0, 9999, 2, 500}}).value();
  RebalanceRequest request;
  request.remove = {"orders-1"};
  RebalancePlan plan = PlanRebalance(table, request).value();
  CheckPlan(table, plan);
  EXPECT_EQ(plan.vnodes_before.at(2), 42768u);
  EXPECT_EQ(plan.vnodes_after.at(2), 10000u) << "these still move there";
}

TEST(PlanRebalanceTest, Tiers_HotVnodesGoToHotShardsAndOthersElsewhere) {
  RoutingTable even = EvenTable(4);
  std::vector<Shard> shards = even.shards();
  shards[3].labels = {{"tier", "hot"}};
  RoutingTable table = RoutingTable::Make(1, shards, even.ranges()).value();
  RebalanceRequest request;
  request.load.assign(65536, 1);
  for (size_t i = 0; i < 65536; i += 1000) request.load[i] = 50;
  request.hot_above = 10;
  RebalancePlan plan = PlanRebalance(table, request).value();
  CheckPlan(table, plan);
  RoutingTable after = AfterRebalance(plan);
  for (int i = 0; i < 65536; ++i) {
    bool on_hot = after.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(i))).id == 4;
    ASSERT_EQ(on_hot, i % 1000 == 0) << i;
  }
  request.remove = {"orders-3"};
  EXPECT_EQ(Refusal(table, request), "hot_above: no shard with a weight has label tier = \"hot\"");
}

TEST(PlanRebalanceTest, TiersWhereColdVnodesHaveNoLoad_TheseAlsoLeaveTheHotShard) {
  RoutingTable even = EvenTable(3);
  std::vector<Shard> shards = even.shards();
  shards[2].labels = {{"tier", "hot"}};
  RoutingTable table = RoutingTable::Make(1, shards, even.ranges()).value();
  RebalanceRequest request;
  request.load.assign(65536, 0);
  request.load[5] = request.load[65000] = 1;
  request.hot_above = 10;
  RebalancePlan plan = PlanRebalance(table, request).value();
  CheckPlan(table, plan);
  EXPECT_EQ(plan.vnodes_after.at(3), 2u);
  EXPECT_EQ(plan.vnodes_after.at(1) + plan.vnodes_after.at(2), 65534u);
  EXPECT_LT(plan.vnodes_after.at(1), 40000u) << "dealt to both";
  EXPECT_EQ(plan.moved_vnodes, plan.vnodes_before.at(3) - 1 + 1) << "all but one, and vnode 5";
  EXPECT_LE(plan.moves.size(), 5u);
}

TEST(PlanRebalanceTest, FlatLoad_MovesInAsFewRangesAsByWeight) {
  RoutingTable table = EvenTable(16);
  RebalanceRequest request = Adding("new");
  EXPECT_EQ(PlanRebalance(table, request).value().moves.size(), 16u);
  request.load.assign(65536, 7);
  EXPECT_LE(PlanRebalance(table, request).value().moves.size(), 18u);
  std::mt19937_64 random(1);
  for (double& load : request.load) load = static_cast<double>(50 + random() % 100);
  EXPECT_LE(PlanRebalance(table, request).value().moves.size(), 20u);
}

TEST(PlanRebalanceTest, AllLoadMovesToARemovedShard_TheOtherVnodesStillLeaveRemovedShards) {
  RoutingTable even = EvenTable(4);
  RoutingTable table =
      RoutingTable::Make(3, even.shards(), even.ranges(), {{0, 9, 3, 500}}).value();
  RebalanceRequest request;
  request.remove = {"orders-2", "orders-3"};
  request.load.assign(65536, 0);
  request.load[5] = 1;
  RebalancePlan plan = PlanRebalance(table, request).value();
  CheckPlan(table, plan);
  EXPECT_EQ(plan.vnodes_after.at(3), 10u);
  EXPECT_EQ(plan.vnodes_after.at(4), 0u);
}

TEST(PlanRebalanceTest, LoadOnFewVnodes_OnlyTheseMove) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    RebalanceRequest request = Adding("new");
    request.load.assign(65536, 0);
    for (int i = 0; i < 25; ++i)
      request.load[random() % 65536] = 1 + static_cast<double>(random() % 1000);
    RebalancePlan plan = PlanRebalance(EvenTable(16), request).value();
    EXPECT_LE(plan.moved_vnodes, 25u) << "seed " << seed;
  }
}

TEST(PlanRebalanceTest, Load_EvensOutAHotStretch) {
  RebalanceRequest request;
  request.load.assign(65536, 1);
  std::fill(request.load.begin(), request.load.begin() + 1000, 100.0);
  RebalancePlan plan = PlanRebalance(EvenTable(4), request).value();
  EXPECT_GT(*plan.peak_before, 2.5);
  EXPECT_LE(*plan.peak_after, 1.02);
  EXPECT_LT(plan.moves.size(), 10u) << "runs, where the load is flat";
}

TEST(PlanRebalanceTest, WrongRequests_AreRefusedByNameAndLimit) {
  RoutingTable table = EvenTable(2);
  RebalanceRequest request;
  request.remove = {"x"};
  EXPECT_EQ(Refusal(table, request), "shard to remove \"x\": no such shard");
  request.remove = {"orders-0", "orders-0"};
  EXPECT_EQ(Refusal(table, request), "shard to remove \"orders-0\": it is given twice");
  request.remove = {"orders-0", "orders-1"};
  EXPECT_EQ(Refusal(table, request), "no shard with a weight is left: all 2 have weight 0");
  request.remove = {"orders-0"};
  request.weights = {{"orders-0", 5}};
  EXPECT_EQ(Refusal(table, request), "shard to remove \"orders-0\": it also gets weight 5");
  request = Adding("n");
  request.remove = {"n"};
  EXPECT_EQ(Refusal(table, request), "shard to remove \"n\": it is also added");
  EXPECT_EQ(Refusal(table, Adding("orders-1")),
            "new shard \"orders-1\": a shard of that name exists");
  request = Adding("n");
  request.add[0].endpoint = "mysql://user@h";
  EXPECT_THAT(Refusal(table, request),
              HasSubstr("new shard \"n\": endpoint: it contains a user or"));
  request = {};
  request.weights = {{"x", 5}};
  EXPECT_EQ(Refusal(table, request), "weight of \"x\": no such shard");
  request.weights = {{"orders-0", 1000001}};
  EXPECT_EQ(Refusal(table, request), "weight of \"orders-0\": 1000001 is not from 0 to 1000000");
}

TEST(PlanRebalanceTest, WrongLoads_AreRefused) {
  RoutingTable table = EvenTable(2);
  RebalanceRequest request;
  request.load.assign(65535, 1);
  EXPECT_EQ(Refusal(table, request),
            "load: 65535 numbers; one for each of the 65536 vnodes is needed");
  request.load.assign(65536, 0);
  EXPECT_EQ(Refusal(table, request), "load: it is 0 for every vnode");
  request.load[7] = -1;
  EXPECT_EQ(Refusal(table, request), "load of vnode 7: -1 is not a number from 0");
  request.load[7] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Refusal(table, request), "load of vnode 7: inf is not a number from 0");
  request.load.assign(65536, std::numeric_limits<double>::max());
  EXPECT_EQ(Refusal(table, request), "load: its sum is not finite");
  request.load.assign(65536, 1);
  request.tolerance = 1.5;
  EXPECT_EQ(Refusal(table, request), "tolerance: 1.5 is not from 0 to 1");
  request.tolerance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Refusal(table, request), "tolerance: nan is not from 0 to 1");
  request.tolerance = 0.01;
  request.hot_above = -1;
  EXPECT_EQ(Refusal(table, request), "hot_above: -1 is not a number from 0");
  request.hot_above = 2;
  request.load.clear();
  EXPECT_EQ(Refusal(table, request), "hot_above: 2 needs load");
}

struct JsonCase {
  std::string from;
  std::string to;
  std::string message;
};

TEST(ParsePlanTest, WrongValues_AreRefusedAtTheirPointer) {
  RoutingTable table = EvenTable(2);
  RebalancePlan plan = PlanRebalance(table, Adding("c")).value();
  const std::string json = PlanAsJson(plan);
  const std::vector<JsonCase> cases = {
      {"\"epoch\": 1,", "", "member \"epoch\" is missing"},
      {"\"epoch\": 1,", "\"epoch\": 2,", "/epoch: 2 is not from 1 to 1, the epoch of the table"},
      {"\"id\": 2", "\"id\": 4", "/shards: shard \"orders-1\" of the table is missing; plan again"},
      {"\"name\": \"orders-1\"", "\"name\": \"x\"",
       "/shards/1/name: shard 2 of the table is called \"orders-1\""},
      {"\"moved_vnodes\": 21845", "\"moved_vnodes\": 2",
       "/moved_vnodes: 2; /moves have 21845 vnodes"},
      {"\"moved_load\": 0.", "\"moved_load\": 3.", "/moved_load: 3"},
      {"\"moved_load\"", "\"peak_after\": 1, \"moved_load\"",
       "peak_before and peak_after need each other"},
      {"\"before\": {\"orders-0\": 32768, \"orders-1\": 32768",
       "\"before\": {\"orders-0\": 32767, \"orders-1\": 32769",
       "/before/orders-0: 32767 vnodes do not agree with the table"},
      {"\"before\": {\"orders-0\": 32768", "\"before\": {\"orders-0\": 1",
       "/before: 32769 vnodes; the ring has 65536"},
      {"\"before\": {\"orders-0\": 32768", "\"before\": {\"x\": 32768",
       "/before/x: it is not a shard of /shards"},
      {"\"from\": \"orders-0\"", "\"from\": \"orders-1\"", "/moves/0/from: vnode "},
      {"\"from\": \"orders-0\"", "\"from\": \"x\"", "/moves/0/from: it is not a shard of /shards"},
      {"\"from\": \"orders-0\"", "\"from\": \"c\"", "/moves/0/to: it is the same as from"},
  };
  for (const JsonCase& c : cases) {
    std::string text = json;
    size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from << " in " << json;
    text.replace(at, c.from.size(), c.to);
    absl::Status status = ParsePlan(table, text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.to;
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(c.message)) << c.to;
  }
}

TEST(ParsePlanTest, PlanOfAMovedVnode_IsRefusedWhereItStillMoves) {
  RoutingTable even = EvenTable(2);
  std::string json = PlanAsJson(PlanRebalance(even, Adding("c")).value());
  RoutingTable moving =
      RoutingTable::Make(1, even.shards(), even.ranges(), {{32767, 32767, 2, 0}}).value();
  EXPECT_THAT(std::string(ParsePlan(moving, json).status().message()),
              HasSubstr("vnode 32767 moves already"));
}

}  // namespace
}  // namespace locus
