// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PLANNER_SHARD_LOADS_H_
#define LOCUS_ROUTING_PLANNER_SHARD_LOADS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace locus::internal {

// The load of each shard (by index) while a ring is being planned, and which shard has room.
class ShardLoads {
 public:
  // At least one weight must be above 0.
  explicit ShardLoads(const std::vector<uint32_t>& weights);

  size_t size() const { return loads_.size(); }
  double of(uint32_t shard) const { return loads_[shard]; }
  double weight(uint32_t shard) const { return weights_[shard]; }
  // The load over the weight, which must be above 0.
  double RatioOf(uint32_t shard) const { return loads_[shard] / weights_[shard]; }
  void Add(uint32_t shard, double load);

  // The shard with a weight whose ratio with `load` more would be the least.
  uint32_t BestFor(double load) const;

 private:
  // Lightly loaded shards first; among equal ones the heaviest weight, which gains the least.
  using Entry = std::tuple<double, double, uint32_t>;  // ratio, -weight, shard

  Entry EntryOf(uint32_t shard) const { return {RatioOf(shard), -weights_[shard], shard}; }
  static int GroupOf(double weight);

  std::vector<double> weights_;
  std::vector<double> loads_;
  // Shards whose weights differ by about a hundredth, by falling weight.
  struct Group {
    double heaviest = 0;  // weight
    std::set<Entry> shards;
  };
  std::map<int, Group, std::greater<>> groups_;
};

// The ratio of load to weight at which shards share `sum` if none may have less than its load now:
// shards above that level keep what they have, the others share the rest. The level falls as loads
// are raised. Costs the logarithm of the number of shards for each change.
class PortionLevel {
 public:
  PortionLevel(const ShardLoads& loads, double sum);

  double level() const { return left_ / weights_; }
  double load(uint32_t shard) const { return loads_[shard]; }
  // Adds to what the shard has at the least; it must have a weight.
  void Raise(uint32_t shard, double load);

 private:
  void DropShardsAbove();

  std::vector<double> loads_;
  std::vector<double> weight_of_;
  double left_;                                  // what the shards in below_ share
  double weights_ = 0;                           // theirs
  std::set<std::pair<double, uint32_t>> below_;  // ratio, shard
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PLANNER_SHARD_LOADS_H_
