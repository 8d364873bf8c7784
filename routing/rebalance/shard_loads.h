// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_SHARD_LOADS_H_
#define LOCUS_ROUTING_REBALANCE_SHARD_LOADS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace locus {

// The load of each shard (by index) while a ring is being planned, and who has room.
class ShardLoads {
 public:
  // Needs a weight above 0.
  explicit ShardLoads(const std::vector<uint32_t>& weights);

  size_t size() const { return loads_.size(); }
  double of(uint32_t shard) const { return loads_[shard]; }
  double weight(uint32_t shard) const { return weights_[shard]; }
  // Over the weight, which is above 0.
  double RatioOf(uint32_t shard) const { return loads_[shard] / weights_[shard]; }
  void Add(uint32_t shard, double load);

  // Of the shards with a weight, one whose ratio with `load` more is about the least.
  uint32_t BestFor(double load) const;

  // The ratio at which shards with a weight share `load` where none may have less than now.
  double LevelFor(double load) const;

 private:
  static int GroupOf(double weight);

  std::vector<double> weights_;
  std::vector<double> loads_;
  // Shards of about the same weight, by ratio.
  std::map<int, std::set<std::pair<double, uint32_t>>> groups_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_SHARD_LOADS_H_
