// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_few_vnodes.h"

#include <algorithm>
#include <limits>

namespace locus::internal {
namespace {

constexpr size_t kMostVnodes = 32;
// Limits of each search: how many placements are tried, and how many shards are looked at for them.
constexpr size_t kMostSteps = 300000;
constexpr size_t kMostLooks = 32 * kMostSteps;
// A plan must be better by more than this, a part of the figure, so that rounding does not count.
constexpr double kBetter = 1e-9;

class FewVnodes {
 public:
  FewVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
            const std::vector<uint32_t>& vnodes, const PlannedRing& ring, const ShardLoads& loads)
      : loads_(loads) {
    for (uint32_t vnode : vnodes) {
      load_.push_back(load[vnode]);
      home_.push_back(homes[vnode]);
      best_.push_back(ring.owners[vnode]);
    }
    left_.resize(load_.size() + 1);
    for (size_t i = load_.size(); i > 0; --i) left_[i - 1] = left_[i] + load_[i - 1];
    for (uint32_t shard = 0; shard < loads.size(); ++shard) {
      if (loads.weight(shard) > 0) shards_.push_back(shard);
      now_.push_back(loads.of(shard));
    }
    for (size_t i = 0; i < load_.size(); ++i) now_[best_[i]] -= load_[i];
    dealt_ = best_;
  }

  // Returns the shard of each vnode.
  std::vector<uint32_t> Go(double level, double tolerance) {
    Ends ends = EndsOf(loads_);
    const double unlimited = std::numeric_limits<double>::infinity();

    double most = level * (1 + tolerance);
    Search(Aim::kPeak, {ends.highest * (1 - kBetter), -unlimited, unlimited}, most);
    if (found_) ends = found_ends_;
    if (ends.highest > most) most = ends.highest * (1 + tolerance);
    double least = level * (1 - tolerance);
    Search(Aim::kLowest, {most, ends.lowest * (1 + kBetter), unlimited}, least);
    if (found_) ends = found_ends_;
    if (ends.lowest < least) least = ends.lowest * (1 - tolerance);
    Search(Aim::kMoved, {most, least, MovedBy(best_) * (1 - kBetter)}, 0);
    return best_;
  }

 private:
  enum class Aim { kPeak, kLowest, kMoved };
  // The greatest and least load over weight of any shard.
  struct Ends {
    double highest = 0;
    double lowest = std::numeric_limits<double>::infinity();
  };
  struct Limits {
    double most;   // that a shard may have over its weight
    double least;  // that it must have
    double moved;
  };

  Ends EndsOf(const auto& load_of) const {
    Ends ends;
    for (uint32_t shard : shards_) {
      double ratio = Over(load_of, shard);
      ends.highest = std::max(ends.highest, ratio);
      ends.lowest = std::min(ends.lowest, ratio);
    }
    return ends;
  }
  double Over(const ShardLoads& loads, uint32_t shard) const { return loads.RatioOf(shard); }
  double Over(const std::vector<double>& loads, uint32_t shard) const {
    return loads[shard] / loads_.weight(shard);
  }

  double MovedBy(const std::vector<uint32_t>& owners) const {
    double moved = 0;
    for (size_t i = 0; i < owners.size(); ++i) moved += owners[i] != home_[i] ? load_[i] : 0;
    return moved;
  }

  // Goes through all placements within the limits. Each one found must be better in the aim than
  // the one before; the search ends with one that is as good as `enough`.
  void Search(Aim aim, Limits limits, double enough) {
    aim_ = aim;
    limits_ = limits;
    enough_ = enough;
    steps_ = 0;
    looks_ = 0;
    found_ = false;
    over_ = false;
    Deal(0, 0);
  }

  void Deal(size_t index, double moved) {
    if (index == load_.size()) return Found(moved);
    looks_ += shards_.size();
    double lacking = 0;
    for (uint32_t shard : shards_) {
      lacking += std::max(0.0, limits_.least * loads_.weight(shard) - now_[shard]);
    }
    if (lacking > left_[index] * (1 + kBetter)) return;
    if (loads_.weight(home_[index]) > 0) Put(index, home_[index], moved);
    std::vector<std::pair<double, uint32_t>> others;
    for (uint32_t shard : shards_) {
      if (shard != home_[index]) others.emplace_back(Over(now_, shard), shard);
    }
    std::ranges::sort(others);
    for (auto [ratio, shard] : others) {
      if (over_) return;
      Put(index, shard, moved + load_[index]);
    }
  }

  void Put(size_t index, uint32_t shard, double moved) {
    if (over_ || ++steps_ > kMostSteps || looks_ > kMostLooks) {
      over_ = true;
      return;
    }
    double before = now_[shard];
    double after = before + load_[index];
    if (moved > limits_.moved || after > limits_.most * loads_.weight(shard)) return;
    now_[shard] = after;
    dealt_[index] = shard;
    Deal(index + 1, moved);
    now_[shard] = before;
  }

  void Found(double moved) {
    Ends ends = EndsOf(now_);
    if (ends.lowest < limits_.least || ends.highest > limits_.most) return;
    found_ = true;
    found_ends_ = ends;
    best_ = dealt_;
    switch (aim_) {
      case Aim::kPeak:
        limits_.most = ends.highest * (1 - kBetter);
        over_ = ends.highest <= enough_;
        return;
      case Aim::kLowest:
        limits_.least = ends.lowest * (1 + kBetter);
        over_ = ends.lowest >= enough_;
        return;
      case Aim::kMoved:
        limits_.moved = moved * (1 - kBetter);
        over_ = moved <= enough_;
    }
  }

  const ShardLoads& loads_;
  std::vector<uint32_t> shards_;  // with a weight
  std::vector<double> load_;      // of the vnodes, which are called by their places
  std::vector<uint32_t> home_;
  std::vector<uint32_t> best_;
  std::vector<double> left_;  // what a vnode and all after it have

  // State of the current search.
  Aim aim_ = Aim::kPeak;
  Limits limits_ = {};
  double enough_ = 0;
  size_t steps_ = 0;
  size_t looks_ = 0;
  bool found_ = false;
  bool over_ = false;
  Ends found_ends_;
  std::vector<double> now_;  // by shard
  std::vector<uint32_t> dealt_;
};

}  // namespace

void DealFewVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                   double level, double tolerance, PlannedRing& ring, ShardLoads& loads) {
  std::vector<uint32_t> vnodes;
  for (uint32_t vnode = 0; vnode < load.size(); ++vnode) {
    if (load[vnode] > 0 && !ring.fixed[vnode]) vnodes.push_back(vnode);
    if (vnodes.size() > kMostVnodes) return;
  }
  std::ranges::stable_sort(vnodes, std::greater<>(), [&](uint32_t vnode) { return load[vnode]; });
  std::vector<uint32_t> dealt = FewVnodes(homes, load, vnodes, ring, loads).Go(level, tolerance);
  for (size_t i = 0; i < vnodes.size(); ++i) {
    loads.Add(ring.owners[vnodes[i]], -load[vnodes[i]]);
    loads.Add(dealt[i], load[vnodes[i]]);
    ring.owners[vnodes[i]] = dealt[i];
  }
  // Vnodes without load that had moved inside runs return.
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    if (load[vnode] == 0 && loads.weight(homes[vnode]) > 0) ring.owners[vnode] = homes[vnode];
  }
}

}  // namespace locus::internal
