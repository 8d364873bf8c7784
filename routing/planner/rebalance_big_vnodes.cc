// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_big_vnodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace locus::internal {
namespace {

// How many exchanges are tried. Bounds the work where no plan comes near the level.
constexpr size_t kMostTries = 2000000;

class BigVnodes {
 public:
  BigVnodes(const std::vector<double>& load, double tolerance, double least_big, PlannedRing& ring,
            ShardLoads& loads, size_t shards)
      : load_(load), tolerance_(tolerance), ring_(ring), loads_(loads), of_(shards) {
    for (size_t vnode = 0; vnode < load.size(); ++vnode) {
      if (load[vnode] < least_big || ring.fixed[vnode]) continue;
      big_.push_back(static_cast<uint32_t>(vnode));
      ring.fixed[vnode] = true;
    }
    std::ranges::stable_sort(big_, std::greater<>(), [&](uint32_t vnode) { return load[vnode]; });
    for (uint32_t shard = 0; shard < shards; ++shard) {
      double weight = loads.weight(shard);
      if (weight > 0) least_weight_ = std::min(least_weight_, weight);
      most_weight_ = std::max(most_weight_, weight);
    }
  }

  void Go(double sum, bool exchange) {
    level_ = LevelOfTheOthers(sum);
    std::vector<uint32_t> homeless;
    for (uint32_t vnode : big_) {
      uint32_t home = ring_.owners[vnode];
      double fits = level_ * (1 + tolerance_) * loads_.weight(home);
      if (loads_.of(home) + load_[vnode] <= fits) {
        Put(vnode, home);
      } else if (load_[vnode] > level_ * least_weight_) {
        Put(vnode, LeastFull(vnode));  // before the others take the places where it fits
      } else {
        homeless.push_back(vnode);
      }
    }
    for (uint32_t vnode : homeless) Put(vnode, loads_.BestFor(load_[vnode]));
    if (exchange) Improve();
  }

 private:
  struct Exchange {
    uint32_t given;
    std::optional<uint32_t> taken;
    uint32_t with;
    double peak;  // of the two shards, afterwards
  };

  // A vnode above every shard's portion gets a shard of its own, which lowers the level of the
  // others.
  double LevelOfTheOthers(double sum) const {
    double weights = 0;
    for (uint32_t shard = 0; shard < of_.size(); ++shard) weights += loads_.weight(shard);
    double level = PortionLevel(loads_, sum).level();
    for (uint32_t vnode : big_) {
      if (load_[vnode] <= level * most_weight_ || weights <= most_weight_) break;
      sum -= load_[vnode];
      weights -= most_weight_;
      level = std::min(level, sum / weights);
    }
    return level;
  }

  // The shard where the vnode makes the least peak; its home, if no shard is better.
  uint32_t LeastFull(uint32_t vnode) const {
    auto ratio = [&](uint32_t shard) {
      return (loads_.of(shard) + load_[vnode]) / loads_.weight(shard);
    };
    uint32_t best = loads_.BestFor(load_[vnode]);
    uint32_t home = ring_.owners[vnode];
    return loads_.weight(home) > 0 && ratio(home) <= ratio(best) ? home : best;
  }

  void Put(uint32_t vnode, uint32_t shard) {
    ring_.owners[vnode] = shard;
    of_[shard].push_back(vnode);
    loads_.Add(shard, load_[vnode]);
  }

  void Take(uint32_t vnode) {
    uint32_t shard = ring_.owners[vnode];
    std::erase(of_[shard], vnode);
    loads_.Add(shard, -load_[vnode]);
  }

  // Exchanges vnodes of the fullest shard as long as that makes it less full. A shard for which
  // nothing helps is left out.
  void Improve() {
    std::set<std::pair<double, uint32_t>> by_ratio;
    for (uint32_t shard = 0; shard < of_.size(); ++shard) {
      if (loads_.weight(shard) > 0) by_ratio.emplace(loads_.RatioOf(shard), shard);
    }
    while (!by_ratio.empty()) {
      auto [ratio, fullest] = *by_ratio.rbegin();
      if (ratio <= level_ * (1 + tolerance_)) return;
      std::optional<Exchange> best = BestExchange(fullest);
      if (tries_ > kMostTries) return;
      by_ratio.erase(std::prev(by_ratio.end()));
      if (!best) continue;
      bool other_is_listed = by_ratio.erase({loads_.RatioOf(best->with), best->with}) > 0;
      Take(best->given);
      if (best->taken) Take(*best->taken);
      Put(best->given, best->with);
      if (best->taken) Put(*best->taken, fullest);
      by_ratio.emplace(loads_.RatioOf(fullest), fullest);
      if (other_is_listed) by_ratio.emplace(loads_.RatioOf(best->with), best->with);
    }
  }

  std::optional<Exchange> BestExchange(uint32_t fullest) {
    std::optional<Exchange> best;
    // An exchange must lower the peak by more than rounding could, or exchanges might go in
    // circles.
    double peak = loads_.RatioOf(fullest) * (1 - 1e-9);
    auto consider = [&](uint32_t given, std::optional<uint32_t> taken, uint32_t with) {
      ++tries_;
      double change = load_[given] - (taken ? load_[*taken] : 0);
      double here = (loads_.of(fullest) - change) / loads_.weight(fullest);
      double there = (loads_.of(with) + change) / loads_.weight(with);
      if (std::max(here, there) >= peak) return;
      peak = std::max(here, there);
      best = {given, taken, with, peak};
    };
    for (uint32_t given : of_[fullest]) {
      for (uint32_t with = 0; with < of_.size(); ++with) {
        if (with == fullest || loads_.weight(with) == 0) continue;
        consider(given, std::nullopt, with);
        for (uint32_t taken : of_[with]) consider(given, taken, with);
        if (tries_ > kMostTries) return best;
      }
    }
    return best;
  }

  const std::vector<double>& load_;
  const double tolerance_;
  PlannedRing& ring_;
  ShardLoads& loads_;
  std::vector<uint32_t> big_;              // the biggest first
  std::vector<std::vector<uint32_t>> of_;  // each shard, those that were put there
  double least_weight_ = std::numeric_limits<double>::infinity();
  double most_weight_ = 0;
  double level_ = 0;
  size_t tries_ = 0;
};

}  // namespace

void PlaceBigVnodes(const std::vector<double>& load, double sum, double tolerance, double least_big,
                    bool exchange, PlannedRing& ring, ShardLoads& loads) {
  BigVnodes(load, tolerance, least_big, ring, loads, loads.size()).Go(sum, exchange);
}

}  // namespace locus::internal
