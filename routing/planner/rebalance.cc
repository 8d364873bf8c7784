// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/rebalance.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "routing/planner/planned_ring.h"
#include "routing/planner/rebalance_load.h"
#include "routing/planner/rebalance_request.h"
#include "routing/planner/rebalance_weights.h"
#include "src/base/os/check.h"

namespace locus {

using internal::BalanceByLoad;
using internal::BalanceByWeight;
using internal::CheckLoadRequest;
using internal::PlannedRing;
using internal::PlannedRingOf;
using internal::WithRequestedShards;

namespace {

std::vector<uint32_t> WeightsOf(const std::vector<Shard>& shards) {
  std::vector<uint32_t> weights;
  for (const Shard& shard : shards) weights.push_back(shard.weight);
  return weights;
}

bool IsHot(const Shard& shard) {
  auto tier = shard.labels.find("tier");
  return tier != shard.labels.end() && tier->second == "hot";
}

// For a tier without load: its vnodes on shards of the other tier get the load 1 each, so that they
// are shared evenly; the others stay. Returns the load of all.
double CountThoseToLeave(const std::vector<uint32_t>& weights, PlannedRing& tier,
                         std::vector<double>& load) {
  double sum = 0;
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    load[vnode] = 0;
    if (tier.fixed[vnode]) continue;
    if (weights[tier.owners[vnode]] > 0) {
      tier.fixed[vnode] = true;
    } else {
      load[vnode] = 1;
      ++sum;
    }
  }
  return sum;
}

// Plans the vnodes of one tier among its shards, without regard to the other tier.
absl::Status BalanceTier(const std::vector<Shard>& shards, const RebalanceRequest& request,
                         double hot_from, bool hot, PlannedRing& ring) {
  std::vector<uint32_t> weights = WeightsOf(shards);
  for (size_t i = 0; i < shards.size(); ++i) {
    if (IsHot(shards[i]) != hot) weights[i] = 0;
  }
  PlannedRing tier = ring;
  std::vector<double> load = request.load;
  double sum = 0;
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    if ((load[vnode] >= hot_from) == hot) {
      if (!tier.fixed[vnode] || weights[tier.owners[vnode]] > 0) sum += load[vnode];
    } else {
      load[vnode] = 0;
      tier.fixed[vnode] = true;
    }
  }
  if (sum == 0) sum = CountThoseToLeave(weights, tier, load);
  if (std::ranges::all_of(weights, [](uint32_t weight) { return weight == 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("hot_above: no shard with a weight ",
                     hot ? "has label tier = \"hot\"" : "is without label tier = \"hot\""));
  }
  if (sum > 0) BalanceByLoad(weights, load, request.tolerance, tier);
  ring.owners = std::move(tier.owners);
  return absl::OkStatus();
}

absl::Status Balance(const std::vector<Shard>& shards, const RebalanceRequest& request,
                     PlannedRing& ring) {
  if (request.load.empty()) {
    BalanceByWeight(WeightsOf(shards), ring);
  } else if (request.hot_above == 0) {
    BalanceByLoad(WeightsOf(shards), request.load, request.tolerance, ring);
  } else {
    double sum = std::accumulate(request.load.begin(), request.load.end(), 0.0);
    double hot_from = request.hot_above * sum / static_cast<double>(request.load.size());
    for (bool hot : {true, false}) {
      LOCUS_RETURN_IF_ERROR(BalanceTier(shards, request, hot_from, hot, ring));
    }
  }
  return absl::OkStatus();
}

std::map<uint32_t, size_t> CountVnodes(const std::vector<Shard>& shards,
                                       const std::vector<uint32_t>& owners) {
  std::map<uint32_t, size_t> vnodes;
  for (const Shard& shard : shards) vnodes[shard.id] = 0;
  for (uint32_t owner : owners) ++vnodes[shards[owner].id];
  return vnodes;
}

// The greatest load of a shard over its portion by weight. Shards without a weight, and owners past
// the end of `weights`, do not count.
double Peak(const std::vector<double>& load, const std::vector<uint32_t>& owners,
            const std::vector<uint32_t>& weights) {
  std::vector<double> loads(weights.size());
  double sum = 0;
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    if (owners[vnode] < loads.size()) loads[owners[vnode]] += load[vnode];
    sum += load[vnode];
  }
  double weight_sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double peak = 0;
  for (size_t shard = 0; shard < weights.size(); ++shard) {
    if (weights[shard] > 0) {
      peak = std::max(peak, loads[shard] / sum * (weight_sum / weights[shard]));
    }
  }
  return peak;
}

std::vector<PlannedMove> MovesBetween(const std::vector<Shard>& shards,
                                      const std::vector<uint32_t>& before,
                                      const std::vector<uint32_t>& after) {
  std::vector<PlannedMove> moves;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    auto vnode = static_cast<uint16_t>(i);
    uint32_t from = shards[before[i]].id;
    uint32_t to = shards[after[i]].id;
    bool continues = !moves.empty() && moves.back().last + 1u == i && moves.back().from == from &&
                     moves.back().to == to;
    if (!continues) moves.push_back({vnode, vnode, from, to});
    moves.back().last = vnode;
  }
  return moves;
}

}  // namespace

absl::StatusOr<RebalancePlan> PlanRebalance(const RoutingTable& table,
                                            const RebalanceRequest& request) {
  LOCUS_RETURN_IF_ERROR(CheckLoadRequest(request));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable requested, WithRequestedShards(table, request));
  const std::vector<Shard>& shards = requested.shards();
  PlannedRing ring = PlannedRingOf(requested);
  std::vector<uint32_t> before = ring.owners;
  LOCUS_RETURN_IF_ERROR(Balance(shards, request, ring));

  std::vector<PlannedMove> moves = MovesBetween(shards, before, ring.owners);
  RebalancePlan plan{.table = requested,
                     .moves = std::move(moves),
                     .moved_vnodes = 0,
                     .vnodes_before = CountVnodes(shards, before),
                     .vnodes_after = CountVnodes(shards, ring.owners),
                     .peak_before = {},
                     .peak_after = {}};
  const std::unordered_set<std::string> removed(request.remove.begin(), request.remove.end());
  for (const Shard& shard : shards) {
    bool reweighted = request.weights.contains(shard.name) || removed.contains(shard.name);
    if (reweighted) plan.reweighted.push_back(shard.id);
  }
  double load_sum = 0;
  double moved = 0;
  for (size_t vnode = 0; vnode < before.size(); ++vnode) {
    double load = request.load.empty() ? 1 : request.load[vnode];
    load_sum += load;
    if (before[vnode] == ring.owners[vnode]) continue;
    ++plan.moved_vnodes;
    moved += load;
  }
  plan.moved_load = moved / load_sum;
  if (!request.load.empty()) {
    plan.peak_before = Peak(request.load, before, WeightsOf(table.shards()));
    plan.peak_after = Peak(request.load, ring.owners, WeightsOf(shards));
  }
  return plan;
}

RoutingTable AfterRebalance(const RebalancePlan& plan) {
  const std::vector<Shard>& shards = plan.table.shards();
  std::vector<uint32_t> owners = PlannedRingOf(plan.table).owners;
  for (uint32_t& owner : owners) owner = shards[owner].id;
  for (const PlannedMove& move : plan.moves) {
    std::fill(owners.begin() + move.first, owners.begin() + move.last + 1, move.to);
  }
  std::vector<VnodeRange> ranges;
  for (size_t vnode = 0; vnode < owners.size(); ++vnode) {
    if (ranges.empty() || ranges.back().shard != owners[vnode]) {
      ranges.push_back({0, owners[vnode]});
    }
    ranges.back().last = static_cast<uint16_t>(vnode);
  }
  absl::StatusOr<RoutingTable> after =
      RoutingTable::Make(plan.table.epoch(), shards, std::move(ranges), {}, plan.table.table_id());
  LOCUS_CHECK(after.ok());
  return *std::move(after);
}

}  // namespace locus
