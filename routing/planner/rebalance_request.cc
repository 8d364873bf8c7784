// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_request.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "routing/table/endpoint_place.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

template <typename... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Refuses a shard that a table would refuse. The message leaves out the JSON Pointer: the caller
// has no such document.
absl::Status CheckNewShard(const Shard& shard) {
  Shard alone = shard;
  alone.id = 1;
  absl::Status status = RoutingTable::Make(1, {std::move(alone)}, {{65535, 1}}).status();
  if (status.ok()) return status;
  return Refused("new shard ", Quoted(shard.name), ": ",
                 absl::StripPrefix(status.message(), "/shards/0/"));
}

class RequestedShards {
 public:
  explicit RequestedShards(const RoutingTable& table) : shards_(table.shards()) {
    for (size_t i = 0; i < shards_.size(); ++i) {
      by_name_[shards_[i].name] = i;
      by_place_[PlaceOfEndpoint(shards_[i].endpoint)] = shards_[i].name;
    }
  }

  absl::Status Add(const RebalanceRequest::NewShard& requested) {
    if (by_name_.contains(requested.name)) {
      return Refused("new shard ", Quoted(requested.name), ": a shard of that name exists");
    }
    if (shards_.back().id == UINT32_MAX) {
      return Refused("new shard ", Quoted(requested.name), ": no id is free above ", UINT32_MAX);
    }
    auto [other, is_new] =
        by_place_.try_emplace(PlaceOfEndpoint(requested.endpoint), requested.name);
    if (!is_new) {
      return Refused("new shard ", Quoted(requested.name), ": shard ", Quoted(other->second),
                     " has the same endpoint; two shards are two databases");
    }
    Shard shard{.id = shards_.back().id + 1,
                .name = requested.name,
                .endpoint = requested.endpoint,
                .weight = requested.weight,
                .labels = requested.labels};
    LOCUS_RETURN_IF_ERROR(CheckNewShard(shard));
    LOCUS_RETURN_IF_ERROR(CheckNewName(shard.name));
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

  absl::Status Remove(const std::string& name, const RebalanceRequest& request) {
    auto found = by_name_.find(name);
    if (found == by_name_.end())
      return Refused("shard to remove ", Quoted(name), ": no such shard");
    if (!removed_.insert(name).second) {
      return Refused("shard to remove ", Quoted(name), ": it is given twice");
    }
    auto is_it = [&](const RebalanceRequest::NewShard& shard) { return shard.name == name; };
    if (std::ranges::any_of(request.add, is_it)) {
      return Refused("shard to remove ", Quoted(name), ": it is also added");
    }
    auto weight = request.weights.find(name);
    if (weight != request.weights.end() && weight->second > 0) {
      return Refused("shard to remove ", Quoted(name), ": it also gets weight ", weight->second);
    }
    shards_[found->second].weight = 0;
    return absl::OkStatus();
  }

  std::vector<Shard> Take() && { return std::move(shards_); }

 private:
  std::vector<Shard> shards_;  // in the order of their ids
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, std::string> by_place_;  // the name of its shard
  std::set<std::string> removed_;
};

}  // namespace

absl::StatusOr<RoutingTable> WithRequestedShards(const RoutingTable& table,
                                                 const RebalanceRequest& request) {
  RequestedShards requested(table);
  for (const RebalanceRequest::NewShard& shard : request.add) {
    LOCUS_RETURN_IF_ERROR(requested.Add(shard));
  }
  for (const auto& [name, weight] : request.weights) {
    LOCUS_RETURN_IF_ERROR(requested.SetWeight(name, weight));
  }
  for (const std::string& name : request.remove)
    LOCUS_RETURN_IF_ERROR(requested.Remove(name, request));
  std::vector<Shard> shards = std::move(requested).Take();
  if (std::ranges::none_of(shards, [](const Shard& shard) { return shard.weight > 0; })) {
    return Refused("no shard with a weight is left: all ", shards.size(), " have weight 0");
  }
  return RoutingTable::Make(table.epoch(), std::move(shards), table.ranges(), table.moves(),
                            table.table_id());
}

absl::Status CheckLoadRequest(const RebalanceRequest& request) {
  if (!(request.tolerance >= 0 && request.tolerance <= 1)) {
    return Refused("tolerance: ", request.tolerance, " is not from 0 to 1");
  }
  if (!(request.hot_above >= 0) || std::isinf(request.hot_above)) {
    return Refused("hot_above: ", request.hot_above, " is not a number from 0");
  }
  if (request.load.empty()) {
    if (request.hot_above > 0) return Refused("hot_above: ", request.hot_above, " needs load");
    return absl::OkStatus();
  }
  if (request.load.size() != ShardGene::kCount) {
    return Refused("load: ", request.load.size(), " numbers; one for each of the ",
                   ShardGene::kCount, " vnodes is needed");
  }
  double sum = 0;
  for (size_t vnode = 0; vnode < request.load.size(); ++vnode) {
    double load = request.load[vnode];
    if (!(load >= 0) || std::isinf(load)) {
      return Refused("load of vnode ", vnode, ": ", load, " is not a number from 0");
    }
    sum += load;
  }
  if (sum == 0) return Refused("load: it is 0 for every vnode");
  if (std::isinf(sum)) return Refused("load: its sum is not finite");
  return absl::OkStatus();
}

}  // namespace locus::internal
