// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PLANNER_LOAD_CASES_H_
#define LOCUS_TESTS_PLANNER_LOAD_CASES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "routing/planner/rebalance_load.h"
#include "tests/planner/rebalance_ring.h"

// Rings with loads to plan, and what plans are measured by.

namespace locus {

inline std::vector<double> LoadsOf(const std::vector<uint32_t>& owners,
                                   const std::vector<double>& load, size_t shards) {
  std::vector<double> loads(shards);
  for (size_t i = 0; i < owners.size(); ++i) loads[owners[i]] += load[i];
  return loads;
}

// Of the most loaded shard, over its portion by weight; of shards with a weight.
inline double Peak(const std::vector<double>& loads, const std::vector<uint32_t>& weights) {
  double load = std::accumulate(loads.begin(), loads.end(), 0.0);
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  double peak = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    if (weights[i] > 0) peak = std::max(peak, loads[i] / weights[i] * weight / load);
  }
  return peak;
}

inline double Lowest(const std::vector<double>& loads, const std::vector<uint32_t>& weights) {
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < loads.size(); ++i) {
    if (weights[i] > 0) lowest = std::min(lowest, loads[i] / weights[i]);
  }
  return lowest;
}

// max(mean, heaviest vnode) over the mean: below it no plan's peak is. Where weights differ: of the
// k heaviest vnodes either one is on a shard that is not among the k - 1 of the greatest weight, or
// two of them are on one shard.
inline double LowerBound(const std::vector<double>& load, const std::vector<uint32_t>& weights) {
  double sum = std::accumulate(load.begin(), load.end(), 0.0);
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> by_weight(weights.begin(), weights.end());
  std::ranges::sort(by_weight, std::greater<>());
  std::vector<double> heaviest(std::min(load.size(), weights.size()));
  std::ranges::partial_sort_copy(load, heaviest, std::greater<>());
  if (by_weight.front() == by_weight.back()) heaviest.resize(1);
  double bound = 1;
  for (size_t k = 0; k < heaviest.size() && by_weight[k] > 0; ++k) {
    double peak = heaviest[k] / by_weight[k];
    if (k > 0) peak = std::min(peak, (heaviest[k] + heaviest[k - 1]) / by_weight[0]);
    bound = std::max(bound, peak * weight / sum);
  }
  return bound;
}

inline double MovedLoad(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after,
                        const std::vector<double>& load) {
  double moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? load[i] : 0;
  return moved;
}

inline double Uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// How the load lies on the ring.
enum class Kind { kFlat, kUniform, kZipf, kHotVnodes, kHalfZero, kHotStretches, kCount };

inline std::vector<double> RandomLoad(Kind kind, size_t vnodes, std::mt19937_64& random) {
  std::vector<double> load(vnodes, 1.0);
  for (double& x : load) {
    if (kind != Kind::kFlat) x = Uniform(random);
    if (kind == Kind::kHalfZero && random() % 2 == 0) x = 0;
    if (kind == Kind::kZipf) x = 1 / (1 + std::floor(x * static_cast<double>(vnodes)));
  }
  if (kind == Kind::kZipf) {  // that was a draw; this is each rank once
    double power = 0.5 + Uniform(random);
    for (size_t i = 0; i < vnodes; ++i) load[i] = std::pow(static_cast<double>(i + 1), -power);
    std::shuffle(load.begin(), load.end(), random);
  }
  if (kind == Kind::kHotVnodes) {
    for (uint64_t n = 1 + random() % 20; n > 0; --n) {
      load[random() % vnodes] = static_cast<double>(vnodes) * Uniform(random) / 40;
    }
  }
  if (kind == Kind::kHotStretches) {
    for (uint64_t n = 1 + random() % 5; n > 0; --n) {
      size_t first = random() % vnodes;
      size_t end = std::min(vnodes, first + 1 + random() % (vnodes / 16));
      double factor = 2 + 30 * Uniform(random);
      for (; first < end; ++first) load[first] *= factor;
    }
  }
  return load;
}

struct Case {
  internal::PlannedRing ring;
  std::vector<uint32_t> weights;
  std::vector<double> load;
  Kind kind;
};

inline Case RandomCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case c;
  c.kind = static_cast<Kind>(seed % static_cast<uint64_t>(Kind::kCount));
  auto shards = static_cast<uint32_t>(2 + random() % 63);
  c.load = RandomLoad(c.kind, 65536, random);
  c.weights.assign(shards, 100);
  if (random() % 3 == 0) {
    for (uint32_t& weight : c.weights) weight = static_cast<uint32_t>(50 + random() % 150);
  }
  uint32_t owning = random() % 3 == 0 ? shards - 1 : shards;  // the last one is new
  if (random() % 4 == 0 && shards > 2) c.weights[0] = 0;
  c.ring.fixed.resize(65536);
  c.ring.owners.resize(65536);
  if (random() % 2 == 0) {
    for (size_t i = 0; i < 65536; ++i) {
      c.ring.owners[i] = static_cast<uint32_t>(i * owning / 65536);
    }
  } else {
    c.ring = RandomRing(65536, owning, random);
    c.ring.fixed.assign(65536, false);
  }
  return c;
}

// The load that must move for the loads to be no further apart than these are.
inline double LeastMoved(const Case& c, const std::vector<double>& after) {
  std::vector<double> before = LoadsOf(c.ring.owners, c.load, c.weights.size());
  double sum = std::accumulate(after.begin(), after.end(), 0.0);
  double highest =
      Peak(after, c.weights) * sum / std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  double lowest = Lowest(after, c.weights);
  double given = 0;
  double taken = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    given += std::max(0.0, before[i] - highest * c.weights[i]);
    taken += std::max(0.0, lowest * c.weights[i] - before[i]);
  }
  return std::max(given, taken);
}

// Of all ways to deal the vnodes: the least peak, and the least load that is moved by those that
// are as even as a given one, or more.
struct Exact {
  double peak = std::numeric_limits<double>::infinity();
  double moved = std::numeric_limits<double>::infinity();
};

inline Exact SolveExactly(const Case& c, double highest, double lowest) {
  Exact best;
  auto shards = static_cast<uint32_t>(c.weights.size());
  ForEachRing(c.ring, shards, [&](const std::vector<uint32_t>& owners) {
    std::vector<double> loads = LoadsOf(owners, c.load, shards);
    for (uint32_t i = 0; i < shards; ++i) {
      if (c.weights[i] == 0 && loads[i] > 0) return;
    }
    double peak = Peak(loads, c.weights);
    best.peak = std::min(best.peak, peak);
    if (peak > highest * (1 + 1e-9) || Lowest(loads, c.weights) < lowest * (1 - 1e-9)) return;
    best.moved = std::min(best.moved, MovedLoad(c.ring.owners, owners, c.load));
  });
  return best;
}

inline Case SmallCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case c;
  c.ring = RandomRing(6 + random() % 4, 3, random);
  c.weights = {100, 100, 100};
  if (seed % 4 == 0) c.weights = {50, 100, 150};
  if (seed % 5 == 0) c.weights[0] = 0;
  // A shard without a weight has to give all it has.
  if (seed % 5 == 0 || seed % 2 == 0) c.ring.fixed.assign(c.ring.owners.size(), false);
  for (size_t i = 0; i < c.ring.owners.size(); ++i) {
    c.load.push_back(std::pow(Uniform(random), seed % 3 == 0 ? 3 : 1));
  }
  return c;
}

// Rings of some hundred vnodes, of which some have a great part of all load.
inline Case MiddleCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case c;
  auto shards = static_cast<uint32_t>(3 + random() % 8);
  c.ring = RandomRing(40 + random() % 400, shards, random);
  c.weights.assign(shards, 100);
  for (size_t i = 0; i < c.ring.owners.size(); ++i) {
    c.load.push_back(std::pow(Uniform(random), 6));
  }
  return c;
}

// Full rings with one shard more than own vnodes, where only `loaded` vnodes have any load.
inline Case LoadedVnodes(size_t loaded, uint32_t shards, double power, std::mt19937_64& random) {
  Case c;
  c.ring = RandomRing(65536, shards - 1, random);
  c.ring.fixed.assign(65536, false);
  c.weights.assign(shards, 100);
  c.load.assign(65536, 0);
  for (size_t i = 0; i < loaded; ++i) {
    c.load[random() % 65536] = 0.1 + std::pow(Uniform(random), power);
  }
  return c;
}

// A few buyers.
inline Case SparseCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto shards = static_cast<uint32_t>(3 + random() % 14);
  return LoadedVnodes(8 + random() % 24, shards, 3, random);
}

// Each shard has room for four to twelve of the loaded vnodes.
inline Case LumpyCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto shards = static_cast<uint32_t>(5 + random() % 20);
  return LoadedVnodes(shards * (4 + random() % 8), shards, 1, random);
}

// An even ring whose first shard has thirty hot vnodes, each of about a hundredth of its portion.
inline Case HotVnodesCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case c;
  auto shards = static_cast<uint32_t>(4 + random() % 28);
  c.weights.assign(shards, 100);
  c.ring.fixed.resize(65536);
  for (size_t i = 0; i < 65536; ++i) {
    c.ring.owners.push_back(static_cast<uint32_t>(i * shards / 65536));
  }
  c.load = RandomLoad(Kind::kUniform, 65536, random);
  size_t of_first = 65536 / shards;
  for (int n = 0; n < 30; ++n) {
    c.load[random() % of_first] = static_cast<double>(of_first) * 0.005 * (0.5 + Uniform(random));
  }
  return c;
}

}  // namespace locus

#endif  // LOCUS_TESTS_PLANNER_LOAD_CASES_H_
