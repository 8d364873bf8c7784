// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_weights.h"

#include <map>
#include <numeric>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/planner/rebalance_ring.h"

namespace locus {

using internal::BalanceByWeight;
using internal::PlannedRing;
using internal::PortionsByWeight;

namespace {

// The bound. Let a plan give shard i in all portion(i) vnodes, where it had has(i). Every vnode
// that moves takes one from one shard and adds one to another, so a shard with has(i) > portion(i)
// loses at least has(i) - portion(i) of them by that many moves of its own, and no vnode leaves two
// shards: every plan for these portions moves at least the sum of has(i) - portion(i) over those
// where it is positive. A plan that moves just this many is therefore optimal.
size_t FewestMoved(const std::vector<size_t>& has, const std::vector<size_t>& portions) {
  size_t sum = 0;
  for (size_t i = 0; i < has.size(); ++i) sum += has[i] > portions[i] ? has[i] - portions[i] : 0;
  return sum;
}

std::vector<uint32_t> RandomWeights(uint32_t shards, std::mt19937_64& random) {
  std::vector<uint32_t> weights(shards);
  uint64_t kind = random() % 4;
  for (uint32_t& weight : weights) {
    if (kind == 0) weight = 100;
    if (kind == 1) weight = static_cast<uint32_t>(random() % 4);
    if (kind == 2) weight = static_cast<uint32_t>(random() % 1000001);
    if (kind == 3) weight = random() % 3 == 0 ? 0 : 100;
  }
  weights[random() % shards] += 1;
  return weights;
}

// The vnodes that each shard may own: its part by weight rounded down or up. Only for rings without
// fixed vnodes.
struct Rounded {
  size_t floor;
  size_t ceiling;
  uint64_t remainder;
};

std::vector<Rounded> RoundedParts(const std::vector<uint32_t>& weights, size_t vnodes) {
  uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<Rounded> parts;
  for (uint32_t weight : weights) {
    uint64_t quota = uint64_t{weight} * vnodes;
    parts.push_back({quota / sum, quota / sum + (quota % sum > 0), quota % sum});
  }
  return parts;
}

// The fewest vnodes that any plan moves which ends with every shard at its floor or its ceiling:
// what is above a ceiling must leave, and what is missing to a floor must arrive.
size_t FewestMovedByAnyRounding(const std::vector<size_t>& has, const std::vector<Rounded>& parts) {
  size_t above = 0;
  size_t below = 0;
  for (size_t i = 0; i < has.size(); ++i) {
    above += has[i] > parts[i].ceiling ? has[i] - parts[i].ceiling : 0;
    below += has[i] < parts[i].floor ? parts[i].floor - has[i] : 0;
  }
  return std::max(above, below);
}

// Each portion is a floor or a ceiling; a shard that owns its ceiling is rounded up before one that
// does not, and among equals the larger remainder is.
void CheckPortions(const std::vector<Rounded>& parts, const std::vector<size_t>& has,
                   const std::vector<size_t>& portions, size_t vnodes) {
  EXPECT_EQ(std::accumulate(portions.begin(), portions.end(), size_t{0}), vnodes);
  auto claim = [&](size_t i) {
    return std::make_tuple(has[i] >= parts[i].ceiling, parts[i].remainder, has[i]);
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSERT_TRUE(portions[i] == parts[i].floor || portions[i] == parts[i].ceiling);
    for (size_t j = 0; j < parts.size() && parts.size() < 20; ++j) {
      bool i_rounds_up = portions[i] > parts[i].floor;
      bool j_rounds_down = portions[j] < parts[j].ceiling;
      if (!i_rounds_up || !j_rounds_down) continue;
      ASSERT_GE(claim(i), claim(j));
    }
  }
}

// Rings that are far from their portions, and rings that are balanced but for a vnode here and
// there: there the choice of ceilings decides how much moves.
PlannedRing RandomOrNearlyBalancedRing(size_t vnodes, const std::vector<uint32_t>& weights,
                                       uint64_t seed, std::mt19937_64& random) {
  auto shards = static_cast<uint32_t>(weights.size());
  PlannedRing ring = RandomRing(vnodes, shards, random);
  if (seed % 2 == 0) return ring;
  BalanceByWeight(weights, ring);
  for (uint64_t n = random() % (2 * shards); n > 0; --n) {
    size_t vnode = random() % vnodes;
    if (!ring.fixed[vnode]) ring.owners[vnode] = static_cast<uint32_t>(random() % shards);
  }
  return ring;
}

TEST(RebalanceWeightsTest, RandomRings_MoveAsFewVnodesAsAnyPlanMust) {
  size_t not_fixed = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    size_t vnodes = seed % 31 == 0 ? 65536 : 1 + random() % 3000;
    auto shards = static_cast<uint32_t>(1 + random() % (seed % 10 == 0 ? 300 : 12));
    std::vector<uint32_t> weights = RandomWeights(shards, random);
    PlannedRing before = RandomOrNearlyBalancedRing(vnodes, weights, seed, random);
    std::vector<size_t> has = VnodesOf(before.owners, shards);
    std::vector<size_t> portions = PortionsByWeight(weights, before);

    PlannedRing after = before;
    BalanceByWeight(weights, after);
    ASSERT_EQ(VnodesOf(after.owners, shards), portions);
    size_t moved = MovedVnodes(before.owners, after.owners);
    ASSERT_EQ(moved, FewestMoved(has, portions));
    for (size_t i = 0; i < vnodes; ++i) {
      ASSERT_TRUE(!before.fixed[i] || before.owners[i] == after.owners[i]);
    }
    if (std::ranges::find(before.fixed, true) != before.fixed.end()) continue;
    ++not_fixed;
    std::vector<Rounded> parts = RoundedParts(weights, vnodes);
    CheckPortions(parts, has, portions, vnodes);
    ASSERT_EQ(moved, FewestMovedByAnyRounding(has, parts));
  }
  EXPECT_GT(not_fixed, 3000u);
}

// The fewest vnodes that any way to deal the ring moves, of those where every shard ends at its
// floor or its ceiling. Looks at all of them.
size_t FewestMovedExactly(const PlannedRing& before, const std::vector<Rounded>& parts) {
  size_t fewest = SIZE_MAX;
  auto shards = static_cast<uint32_t>(parts.size());
  ForEachRing(before, shards, [&](const std::vector<uint32_t>& owners) {
    std::vector<size_t> vnodes = VnodesOf(owners, shards);
    for (uint32_t i = 0; i < shards; ++i) {
      if (vnodes[i] != parts[i].floor && vnodes[i] != parts[i].ceiling) return;
    }
    fewest = std::min(fewest, MovedVnodes(before.owners, owners));
  });
  return fewest;
}

TEST(RebalanceWeightsTest, SmallRings_NoRoundingOfThePortionsMovesFewerVnodes) {
  size_t with_fixed = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto shards = static_cast<uint32_t>(2 + random() % 3);
    size_t vnodes = shards == 4 ? 5 + random() % 3 : 5 + random() % 5;
    PlannedRing before = RandomRing(vnodes, shards, random);
    std::vector<uint32_t> weights = RandomWeights(shards, random);
    std::vector<Rounded> parts = RoundedParts(weights, vnodes);
    size_t fewest = FewestMovedExactly(before, parts);
    if (fewest == SIZE_MAX) continue;  // more vnodes are fixed to a shard than its ceiling
    with_fixed += std::ranges::find(before.fixed, true) != before.fixed.end();
    PlannedRing after = before;
    BalanceByWeight(weights, after);
    EXPECT_EQ(MovedVnodes(before.owners, after.owners), fewest);
  }
  EXPECT_GT(with_fixed, 30u);
}

TEST(RebalanceWeightsTest, RingThatAlreadyHasRoundedPortions_DoesNotMove) {
  PlannedRing ring{.owners = std::vector<uint32_t>(65536, 1), .fixed = {}};
  ring.fixed.resize(65536);
  std::fill(ring.owners.begin(), ring.owners.begin() + 21846, 0);  // 21,845.33 and 43,690.67
  std::vector<uint32_t> before = ring.owners;
  BalanceByWeight({1, 2}, ring);
  EXPECT_EQ(ring.owners, before);
}

TEST(RebalanceWeightsTest, FixedVnodesAboveThePortion_AreKeptAndTheRestShared) {
  PlannedRing ring{.owners = {0, 0, 0, 0, 0, 0, 1, 1, 2, 2},
                   .fixed = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}};
  EXPECT_EQ(PortionsByWeight({100, 100, 100}, ring), (std::vector<size_t>{6, 2, 2}));
  EXPECT_EQ(PortionsByWeight({0, 100, 300}, ring), (std::vector<size_t>{6, 1, 3}));
  BalanceByWeight({0, 100, 300}, ring);
  EXPECT_EQ(VnodesOf(ring.owners, 3), (std::vector<size_t>{6, 1, 3}));
}

// The least that any plan for these portions needs, of all ways to deal the vnodes.
struct Exact {
  size_t moved = SIZE_MAX;
  size_t cost = SIZE_MAX;  // moves and ranges, among those that move so few
};

Exact Solve(const PlannedRing& before, const std::vector<size_t>& portions) {
  Exact best;
  auto shards = static_cast<uint32_t>(portions.size());
  ForEachRing(before, shards, [&](const std::vector<uint32_t>& owners) {
    size_t moved = MovedVnodes(before.owners, owners);
    if (moved > best.moved || VnodesOf(owners, shards) != portions) return;
    size_t cost = MovesOf(before.owners, owners) + RangesOf(owners);
    if (moved < best.moved) best = {moved, cost};
    best.cost = std::min(best.cost, cost);
  });
  return best;
}

TEST(RebalanceWeightsTest, SmallRings_AsFewVnodesAndNearlyAsFewRangesAsTheExactSolver) {
  size_t cost = 0;
  size_t best_cost = 0;
  std::map<size_t, int> worse_by;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto shards = static_cast<uint32_t>(2 + random() % 2);
    size_t vnodes = shards == 2 ? 8 + random() % 7 : 6 + random() % 4;
    PlannedRing before = RandomRing(vnodes, shards, random);
    std::vector<uint32_t> weights = RandomWeights(shards, random);
    Exact exact = Solve(before, PortionsByWeight(weights, before));
    PlannedRing after = before;
    BalanceByWeight(weights, after);
    EXPECT_EQ(MovedVnodes(before.owners, after.owners), exact.moved);
    size_t here = MovesOf(before.owners, after.owners) + RangesOf(after.owners);
    EXPECT_LE(here, exact.cost + 3);
    ++worse_by[here - exact.cost];
    cost += here;
    best_cost += exact.cost;
  }
  std::cout << "moves and ranges: " << cost << ", of the exact solver " << best_cost << "\n";
  for (auto [difference, rings] : worse_by) {
    std::cout << rings << " rings with " << difference << " more\n";
  }
  EXPECT_LE(static_cast<double>(cost), 1.02 * static_cast<double>(best_cost));
}

PlannedRing EvenRing(uint32_t shards) {
  PlannedRing ring{.owners = std::vector<uint32_t>(65536), .fixed = {}};
  ring.fixed.resize(65536);
  for (size_t i = 0; i < 65536; ++i) ring.owners[i] = static_cast<uint32_t>(i * shards / 65536);
  return ring;
}

TEST(RebalanceWeightsTest, OneShardMore_TakesOneRunOfEach) {
  for (uint32_t shards : {1, 2, 3, 8, 16, 63, 100}) {
    PlannedRing before = EvenRing(shards);
    PlannedRing after = before;
    BalanceByWeight(std::vector<uint32_t>(shards + 1, 100), after);
    EXPECT_EQ(MovesOf(before.owners, after.owners), shards);
    // Each range of the new shard stands between two that gave to it.
    EXPECT_EQ(RangesOf(after.owners), shards + (shards + 1) / 2);
  }
}

TEST(RebalanceWeightsTest, OneShardLess_HandsOverAndTheOthersStayInOneRange) {
  for (uint32_t shards : {2, 3, 8, 16, 63}) {
    for (uint32_t gone = 0; gone < shards; gone += 5) {
      PlannedRing before = EvenRing(shards);
      PlannedRing after = before;
      std::vector<uint32_t> weights(shards, 100);
      weights[gone] = 0;
      BalanceByWeight(weights, after);
      EXPECT_EQ(VnodesOf(after.owners, shards)[gone], 0u);
      EXPECT_EQ(MovesOf(before.owners, after.owners), shards - 1);
      size_t beside = gone == 0 || gone == shards - 1 ? 1 : 2;  // who can take without a new range
      EXPECT_EQ(RangesOf(after.owners), 2 * (shards - 1) - beside);
    }
  }
}

TEST(RebalanceWeightsTest, TwiceAsManyShards_EachOldOneGivesHalfInOneMove) {
  PlannedRing before = EvenRing(8);
  PlannedRing after = before;
  BalanceByWeight(std::vector<uint32_t>(16, 100), after);
  EXPECT_EQ(MovesOf(before.owners, after.owners), 8u);
  EXPECT_EQ(RangesOf(after.owners), 16u);
}

TEST(RebalanceWeightsTest, RangesOfOneVnode_AreJoinedWherePossible) {
  PlannedRing before = EvenRing(1);
  for (size_t i = 0; i < 65536; ++i) before.owners[i] = i % 4;
  PlannedRing after = before;
  BalanceByWeight({100, 100, 100, 0}, after);
  EXPECT_EQ(MovedVnodes(before.owners, after.owners), 16384u);
  // A third of what is given goes to the shard that is nowhere beside it.
  EXPECT_EQ(RangesOf(after.owners), 65536u - 16384u + 5461u);
}

}  // namespace
}  // namespace locus
