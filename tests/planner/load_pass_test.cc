// SPDX-License-Identifier: Apache-2.0
// The purpose of each pass of a plan by load: without it a figure gets worse on the rings named
// here. A pass for which no such figure can be named is to be removed.
#include <map>

#include "gtest/gtest.h"
#include "tests/planner/load_cases.h"

namespace locus {

using internal::BalanceByLoad;
using internal::LoadPass;
using internal::PlannedRing;

namespace {

// Of a population of rings.
struct Figures {
  size_t uneven = 0;        // plans whose peak is more than 2 % above the lower bound
  double moved_load = 0;    // parts of all load, summed
  size_t moved_vnodes = 0;  // summed
  size_t moves = 0;         // summed
};

Figures Measure(Case (*make)(uint64_t seed), uint64_t rings, std::optional<LoadPass> without) {
  Figures figures;
  for (uint64_t seed = 0; seed < rings; ++seed) {
    Case c = make(seed);
    PlannedRing after = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, after, without);
    std::vector<double> loads = LoadsOf(after.owners, c.load, c.weights.size());
    figures.uneven += Peak(loads, c.weights) > 1.02 * LowerBound(c.load, c.weights);
    double sum = std::accumulate(c.load.begin(), c.load.end(), 0.0);
    figures.moved_load += MovedLoad(c.ring.owners, after.owners, c.load) / sum;
    figures.moved_vnodes += MovedVnodes(c.ring.owners, after.owners);
    figures.moves += MovesOf(c.ring.owners, after.owners);
  }
  return figures;
}

TEST(LoadPassTest, BigVnodesInTurnWithTheOthers_LeaveLargeRingsUneven) {
  EXPECT_EQ(Measure(RandomCase, 120, std::nullopt).uneven, 0u);
  EXPECT_GT(Measure(RandomCase, 120, LoadPass::kBigVnodes).uneven, 5u);
}

TEST(LoadPassTest, BigVnodesNotExchanged_LeaveLumpyRingsUneven) {
  size_t all = Measure(LumpyCase, 150, std::nullopt).uneven;
  EXPECT_GT(Measure(LumpyCase, 150, LoadPass::kExchangeBigVnodes).uneven, all + 5);
}

TEST(LoadPassTest, HotVnodesInRuns_TakeMostOfARingsVnodesAlong) {
  size_t all = Measure(HotVnodesCase, 30, std::nullopt).moved_vnodes;
  EXPECT_GT(Measure(HotVnodesCase, 30, LoadPass::kHotVnodes).moved_vnodes, 2 * all);
}

TEST(LoadPassTest, NoRuns_MakeManyMoves) {
  size_t all = Measure(RandomCase, 60, std::nullopt).moves;
  EXPECT_GT(Measure(RandomCase, 60, LoadPass::kRuns).moves, 5 * all);
}

TEST(LoadPassTest, NoSingleVnodes_LeaveLargeRingsUneven) {
  EXPECT_GT(Measure(RandomCase, 120, LoadPass::kSingleVnodes).uneven, 5u);
}

TEST(LoadPassTest, FewVnodesNotAllTried_LeaveSmallRingsUneven) {
  size_t worse = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Case c = SmallCase(seed);
    PlannedRing without = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, without, LoadPass::kFewVnodes);
    PlannedRing all = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, all);
    worse += Peak(LoadsOf(without.owners, c.load, 3), c.weights) >
             1.02 * Peak(LoadsOf(all.owners, c.load, 3), c.weights);
  }
  EXPECT_GT(worse, 5u);
}

TEST(LoadPassTest, ShardsNotExchanged_MoveMoreLoadOfSparseRings) {
  double all = Measure(SparseCase, 100, std::nullopt).moved_load;
  EXPECT_GT(Measure(SparseCase, 100, LoadPass::kExchangeShards).moved_load, 1.01 * all);
}

TEST(LoadPassTest, RunsNotReturned_MakeMoreMoves) {
  size_t all = Measure(HotVnodesCase, 60, std::nullopt).moves;
  EXPECT_GT(static_cast<double>(Measure(HotVnodesCase, 60, LoadPass::kReturnRuns).moves),
            1.05 * static_cast<double>(all));
}

TEST(LoadPassTest, RunsNotReplaced_MoveMoreVnodesOfMiddleRings) {
  size_t all = Measure(MiddleCase, 400, std::nullopt).moved_vnodes;
  EXPECT_GT(static_cast<double>(Measure(MiddleCase, 400, LoadPass::kReplaceRuns).moved_vnodes),
            1.01 * static_cast<double>(all));
}

}  // namespace
}  // namespace locus
