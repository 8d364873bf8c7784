// SPDX-License-Identifier: Apache-2.0
#include "routing/rebalance/rebalance_wish.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

template <typename... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// What a table refuses of one shard, without the pointer of a table that nobody has seen.
absl::Status CheckNewShard(const Shard& shard) {
  Shard alone = shard;
  alone.id = 1;
  absl::Status status = RoutingTable::Make(1, {std::move(alone)}, {{65535, 1}}).status();
  if (status.ok()) return status;
  return Refused("new shard ", Quoted(shard.name), ": ",
                 absl::StripPrefix(status.message(), "/shards/0/"));
}

class WishedShards {
 public:
  explicit WishedShards(const RoutingTable& table) : shards_(table.shards()) {
    for (size_t i = 0; i < shards_.size(); ++i) {
      by_name_[shards_[i].name] = i;
      by_endpoint_[shards_[i].endpoint] = shards_[i].name;
    }
  }

  absl::Status Add(const RebalanceWish::NewShard& wished) {
    if (by_name_.contains(wished.name)) {
      return Refused("new shard ", Quoted(wished.name), ": there is a shard of that name");
    }
    if (shards_.back().id == UINT32_MAX) {
      return Refused("new shard ", Quoted(wished.name), ": no id is left above ", UINT32_MAX);
    }
    auto [other, is_new] = by_endpoint_.try_emplace(wished.endpoint, wished.name);
    if (!is_new) {
      return Refused("new shard ", Quoted(wished.name), ": shard ", Quoted(other->second),
                     " has the same endpoint; two shards are two databases");
    }
    Shard shard{.id = shards_.back().id + 1,
                .name = wished.name,
                .endpoint = wished.endpoint,
                .weight = wished.weight,
                .labels = wished.labels};
    LOCUS_RETURN_IF_ERROR(CheckNewShard(shard));
    by_name_[shard.name] = shards_.size();
    shards_.push_back(std::move(shard));
    return absl::OkStatus();
  }

  absl::Status SetWeight(const std::string& name, uint32_t weight) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return Refused("weight of ", Quoted(name), ": no such shard");
    if (weight > RoutingTable::kMaxWeight) {
      return Refused("weight of ", Quoted(name), ": ", weight, " is not from 0 to ",
                     RoutingTable::kMaxWeight);
    }
    shards_[found->second].weight = weight;
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& name, const RebalanceWish& wish) {
    auto found = by_name_.find(name);
    if (found == by_name_.end())
      return Refused("shard to remove ", Quoted(name), ": no such shard");
    if (!removed_.insert(name).second) {
      return Refused("shard to remove ", Quoted(name), ": it is named twice");
    }
    auto is_it = [&](const RebalanceWish::NewShard& shard) { return shard.name == name; };
    if (std::ranges::any_of(wish.add, is_it)) {
      return Refused("shard to remove ", Quoted(name), ": it is to be added as well");
    }
    auto weight = wish.weights.find(name);
    if (weight != wish.weights.end() && weight->second > 0) {
      return Refused("shard to remove ", Quoted(name), ": it is to have weight ", weight->second,
                     " as well");
    }
    shards_[found->second].weight = 0;
    return absl::OkStatus();
  }

  std::vector<Shard> Take() && { return std::move(shards_); }

 private:
  std::vector<Shard> shards_;  // in the order of their ids
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, std::string> by_endpoint_;  // the name of its shard
  std::set<std::string> removed_;
};

}  // namespace

absl::StatusOr<RoutingTable> WithWishedShards(const RoutingTable& table,
                                              const RebalanceWish& wish) {
  WishedShards wished(table);
  for (const RebalanceWish::NewShard& shard : wish.add) {
    LOCUS_RETURN_IF_ERROR(wished.Add(shard));
  }
  for (const auto& [name, weight] : wish.weights) {
    LOCUS_RETURN_IF_ERROR(wished.SetWeight(name, weight));
  }
  for (const std::string& name : wish.remove) LOCUS_RETURN_IF_ERROR(wished.Remove(name, wish));
  std::vector<Shard> shards = std::move(wished).Take();
  if (std::ranges::none_of(shards, [](const Shard& shard) { return shard.weight > 0; })) {
    return Refused("no shard is left with a weight: all ", shards.size(), " have weight 0");
  }
  return RoutingTable::Make(table.epoch(), std::move(shards), table.ranges(), table.moves(),
                            table.table_id());
}

absl::Status CheckLoadWish(const RebalanceWish& wish) {
  if (!(wish.tolerance >= 0 && wish.tolerance <= 1)) {
    return Refused("tolerance: ", wish.tolerance, " is not from 0 to 1");
  }
  if (!(wish.hot_above >= 0) || std::isinf(wish.hot_above)) {
    return Refused("hot_above: ", wish.hot_above, " is not a number from 0");
  }
  if (wish.load.empty()) {
    if (wish.hot_above > 0) return Refused("hot_above: ", wish.hot_above, " needs load");
    return absl::OkStatus();
  }
  if (wish.load.size() != ShardGene::kCount) {
    return Refused("load: ", wish.load.size(), " numbers; one for each of the ", ShardGene::kCount,
                   " vnodes is needed");
  }
  double sum = 0;
  for (size_t vnode = 0; vnode < wish.load.size(); ++vnode) {
    double load = wish.load[vnode];
    if (!(load >= 0) || std::isinf(load)) {
      return Refused("load of vnode ", vnode, ": ", load, " is not a number from 0");
    }
    sum += load;
  }
  if (sum == 0) return Refused("load: it is 0 for every vnode");
  if (std::isinf(sum)) return Refused("load: its sum is beyond the largest number");
  return absl::OkStatus();
}

}  // namespace locus
