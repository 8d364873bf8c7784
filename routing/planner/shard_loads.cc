// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/shard_loads.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace locus::internal {

ShardLoads::ShardLoads(const std::vector<uint32_t>& weights)
    : weights_(weights.begin(), weights.end()), loads_(weights.size()) {
  for (uint32_t shard = 0; shard < weights.size(); ++shard) {
    if (weights[shard] == 0) continue;
    Group& group = groups_[GroupOf(weights_[shard])];
    group.heaviest = std::max(group.heaviest, weights_[shard]);
    group.shards.insert(EntryOf(shard));
  }
}

int ShardLoads::GroupOf(double weight) { return static_cast<int>(64 * std::log2(weight)); }

void ShardLoads::Add(uint32_t shard, double load) {
  if (weights_[shard] > 0) {
    std::set<Entry>& shards = groups_[GroupOf(weights_[shard])].shards;
    shards.erase(EntryOf(shard));
    loads_[shard] += load;
    shards.insert(EntryOf(shard));
  } else {
    loads_[shard] += load;
  }
}

uint32_t ShardLoads::BestFor(double load) const {
  double least = std::numeric_limits<double>::infinity();
  uint32_t best = 0;
  for (const auto& [number, group] : groups_) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (auto it = group.shards.begin(); it != group.shards.end();) {
      auto [ratio, negative_weight, shard] = *it;
      // No shard of the group gains less than the heaviest would.
      if (ratio + load / group.heaviest >= least) break;
      double after = (loads_[shard] + load) / weights_[shard];
      if (after < least) {
        least = after;
        best = shard;
      }
      // Of shards with the same ratio, the first is the heaviest and so the best.
      it = group.shards.upper_bound({ratio, infinity, 0});
    }
  }
  return best;
}

PortionLevel::PortionLevel(const ShardLoads& loads, double sum) : left_(sum) {
  for (uint32_t shard = 0; shard < loads.size(); ++shard) {
    loads_.push_back(loads.of(shard));
    weight_of_.push_back(loads.weight(shard));
    if (loads.weight(shard) == 0) continue;
    below_.emplace(loads.RatioOf(shard), shard);
    weights_ += loads.weight(shard);
  }
  DropShardsAbove();
}

void PortionLevel::Raise(uint32_t shard, double load) {
  bool was_below = below_.erase({loads_[shard] / weight_of_[shard], shard}) > 0;
  loads_[shard] += load;
  if (was_below) {
    below_.emplace(loads_[shard] / weight_of_[shard], shard);
  } else {
    left_ -= load;
  }
  DropShardsAbove();
}

void PortionLevel::DropShardsAbove() {
  // The last shard stays: its load is not above the rest of the sum.
  while (below_.size() > 1) {
    auto [ratio, shard] = *below_.rbegin();
    if (ratio * weights_ <= left_) return;
    left_ -= loads_[shard];
    weights_ -= weight_of_[shard];
    below_.erase(std::prev(below_.end()));
  }
}

}  // namespace locus::internal
