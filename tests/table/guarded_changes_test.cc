// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "gtest/gtest.h"
#include "locus/routing/table_change.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

Shard Orders(uint32_t id, std::string name) {
  return {.id = id, .name = name, .endpoint = "mysql://" + name, .labels = {}};
}

RoutingTable Table(uint64_t epoch, std::vector<VnodeRange> ranges,
                   std::vector<VnodeMove> moves = {},
                   std::vector<Shard> shards = {Orders(1, "a"), Orders(2, "b"), Orders(3, "c")}) {
  return RoutingTable::Make(epoch, std::move(shards), std::move(ranges), std::move(moves)).value();
}

GuardedChanges Between(const RoutingTable& before, const RoutingTable& after) {
  return GuardedChangesBetween(&before, after);
}

const std::vector<VnodeRange> kAllOfA = {{65535, 1}};

TEST(GuardedChangesTest, WeightsLabelsNewAndUnusedShards_AreNotGuarded) {
  std::vector<Shard> shards = {Orders(1, "a"), Orders(2, "b"), Orders(3, "c"), Orders(4, "d")};
  shards[0].weight = 7;
  shards[1].name = "renamed";
  shards[2].endpoint = "mysql://elsewhere";
  shards[2].weight = 0;
  shards[2].labels = {{"tier", "hot"}};
  EXPECT_TRUE(Between(Table(1, kAllOfA), Table(2, {{9, 1}, {65535, 1}}, {}, shards)).empty());
}

TEST(GuardedChangesTest, MovesThatBeginStayOrEnd_AreNotGuarded) {
  RoutingTable before = Table(1, kAllOfA, {{0, 9, 2, 500, 3}, {10, 19, 3, 10000, 8}});
  EXPECT_TRUE(Between(before, Table(2, {{9, 1}, {19, 3}, {65535, 1}},
                                    {{0, 9, 2, 500, 3}, {50, 59, 2, 0, 1}}))
                  .empty());
  EXPECT_TRUE(Between(before, Table(2, kAllOfA,
                                    {{0, 4, 2, 500, 3}, {5, 9, 2, 500, 3}, {10, 19, 3, 10000, 8}}))
                  .empty())
      << "the same of each vnode";
}

TEST(GuardedChangesTest, MovesDroppedOrChanged_AreGuarded) {
  RoutingTable before = Table(1, kAllOfA, {{0, 9, 2, 500, 3}, {100, 100, 3, 10000}});
  auto moves = [&](std::vector<VnodeMove> after) {
    return Between(before, Table(2, kAllOfA, std::move(after))).moves;
  };
  using Spans = std::vector<VnodeSpan>;
  EXPECT_EQ(moves({{0, 9, 2, 500, 3}}), (Spans{{100, 100}})) << "its target does not own it";
  EXPECT_EQ(moves({{100, 100, 3, 10000}}), (Spans{{0, 9}}));
  EXPECT_EQ(moves({{0, 9, 2, 501, 3}, {100, 100, 3, 10000}}), (Spans{{0, 9}}));
  EXPECT_EQ(moves({{0, 9, 2, 500, 4}, {100, 100, 3, 10000}}), (Spans{{0, 9}}));
  EXPECT_EQ(moves({{0, 9, 3, 500, 3}, {100, 100, 3, 10000}}), (Spans{{0, 9}}));
  EXPECT_EQ(moves({{0, 6, 2, 500, 3}, {100, 100, 3, 10000}}), (Spans{{7, 9}}));
  EXPECT_EQ(moves({}), (Spans{{0, 9}, {100, 100}}));
  // Ended before all cohorts had moved.
  GuardedChanges early = Between(before, Table(2, {{9, 2}, {65535, 1}}, {{100, 100, 3, 10000}}));
  EXPECT_EQ(early.moves, (Spans{{0, 9}}));
  EXPECT_TRUE(early.owners.empty()) << "within its move";
}

TEST(GuardedChangesTest, AnotherOwnerOutsideOfAMove_IsGuarded) {
  RoutingTable before = Table(1, kAllOfA, {{0, 9, 2, 10000}});
  GuardedChanges changes =
      Between(before, Table(2, {{4, 2}, {9, 3}, {19, 2}, {65535, 1}}, {{30, 39, 2, 1}}));
  EXPECT_EQ(changes.owners, (std::vector<VnodeSpan>{{5, 19}, {30, 39}}));
  EXPECT_EQ(changes.moves, (std::vector<VnodeSpan>{{5, 9}}));
}

TEST(GuardedChangesTest, ShardsInUseThatGo_AreGuarded) {
  RoutingTable before = Table(1, {{9, 1}, {65535, 2}}, {{0, 9, 3, 0}});
  std::vector<Shard> two = {Orders(1, "a"), Orders(2, "b")};
  EXPECT_EQ(Between(before, Table(2, {{9, 1}, {65535, 2}}, {}, two)).shards,
            std::vector<uint32_t>{3});
  EXPECT_EQ(
      Between(before, Table(2, {{9, 1}, {65535, 2}}, {}, {Orders(1, "x"), Orders(2, "b")})).shards,
      (std::vector<uint32_t>{1, 3}))
      << "another shard under the same id";
  EXPECT_TRUE(Between(Table(1, kAllOfA), Table(2, kAllOfA, {}, {Orders(1, "a")})).shards.empty())
      << "they own nothing";
}

TEST(GuardedChangesTest, NamesAndEndpointsOfShardsInUse_AreGuarded) {
  RoutingTable before = Table(1, {{9, 1}, {65535, 2}}, {{0, 9, 3, 0}});
  auto changed = [&](std::vector<Shard> shards) {
    GuardedChanges changes =
        Between(before, Table(2, {{9, 1}, {65535, 2}}, {{0, 9, 3, 0}}, std::move(shards)));
    EXPECT_TRUE(changes.shards.empty());
    EXPECT_EQ(changes.empty(), changes.changed_shards.empty());
    return changes.changed_shards;
  };
  using Ids = std::vector<uint32_t>;
  std::vector<Shard> shards = before.shards();
  EXPECT_EQ(changed(shards), Ids{});
  std::swap(shards[0].endpoint, shards[1].endpoint);
  EXPECT_EQ(changed(shards), (Ids{1, 2})) << "they exchange their endpoints";
  shards = before.shards();
  std::swap(shards[0].name, shards[1].name);
  EXPECT_EQ(changed(shards), (Ids{1, 2})) << "they exchange their names";
  shards = before.shards();
  shards[0].name = "renamed";
  shards[2].endpoint = "mysql://elsewhere";
  EXPECT_EQ(changed(shards), (Ids{1, 3})) << "the target of a move is in use";
}

TEST(GuardedChangesTest, EpochsThatJump_AreGuarded) {
  EXPECT_EQ(Between(Table(5, kAllOfA), Table(1005, kAllOfA)).epoch, 0u);
  EXPECT_EQ(Between(Table(5, kAllOfA), Table(1006, kAllOfA)).epoch, 1006u);
  EXPECT_EQ(GuardedChangesBetween(nullptr, Table(1000, kAllOfA)).epoch, 0u);
  EXPECT_EQ(GuardedChangesBetween(nullptr, Table(1001, kAllOfA)).epoch, 1001u);
  EXPECT_EQ(GuardedChangesBetween(nullptr, Table(1001, kAllOfA), 1).epoch, 0u);
}

TEST(UnnamedTest, WhatIsNamedIsLeftOut_AndNothingElseMayBeNamed) {
  const GuardedChanges changes{.moves = {{0, 9}},
                               .owners = {{20, 29}},
                               .shards = {2, 3},
                               .changed_shards = {4, 5},
                               .epoch = 5000};
  EXPECT_EQ(Unnamed(changes, {}).value(), changes);
  EXPECT_TRUE(Unnamed(changes, changes)->empty());
  GuardedChanges part{.moves = {{3, 9}, {0, 0}}, .shards = {3}, .changed_shards = {5}};
  EXPECT_EQ(Unnamed(changes, part).value(), (GuardedChanges{.moves = {{1, 2}},
                                                            .owners = {{20, 29}},
                                                            .shards = {2},
                                                            .changed_shards = {4},
                                                            .epoch = 5000}));
  for (const GuardedChanges& wrong :
       {GuardedChanges{.moves = {{9, 10}}}, GuardedChanges{.owners = {{0, 9}}},
        GuardedChanges{.shards = {1}}, GuardedChanges{.changed_shards = {2}},
        GuardedChanges{.epoch = 4999}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Unnamed(changes, wrong).status()));
  }
}

// The naive twin asks the tables vnode by vnode.
TEST(GuardedChangesTest, RandomTables_AgreeWithTheNaiveTwin) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomTable random(seed);
    RoutingTable before = random.Next(1), after = random.Next(2);
    std::set<size_t> moves, owners;
    GuardedChanges changes = Between(before, after);
    for (const VnodeSpan& span : changes.moves) {
      for (size_t i = span.first; i <= span.last; ++i) moves.insert(i);
    }
    for (const VnodeSpan& span : changes.owners) {
      for (size_t i = span.first; i <= span.last; ++i) owners.insert(i);
    }
    for (size_t i = 0; i < ShardGene::kCount; ++i) {
      auto gene = ShardGene::FromUint16(static_cast<uint16_t>(i));
      const VnodeMove *old = before.MoveOf(gene), *now = after.MoveOf(gene);
      uint32_t owned = before.OwnerOf(gene).id, owns = after.OwnerOf(gene).id;
      bool kept = old != nullptr && now != nullptr && old->to == now->to &&
                  old->permyriad == now->permyriad && old->step == now->step;
      bool ended = old != nullptr && now == nullptr && old->permyriad == 10000 && owns == old->to;
      ASSERT_EQ(moves.contains(i), old != nullptr && !kept && !ended) << seed << " vnode " << i;
      bool at_once = old == nullptr && now != nullptr && now->permyriad > 0;
      bool another = owned != owns && !(old != nullptr && owns == old->to);
      ASSERT_EQ(owners.contains(i), at_once || another) << seed << " vnode " << i;
    }
    EXPECT_TRUE(Between(before, before).empty());
    EXPECT_TRUE(Unnamed(changes, changes)->empty());
  }
}

}  // namespace
}  // namespace locus
