// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_REBALANCE_H_
#define LOCUS_ROUTING_REBALANCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus {

// What to change about the ring. Shards are given by name.
struct RebalanceRequest {
  struct NewShard {
    std::string name;
    std::string endpoint;
    uint32_t weight = 100;
    std::map<std::string, std::string> labels = {};
  };
  std::vector<NewShard> add = {};
  // These give all their vnodes away; they stay in the table, with weight 0.
  std::vector<std::string> remove = {};
  std::map<std::string, uint32_t> weights = {};  // 0..RoutingTable::kMaxWeight

  // Load of each vnode, in any one unit: 65,536 numbers, none negative or infinite, not all zero.
  // Empty: every vnode counts the same, and shares are by weight exactly. Given: shares of the load
  // are by weight, as near as the tolerance asks, with few vnodes and little load moved.
  std::vector<double> load = {};

  // With `load` and labels {"tier": ...}: vnodes whose load is at least hot_above times the mean of
  // all vnodes go to shards whose label tier is "hot", others to those where it is not. 0: tiers
  // are not looked at. INVALID_ARGUMENT where no shard with a weight has the label.
  double hot_above = 0;

  // With `load`: how far from its share of the load a shard may stay, as a part of that share: at
  // 0.05, a shard that has 5 % more or less than its share is left as it is. Where all shards are
  // within it nothing moves, but from shards without a weight. Larger: fewer and smaller moves, and
  // shards less even. A vnode that alone is above a shard's share cannot be divided; the tolerance
  // then holds for the shares of the others. 0..1.
  double tolerance = 0.01;
};

// Vnodes first..last change hands.
struct PlannedMove {
  uint16_t first = 0;
  uint16_t last = 0;
  uint32_t from = 0;  // ids in RebalancePlan::table
  uint32_t to = 0;

  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

struct RebalancePlan {
  // The table that was planned from, with the request's shards and weights: same epoch, ranges and
  // moves. Nothing has moved in it.
  RoutingTable table;
  // In the order of their vnodes; no two of them touch that could be one.
  std::vector<PlannedMove> moves;
  size_t moved_vnodes = 0;
  std::map<uint32_t, size_t> vnodes_before;  // by shard id; every shard of `table`
  std::map<uint32_t, size_t> vnodes_after;
  // With load: the load of the most loaded shard over its share by weight, 1 being even; before: by
  // the weights of the table planned from. Shards without a weight do not count.
  std::optional<double> peak_before;
  std::optional<double> peak_after;
  double moved_load = 0;  // part of all load, 0..1; without load, of all vnodes
  // Ids of the shards whose weight the request sets, in their order. NextMoves carries these
  // weights over; a weight that somebody else changed since the plan was made stays changed.
  std::vector<uint32_t> reweighted = {};

  friend bool operator==(const RebalancePlan&, const RebalancePlan&) = default;
};

// Which vnodes should move.
//
// Without load: shares by weight are whole vnodes, each shard's part rounded down or up so that as
// few vnodes move as any rounding allows: the greater of what shards own above their part rounded
// up and what they lack below it rounded down. Ranges stay as contiguous as that allows. With load:
// near-optimal; the load of the most loaded shard is within max(tolerance, 2 %) of the lower bound
// wherever vnodes are small enough for that.
//
// Vnodes that already move in `table` (and their present owner's claim to them) count as their
// target's, before and after, and are not moved again; a shard that gets more of them than its
// share keeps these, and the others share the rest.
//
// New shards get the ids that follow the highest.
//
// INVALID_ARGUMENT, naming the value and the limit: an unknown or repeated name, a weight out of
// range, a shard both added and removed, no shard left with a weight, loads that are not as above.
absl::StatusOr<RebalancePlan> PlanRebalance(const RoutingTable& table,
                                            const RebalanceRequest& request);

// The next table on the way: epoch + 1, the plan's new shards and reweighted ones, and as many of
// the plan's moves as may run at once, each at permyriad 0, added to those already in `table`; the
// owners change nowhere. A shard takes part, as giver or taker, in at most `most_per_shard` moves
// (at least 1). Moves that are done or under way in `table` are left out, so that calling it again
// when some have ended goes on with the plan; the result of nothing left to do is an equal table.
// ABORTED: a planned vnode belongs to neither its giver nor its taker, or moves elsewhere: plan
// again.
absl::StatusOr<RoutingTable> NextMoves(const RoutingTable& table, const RebalancePlan& plan,
                                       size_t most_per_shard);

// The plan as a JSON document. Shards are called by name, but for `shards`, which are as in the
// document of a table; the peaks are there with load only. A document without `reweighted`
// reweights every shard.
//
//   { "epoch": 12,
//     "shards": [ {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
//                  "weight": 100} ],
//     "moves":  [ {"first": 0, "last": 255, "from": "orders-a", "to": "orders-b"} ],
//     "reweighted": ["orders-a"], "moved_vnodes": 256, "before": {"orders-a": 65536}, "after":
//     {"orders-a": 65280}, "moved_load": 0.004, "peak_before": 1.1, "peak_after": 1.002 }
std::string PlanAsJson(const RebalancePlan& plan);

// Reads back an equal plan, where `table` is the one that was planned from. It may also be a later
// one that was made of it by NextMoves and by ending moves: RebalancePlan::table then has its
// epoch, ranges and moves. INVALID_ARGUMENT: as RoutingTable says, also for a plan that contradicts
// itself or, of the table's own epoch, the table; one of a later epoch; and one that does not know
// a shard of the table.
absl::StatusOr<RebalancePlan> ParsePlan(const RoutingTable& table, std::string_view json);

// Owners as they will be when all moves of the plan have ended; without moves, epoch as in `table`.
RoutingTable AfterRebalance(const RebalancePlan& plan);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_H_
