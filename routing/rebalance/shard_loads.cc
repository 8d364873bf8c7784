// SPDX-License-Identifier: Apache-2.0
#include "routing/rebalance/shard_loads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {

ShardLoads::ShardLoads(const std::vector<uint32_t>& weights)
    : weights_(weights.begin(), weights.end()), loads_(weights.size()) {
  for (uint32_t shard = 0; shard < weights.size(); ++shard) {
    if (weights[shard] > 0) groups_[GroupOf(weights_[shard])].emplace(0, shard);
  }
}

int ShardLoads::GroupOf(double weight) { return static_cast<int>(8 * std::log2(weight)); }

void ShardLoads::Add(uint32_t shard, double load) {
  if (weights_[shard] > 0) {
    auto& group = groups_[GroupOf(weights_[shard])];
    group.erase({RatioOf(shard), shard});
    loads_[shard] += load;
    group.emplace(RatioOf(shard), shard);
  } else {
    loads_[shard] += load;
  }
}

uint32_t ShardLoads::BestFor(double load) const {
  double least = std::numeric_limits<double>::infinity();
  uint32_t best = groups_.begin()->second.begin()->second;
  for (const auto& [weight, group] : groups_) {
    uint32_t shard = group.begin()->second;
    double ratio = (loads_[shard] + load) / weights_[shard];
    if (ratio >= least) continue;
    least = ratio;
    best = shard;
  }
  return best;
}

double ShardLoads::LevelFor(double load) const {
  std::vector<std::pair<double, uint32_t>> ratios;
  double weights = 0;
  for (uint32_t shard = 0; shard < weights_.size(); ++shard) {
    if (weights_[shard] == 0) continue;
    ratios.emplace_back(RatioOf(shard), shard);
    weights += weights_[shard];
  }
  std::ranges::sort(ratios, std::greater<>());
  for (auto [ratio, shard] : ratios) {
    // The last one is never left out: what it has is not more than what is left.
    if (ratio * weights <= load || weights <= weights_[shard]) break;
    load -= loads_[shard];
    weights -= weights_[shard];
  }
  return load / weights;
}

}  // namespace locus
