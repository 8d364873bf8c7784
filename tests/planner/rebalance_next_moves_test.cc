// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/rebalance.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

using testing::HasSubstr;

std::vector<uint32_t> OwnersOf(const RoutingTable& table) {
  std::vector<uint32_t> owners;
  for (int vnode = 0; vnode < 65536; ++vnode) {
    owners.push_back(table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id);
  }
  return owners;
}

RoutingTable WithOwners(const RoutingTable& table, uint64_t epoch,
                        const std::vector<uint32_t>& owners, std::vector<VnodeMove> moves) {
  std::vector<VnodeRange> ranges;
  for (size_t vnode = 0; vnode < owners.size(); ++vnode) {
    if (ranges.empty() || ranges.back().shard != owners[vnode]) {
      ranges.push_back({0, owners[vnode]});
    }
    ranges.back().last = static_cast<uint16_t>(vnode);
  }
  return RoutingTable::Make(epoch, table.shards(), ranges, std::move(moves)).value();
}

// As the migration ends some of the moves: the target owns their vnodes, the move is dropped.
RoutingTable EndSome(const RoutingTable& table, std::mt19937_64& random) {
  std::vector<uint32_t> owners = OwnersOf(table);
  std::vector<VnodeMove> moves;
  bool ended = false;
  for (const VnodeMove& move : table.moves()) {
    if (random() % 3 == 0 || (!ended && &move == &table.moves().back())) {
      std::fill(owners.begin() + move.first, owners.begin() + move.last + 1, move.to);
      ended = true;
    } else {
      moves.push_back(move);
      moves.back().permyriad = std::min(10000u, move.permyriad + 2500);
    }
  }
  return WithOwners(table, table.epoch() + 1, owners, moves);
}

std::map<uint32_t, size_t> PartsOf(const RoutingTable& table) {
  std::vector<uint32_t> owners = OwnersOf(table);
  std::map<uint32_t, size_t> parts;
  for (const VnodeMove& move : table.moves()) {
    std::set<uint32_t> shards(owners.begin() + move.first, owners.begin() + move.last + 1);
    shards.insert(move.to);
    for (uint32_t shard : shards) ++parts[shard];
  }
  return parts;
}

void ExecuteToTheEnd(RoutingTable table, const RebalancePlan& plan, size_t most,
                     std::mt19937_64& random) {
  std::map<uint32_t, size_t> already = PartsOf(table);
  for (int steps = 0; steps < 100000; ++steps) {
    absl::StatusOr<RoutingTable> next = NextMoves(table, plan, most);
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_EQ(next->ranges(), table.ranges()) << "owners do not change";
    bool same = *next == table;
    ASSERT_EQ(next->epoch(), table.epoch() + (same ? 0 : 1));
    std::map<uint32_t, size_t> parts = PartsOf(*next);
    for (auto [shard, count] : parts) ASSERT_LE(count, std::max(most, already[shard]));
    // A plan that was written down and is read between two steps is the same.
    ASSERT_TRUE(steps % 16 != 1 || ParsePlan(*next, PlanAsJson(plan)).ok());
    if (next->moves().empty()) {
      ASSERT_EQ(OwnersOf(*next), OwnersOf(AfterRebalance(plan)));
      ASSERT_EQ(next->shards(), plan.table.shards());
      ASSERT_EQ(NextMoves(*next, plan, most).value(), *next);
      return;
    }
    // As many as may: of what is left, each move has a shard that takes part in enough.
    std::vector<uint32_t> owners = OwnersOf(*next);
    for (const PlannedMove& move : plan.moves) {
      auto gene = ShardGene::FromUint16(move.first);
      if (owners[move.first] == move.to || next->MoveOf(gene) != nullptr) continue;
      ASSERT_TRUE(parts[move.from] >= most || parts[move.to] >= most);
    }
    table = EndSome(*next, random);
  }
  FAIL() << "it does not end";
}

TEST(NextMovesTest, RandomTables_AreLedToThePlansEndWithinTheCap) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Few ranges: each step looks at every vnode.
    RoutingTable random_table = RandomTable(seed).Next(5);
    std::vector<uint32_t> owners(65536);
    for (size_t i = 0; i < 65536; ++i) {
      owners[i] = random_table.shards()[i / 8192 % random_table.shards().size()].id;
    }
    std::vector<VnodeMove> moves;
    uint32_t last_shard = random_table.shards().back().id;
    if (seed % 2 == 0 && owners[100] != last_shard) moves = {{100, 200, last_shard, 77}};
    RoutingTable table = WithOwners(random_table, 5, owners, moves);
    RebalanceRequest request;
    request.add = {{.name = "new-1", .endpoint = "e"}, {.name = "new-2", .endpoint = "f"}};
    if (table.shards().size() > 1) request.remove = {table.shards()[0].name};
    RebalancePlan plan = PlanRebalance(table, request).value();
    ExecuteToTheEnd(table, plan, 1 + random() % 4, random);
  }
}

RoutingTable EvenTable(uint64_t epoch, std::vector<VnodeMove> moves = {}) {
  RoutingTable even =
      RoutingTable::MakeEven({{"a", "mysql://a"}, {"b", "mysql://b"}, {"c", "mysql://c"}}).value();
  return RoutingTable::Make(epoch, even.shards(), even.ranges(), std::move(moves)).value();
}

RebalancePlan PlanToRemoveC(const RoutingTable& table) {
  RebalanceRequest request;
  request.remove = {"c"};
  return PlanRebalance(table, request).value();
}

TEST(NextMovesTest, CapOfNothing_IsRefused) {
  RoutingTable table = EvenTable(1);
  EXPECT_EQ(NextMoves(table, PlanToRemoveC(table), 0).status().message(),
            "most_per_shard is 0; at least 1");
}

TEST(NextMovesTest, FirstStep_TakesTheWeightsAndStartsAtNothing) {
  RoutingTable table = EvenTable(1);
  RoutingTable next = NextMoves(table, PlanToRemoveC(table), 1).value();
  EXPECT_EQ(next.epoch(), 2u);
  EXPECT_EQ(next.FindShard(3)->weight, 0u);
  ASSERT_EQ(next.moves().size(), 1u);
  EXPECT_EQ(next.moves()[0].permyriad, 0u);
}

// The load and the weights of the plan may be those of another database.
TEST(NextMovesTest, EndpointChangedSince_Aborts) {
  RoutingTable table = EvenTable(1);
  RebalancePlan plan = PlanToRemoveC(table);
  std::vector<Shard> shards = table.shards();
  shards[0].endpoint = "mysql://elsewhere";
  table = RoutingTable::Make(2, shards, table.ranges()).value();
  for (const RebalancePlan& each : {plan, ParsePlan(table, PlanAsJson(plan)).value()}) {
    absl::Status status = NextMoves(table, each, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("is at \"mysql://elsewhere\", not at the planned "));
  }
}

TEST(NextMovesTest, WeightChangedSince_StaysChangedUnlessTheRequestSetIt) {
  RoutingTable table = EvenTable(1);
  RebalanceRequest request;
  request.weights = {{"b", 40}};
  request.remove = {"c"};
  RebalancePlan plan = PlanRebalance(table, request).value();
  EXPECT_EQ(plan.reweighted, (std::vector<uint32_t>{2, 3}));
  std::vector<Shard> shards = table.shards();
  shards[0].weight = 70;
  shards[1].weight = 80;
  table = RoutingTable::Make(2, shards, table.ranges()).value();
  RebalancePlan read = ParsePlan(table, PlanAsJson(plan)).value();
  for (const RebalancePlan& each : {plan, read}) {
    RoutingTable next = NextMoves(table, each, 1).value();
    EXPECT_EQ(next.FindShard(1)->weight, 70u);
    EXPECT_EQ(next.FindShard(2)->weight, 40u);
    EXPECT_EQ(next.FindShard(3)->weight, 0u);
  }
}

TEST(NextMovesTest, TableId_StaysAllTheWay) {
  RoutingTable even = EvenTable(1);
  RoutingTable table =
      RoutingTable::Make(1, even.shards(), even.ranges(), {}, "0123456789abcdef").value();
  RebalancePlan plan = PlanToRemoveC(table);
  EXPECT_EQ(NextMoves(table, plan, 1)->table_id(), table.table_id());
  EXPECT_EQ(AfterRebalance(plan).table_id(), table.table_id());
  EXPECT_EQ(ParsePlan(table, PlanAsJson(plan))->table.table_id(), table.table_id());
}

// Staging's plan in production: the same shards, ranges and epoch.
TEST(NextMovesTest, PlanOfATableWithAnotherTableId_IsRefused) {
  auto with_id = [even = EvenTable(1)](const std::string& id) {
    return RoutingTable::Make(1, even.shards(), even.ranges(), {}, id).value();
  };
  RoutingTable staging = with_id("0123456789abcdef");
  RebalancePlan plan = PlanToRemoveC(staging);
  EXPECT_THAT(PlanAsJson(plan), HasSubstr("\"table_id\": \"0123456789abcdef\""));
  for (const char* id : {"00000000000000ff", ""}) {
    RoutingTable production = with_id(id);
    for (const absl::Status& status :
         {NextMoves(production, plan, 1).status(), ParsePlan(production, PlanAsJson(plan)).status(),
          ParsePlan(staging, PlanAsJson(PlanToRemoveC(production))).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("/table_id: the plan is for "));
    }
  }
}

TEST(NextMovesTest, VnodeOfAnotherShard_Aborts) {
  RoutingTable table = EvenTable(1);
  RebalancePlan plan = PlanToRemoveC(table);
  uint16_t vnode = plan.moves[0].first;
  uint32_t neither = plan.moves[0].to == 1 ? 2 : 1;

  std::vector<uint32_t> owners = OwnersOf(table);
  owners[vnode] = neither;
  absl::Status status = NextMoves(WithOwners(table, 2, owners, {}), plan, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("vnode ", vnode, " belongs to shard ", neither)));

  status = NextMoves(EvenTable(2, {{vnode, vnode, neither, 0}}), plan, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("vnode ", vnode, " moves to shard ", neither)));
}

TEST(NextMovesTest, ShardOfAnotherNameOrId_Aborts) {
  RoutingTable table = EvenTable(1);
  RebalanceRequest request;
  request.add = {{.name = "d", .endpoint = "e"}};
  RebalancePlan plan = PlanRebalance(table, request).value();
  for (Shard other : {Shard{.id = 4, .name = "x", .endpoint = "e", .labels = {}},
                      Shard{.id = 9, .name = "d", .endpoint = "e", .labels = {}}}) {
    std::vector<Shard> shards = table.shards();
    shards.push_back(other);
    RoutingTable changed = RoutingTable::Make(2, shards, table.ranges()).value();
    EXPECT_EQ(NextMoves(changed, plan, 1).status().code(), absl::StatusCode::kAborted);
  }
}

}  // namespace
}  // namespace locus
