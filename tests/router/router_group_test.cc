// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/router.h"
#include "tests/router/naive_router.h"
#include "tests/support/sanitizers.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

ShardGene Gene(int value) { return ShardGene::FromUint16(static_cast<uint16_t>(value)); }
OrderId Id(int gene, uint64_t sequence) { return OrderId::FromParts(Gene(gene), sequence).value(); }

Shard TestShard(uint32_t id, std::string endpoint = "host") {
  return {.id = id, .name = absl::StrCat("s", id), .endpoint = std::move(endpoint), .labels = {}};
}

// Shards 1 and 2 own a half each.
RoutingTable Halves(uint64_t epoch, std::vector<VnodeMove> moves = {}) {
  return RoutingTable::Make(epoch, {TestShard(1), TestShard(2, "other")}, {{32767, 1}, {65535, 2}},
                            std::move(moves))
      .value();
}

RoutingTable Even(size_t shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 1; i <= shards; ++i) {
    names.emplace_back(absl::StrCat("s", i), absl::StrCat("host-", i));
  }
  return RoutingTable::MakeEven(names).value();
}

// Narrow and wide IDs of all vnodes.
std::vector<OrderId> RandomIds(size_t size, RandomTable& random) {
  std::vector<OrderId> ids;
  ids.reserve(size);
  while (ids.size() < size) {
    ids.push_back(Id(random.Vnode(), random.Below(OrderId::kMaxSequence + 1) >> random.Below(57)));
  }
  return ids;
}

struct NaiveGroup {
  Shard shard;
  std::vector<OrderId> ids;
  std::vector<uint32_t> positions;
};

// The naive twin: each order to the end of its shard's list, found by looking at every list.
std::vector<NaiveGroup> GroupedNaively(NaiveRouter& router, const std::vector<OrderId>& ids) {
  std::vector<NaiveGroup> groups;
  for (uint32_t i = 0; i < ids.size(); ++i) {
    Shard shard = router.Route(ids[i]);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const NaiveGroup& g) { return g.shard.id == shard.id; });
    if (group == groups.end()) group = groups.insert(group, {shard, {}, {}});
    group->ids.push_back(ids[i]);
    group->positions.push_back(i);
  }
  return groups;
}

void ExpectEqual(const OrderGroups& groups, const std::vector<NaiveGroup>& expected) {
  ASSERT_EQ(groups.shards().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const ShardOrders& orders = groups.shards()[i];
    ASSERT_EQ(*orders.shard, expected[i].shard);
    ASSERT_EQ(std::vector(orders.ids.begin(), orders.ids.end()), expected[i].ids);
    ASSERT_EQ(std::vector(orders.positions.begin(), orders.positions.end()), expected[i].positions);
  }
}

TEST(RouterGroupTest, RandomTables_GroupLikeTheNaiveTwin) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomTable random(seed);
    RoutingTable table = random.Next(1);
    Router router(table);
    NaiveRouter naive(table);
    OrderGroups groups;
    // More and fewer in turn: what a longer call left behind must not show.
    for (size_t size : {1000, 1, 300, 0, 2000, 7}) {
      std::vector<OrderId> ids = RandomIds(size, random);
      router.Group(ids, groups);
      ASSERT_NO_FATAL_FAILURE(ExpectEqual(groups, GroupedNaively(naive, ids))) << table.ToJson();
    }
  }
}

TEST(RouterGroupTest, NoOrders_AreNoGroups) {
  Router router(Halves(1));
  OrderGroups groups;
  EXPECT_TRUE(groups.shards().empty());
  router.Group(std::vector<OrderId>{Id(1, 1)}, groups);
  EXPECT_EQ(groups.shards().size(), 1u);
  router.Group({}, groups);
  EXPECT_TRUE(groups.shards().empty());
}

TEST(RouterGroupTest, MovingVnode_IsSplitByCohortInTheOrderGiven) {
  Router router(Halves(1, {{7, 7, 2, 500}}));
  std::vector<OrderId> ids;
  for (uint64_t sequence = 0; sequence < OrderId::kCohorts; ++sequence) {
    ids.push_back(Id(7, sequence));
  }
  OrderGroups groups;
  router.Group(ids, groups);
  ASSERT_EQ(groups.shards().size(), 2u);
  for (const ShardOrders& orders : groups.shards()) {
    EXPECT_EQ(orders.ids.size(), orders.shard->id == 2 ? 500u : 9500u);
    EXPECT_TRUE(std::is_sorted(orders.positions.begin(), orders.positions.end()));
    for (size_t i = 0; i < orders.ids.size(); ++i) {
      EXPECT_EQ(orders.ids[i], ids[orders.positions[i]]);
      EXPECT_EQ(orders.ids[i].cohort() < 500, orders.shard->id == 2);
    }
  }
}

TEST(RouterGroupTest, SameOrderTwice_IsThereTwice) {
  Router router(Halves(1));
  OrderGroups groups;
  router.Group(std::vector<OrderId>{Id(1, 5), Id(1, 5)}, groups);
  ASSERT_EQ(groups.shards().size(), 1u);
  EXPECT_EQ(groups.shards()[0].ids.size(), 2u);
  EXPECT_EQ(groups.shards()[0].positions[1], 1u);
}

TEST(RouterGroupTest, EveryShardThereMayBe_HasItsOrder) {
  Router router(Even(RoutingTable::kMaxShards));
  std::vector<OrderId> ids;
  for (int gene = ShardGene::kCount - 1; gene >= 0; --gene) ids.push_back(Id(gene, 1));
  OrderGroups groups;
  router.Group(ids, groups);
  ASSERT_EQ(groups.shards().size(), RoutingTable::kMaxShards);
  EXPECT_EQ(groups.shards().front().shard->name, "s65536");
  EXPECT_EQ(groups.shards().back().shard->name, "s1");
  for (const ShardOrders& orders : groups.shards()) ASSERT_EQ(orders.ids.size(), 1u);
}

TEST(RouterGroupTest, GroupsMovedElsewhere_StayGood) {
  Router router(Halves(1));
  OrderGroups groups;
  router.Group(std::vector<OrderId>{Id(40000, 1), Id(2, 2)}, groups);
  OrderGroups kept = std::move(groups);
  router.Group(std::vector<OrderId>{Id(1, 3)}, groups);
  ASSERT_EQ(kept.shards().size(), 2u);
  EXPECT_EQ(kept.shards()[0].ids[0], Id(40000, 1));
  EXPECT_EQ(kept.shards()[1].ids[0], Id(2, 2));
  EXPECT_EQ(groups.shards().size(), 1u);
}

TEST(RouterGroupTest, VnodeThatStays_HasOneRouteOfAllCohorts) {
  Router router(Halves(1));
  BuyerRoutes routes = router.RoutesOf(Gene(40000));
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes.end() - routes.begin(), 1);
  EXPECT_EQ(routes[0].shard->id, 2u);
  EXPECT_EQ(routes[0].first_cohort, 0u);
  EXPECT_EQ(routes[0].end_cohort, 10000u);
  EXPECT_FALSE(routes[0].empty());
}

TEST(RouterGroupTest, MovingVnode_HasTheLikelierRouteFirst) {
  for (uint32_t permyriad : {0u, 1u, 4999u, 5000u, 5001u, 9999u, 10000u}) {
    SCOPED_TRACE(permyriad);
    Router router(Halves(1, {{0, 9, 2, permyriad}}));
    BuyerRoutes routes = router.RoutesOf(Gene(9));
    ASSERT_EQ(routes.size(), 2u);
    bool target_first = permyriad > 5000;
    const BuyerRoute& owner = routes[target_first ? 1 : 0];
    const BuyerRoute& target = routes[target_first ? 0 : 1];
    EXPECT_EQ(owner.shard->id, 1u);
    EXPECT_EQ(target.shard->id, 2u);
    EXPECT_EQ(target.first_cohort, 0u);
    EXPECT_EQ(target.end_cohort, permyriad);
    EXPECT_EQ(owner.first_cohort, permyriad);
    EXPECT_EQ(owner.end_cohort, 10000u);
    EXPECT_EQ(target.empty(), permyriad == 0);
    EXPECT_EQ(owner.empty(), permyriad == 10000);
  }
}

TEST(RouterGroupTest, Buyer_HasTheRoutesOfItsGene) {
  Router router(Halves(1, {{0, 32767, 2, 1}}));
  for (uint64_t uid = 0; uid < 100; ++uid) {
    BuyerKey buyer = BuyerKey::Uint64(uid);
    BuyerRoutes of_buyer = router.RoutesOf(buyer);
    BuyerRoutes of_gene = router.RoutesOf(ShardGene::Of(buyer));
    ASSERT_EQ(of_buyer.size(), of_gene.size());
    for (size_t i = 0; i < of_gene.size(); ++i) EXPECT_EQ(of_buyer[i], of_gene[i]);
  }
}

TEST(RouterGroupTest, RandomTables_ExactlyTheRouteOfAnOrdersShardHoldsIt) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomTable random(seed);
    Router router(random.Next(1));
    for (const OrderId& id : RandomIds(5000, random)) {
      const RoutedShard* holder = nullptr;
      for (const BuyerRoute& route : router.RoutesOf(id.gene())) {
        if (!route.Holds(id)) continue;
        ASSERT_EQ(holder, nullptr) << "two hold " << id;
        holder = route.shard;
      }
      ASSERT_EQ(holder, &router.Route(id)) << id;
    }
  }
}

// Table E has one shard, E mod 7 + 1, with an endpoint of its own, and moves nothing.
RoutingTable OneOwner(uint64_t epoch) {
  return RoutingTable::Make(
             epoch, {TestShard(static_cast<uint32_t>(epoch % 7 + 1), absl::StrCat("h", epoch % 5))},
             {{65535, static_cast<uint32_t>(epoch % 7 + 1)}})
      .value();
}

TEST(RouterGroupTest, GroupedWhileTablesAreInstalled_EachOrderIsThereOnceByAnInstalledTable) {
  constexpr uint64_t kInstalls = kUnderTsan ? 60 : 300;  // each takes fifty times as long there
  Router router(OneOwner(1));
  std::atomic<bool> done{false};
  std::string failure;
  std::thread reader([&] {
    RandomTable random(3);
    std::vector<OrderId> ids = RandomIds(2000, random);
    OrderGroups groups;
    bool last_round = false;
    while (!last_round && failure.empty()) {
      last_round = done.load();
      uint64_t before = router.epoch();
      router.Group(ids, groups);
      uint64_t after = router.epoch();
      std::vector<bool> seen(ids.size());
      size_t orders = 0;
      for (const ShardOrders& group : groups.shards()) {
        bool known = false;
        for (uint64_t epoch = before; epoch <= after + 1 && !known; ++epoch) {
          known = *group.shard == OneOwner(epoch).shards()[0];
        }
        if (!known) failure = "a shard of no table that was in force";
        for (size_t i = 0; i < group.ids.size(); ++i) {
          uint32_t position = group.positions[i];
          if (group.ids[i] != ids[position]) failure = "an order at another's position";
          seen[position] = true;
          ++orders;
        }
      }
      if (orders != ids.size()) failure = "an order stands twice or nowhere";
      if (std::find(seen.begin(), seen.end(), false) != seen.end()) failure = "an order is missing";
    }
  });
  for (uint64_t epoch = 2; epoch <= kInstalls; ++epoch) {
    EXPECT_TRUE(router.Install(OneOwner(epoch)).ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace locus
