// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_load.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tests/planner/load_cases.h"
#include "tests/support/sanitizers.h"

namespace locus {

using internal::BalanceByLoad;
using internal::PlannedRing;

namespace {

// Under sanitizers each costs ten and fifty times as much.
constexpr uint64_t kLargeCases = kUnderTsan ? 100 : kUnderAsan ? 300 : 10000;

// No vnode is so heavy that it decides where others go.
bool IsSmooth(Kind kind) {
  return kind == Kind::kFlat || kind == Kind::kUniform || kind == Kind::kHalfZero;
}

void CheckLargeRing(uint64_t seed) {
  Case c = RandomCase(seed);
  PlannedRing after = c.ring;
  BalanceByLoad(c.weights, c.load, 0.01, after);
  std::vector<double> loads = LoadsOf(after.owners, c.load, c.weights.size());
  EXPECT_LE(Peak(loads, c.weights) / LowerBound(c.load, c.weights), 1.02)
      << "seed " << seed << " kind " << static_cast<int>(c.kind);
  for (size_t i = 0; i < loads.size(); ++i) EXPECT_TRUE(c.weights[i] > 0 || loads[i] == 0) << seed;
  if (!IsSmooth(c.kind)) return;
  double sum = std::accumulate(c.load.begin(), c.load.end(), 0.0);
  double moved = MovedLoad(c.ring.owners, after.owners, c.load);
  EXPECT_LE(moved, LeastMoved(c, loads) + 0.002 * sum) << "seed " << seed;
}

TEST(RebalanceLoadTest, LargeRings_PeakIsWithinTwoPercentOfTheLowerBound) {
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    for (uint64_t seed = next++; seed < kLargeCases; seed = next++) CheckLargeRing(seed);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(RebalanceLoadTest, SmallRings_AsTheExactSolver) {
  const uint64_t cases = kLargeCases / 10;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    Case c = SmallCase(seed);
    PlannedRing after = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, after);
    std::vector<double> loads = LoadsOf(after.owners, c.load, 3);
    double peak = Peak(loads, c.weights);
    Exact exact = SolveExactly(c, peak, Lowest(loads, c.weights));
    double sum = std::accumulate(c.load.begin(), c.load.end(), 0.0);
    EXPECT_LE(peak, exact.peak * 1.01 + 1e-6) << "seed " << seed;
    EXPECT_LE(MovedLoad(c.ring.owners, after.owners, c.load), exact.moved + 1e-6 * sum)
        << "seed " << seed;
  }
}

// With so many vnodes not all ways to deal them can be tried.
TEST(RebalanceLoadTest, SomeHundredVnodes_LittleMovesAndNoTwoShardsChangePlaces) {
  double all_moved = 0;
  double least_moved = 0;
  for (uint64_t seed = 0; seed < kLargeCases / 50; ++seed) {
    Case c = MiddleCase(seed);
    auto shards = static_cast<uint32_t>(c.weights.size());
    PlannedRing after = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, after);
    std::vector<double> loads = LoadsOf(after.owners, c.load, shards);
    double moved = MovedLoad(c.ring.owners, after.owners, c.load);
    all_moved += moved;
    least_moved += LeastMoved(c, loads);
    for (uint32_t a = 0; a < shards; ++a) {
      for (uint32_t b = 0; b < a; ++b) {
        std::vector<uint32_t> exchanged = after.owners;
        for (size_t i = 0; i < exchanged.size(); ++i) {
          if (c.ring.fixed[i] || (exchanged[i] != a && exchanged[i] != b)) continue;
          exchanged[i] = a + b - exchanged[i];
        }
        std::vector<double> others = LoadsOf(exchanged, c.load, shards);
        bool further_apart =
            std::max(others[a], others[b]) > std::max(loads[a], loads[b]) * (1 + 1e-9) ||
            std::min(others[a], others[b]) < std::min(loads[a], loads[b]) * (1 - 1e-9);
        if (further_apart) continue;
        EXPECT_GE(MovedLoad(c.ring.owners, exchanged, c.load), moved * (1 - 1e-6))
            << "seed " << seed << " shards " << a << " and " << b;
      }
    }
  }
  EXPECT_LE(all_moved, least_moved * 1.05);
}

// A tolerance is a promise: shards within it are left alone, and no shard ends outside it.
TEST(RebalanceLoadTest, Tolerance_LargerMovesLessAndIsKept) {
  const double tolerances[] = {0.01, 0.05, 0.2};
  size_t moves[3] = {};
  size_t moved_vnodes[3] = {};
  double moved[3] = {};
  for (uint64_t seed = 0; seed < std::max<uint64_t>(kLargeCases / 20, 15); ++seed) {
    Case c = RandomCase(seed);
    if (!IsSmooth(c.kind)) continue;
    for (size_t i = 0; i < std::size(tolerances); ++i) {
      PlannedRing after = c.ring;
      BalanceByLoad(c.weights, c.load, tolerances[i], after);
      std::vector<double> loads = LoadsOf(after.owners, c.load, c.weights.size());
      double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
      double weights = std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
      for (size_t shard = 0; shard < loads.size(); ++shard) {
        double portion = sum * c.weights[shard] / weights;
        EXPECT_NEAR(loads[shard], portion, portion * tolerances[i] + 1e-9 * sum)
            << "seed " << seed << " tolerance " << tolerances[i] << " shard " << shard;
      }
      moves[i] += MovesOf(c.ring.owners, after.owners);
      moved_vnodes[i] += MovedVnodes(c.ring.owners, after.owners);
      moved[i] += MovedLoad(c.ring.owners, after.owners, c.load);

      // What is planned is within the tolerance, so planning again moves nothing.
      PlannedRing again = after;
      BalanceByLoad(c.weights, c.load, tolerances[i], again);
      EXPECT_EQ(again.owners, after.owners) << "seed " << seed;
    }
  }
  for (size_t i = 1; i < std::size(tolerances); ++i) {
    EXPECT_LT(moves[i], moves[i - 1]) << tolerances[i];
    EXPECT_LT(moved_vnodes[i], moved_vnodes[i - 1]) << tolerances[i];
    EXPECT_LT(moved[i], moved[i - 1]) << tolerances[i];
  }
}

TEST(RebalanceLoadTest, ShardJustWithinTheTolerance_NothingMovesButFromShardsWithoutAWeight) {
  PlannedRing ring{.owners = std::vector<uint32_t>(1000), .fixed = std::vector<bool>(1000)};
  for (size_t i = 0; i < 1000; ++i) ring.owners[i] = i < 545 ? 0 : 1;  // 9 % above, 9 % below
  PlannedRing after = ring;
  BalanceByLoad({1, 1}, std::vector<double>(1000, 2), 0.1, after);
  EXPECT_EQ(after.owners, ring.owners);
  BalanceByLoad({1, 1}, std::vector<double>(1000, 2), 0.08, after);
  EXPECT_NE(after.owners, ring.owners);

  std::vector<double> load(1000, 2);
  load[0] = 0;
  ring.owners[0] = 2;
  after = ring;
  BalanceByLoad({1, 1, 0}, load, 0.1, after);
  EXPECT_NE(after.owners[0], 2u) << "a shard without a weight gives vnodes without load too";
  after.owners[0] = 2;
  EXPECT_EQ(after.owners, ring.owners);
}

// Quadratic steps would take many minutes here, and the test's time limit ends them.
TEST(RebalanceLoadTest, AsManyShardsAsVnodes_ArePlanned) {
  for (uint64_t seed = 0; seed < (kUnderTsan || kUnderAsan ? 1 : 3); ++seed) {
    std::mt19937_64 random(seed);
    Case c;
    c.ring.fixed.resize(65536);
    c.weights.assign(65536, 100);
    for (uint32_t i = 0; i < 65536; ++i) {
      c.ring.owners.push_back(seed == 0 ? i : static_cast<uint32_t>(random() % 32768));
    }
    c.load = RandomLoad(seed == 2 ? Kind::kZipf : Kind::kUniform, 65536, random);
    PlannedRing after = c.ring;
    BalanceByLoad(c.weights, c.load, 0.01, after);
    std::vector<double> loads = LoadsOf(after.owners, c.load, c.weights.size());
    EXPECT_LE(Peak(loads, c.weights) / LowerBound(c.load, c.weights), 1.02) << "seed " << seed;
  }
}

}  // namespace
}  // namespace locus
