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

// The changes to plan. Shards are given by name.
struct RebalanceRequest {
  struct NewShard {
    std::string name;
    std::string endpoint;
    uint32_t weight = 100;
    std::map<std::string, std::string> labels = {};
  };
  std::vector<NewShard> add = {};
  // Shards that give all their vnodes away. They stay in the table, with weight 0.
  std::vector<std::string> remove = {};
  std::map<std::string, uint32_t> weights = {};  // 0..RoutingTable::kMaxWeight

  // The load of each vnode, in any unit: 65,536 finite numbers, none negative, not all zero. Empty:
  // every vnode counts the same, and portions follow the weights exactly. Given: the portions of
  // the load follow the weights within the tolerance, with few vnodes and little load moved.
  std::vector<double> load = {};

  // With `load`: vnodes whose load is at least hot_above times the mean go to shards with the label
  // {"tier": "hot"}, the others to the other shards. 0: labels are ignored. INVALID_ARGUMENT: no
  // shard with a weight has the label.
  double hot_above = 0;

  // With `load`: how far a shard's load may differ from its portion, as a fraction of the portion.
  // At 0.05 a shard with 5 % more or less than its portion is left alone. If all shards are within
  // it, only shards without a weight give vnodes away. Larger: fewer and smaller moves, less even
  // shards. A vnode whose load exceeds a shard's portion cannot be divided; the tolerance then
  // applies to the portions of the others. 0..1.
  double tolerance = 0.01;
};

// Vnodes first..last move from one shard to another.
struct PlannedMove {
  uint16_t first = 0;
  uint16_t last = 0;
  uint32_t from = 0;  // ids in RebalancePlan::table
  uint32_t to = 0;

  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

struct RebalancePlan {
  // The table that was planned from, with the new shards and weights of the request. Its epoch,
  // ranges and moves are unchanged.
  RoutingTable table;
  // Ordered by vnode. Adjacent moves between the same shards are merged.
  std::vector<PlannedMove> moves;
  size_t moved_vnodes = 0;
  std::map<uint32_t, size_t> vnodes_before;  // by shard id; every shard of `table`
  std::map<uint32_t, size_t> vnodes_after;
  // With load: the load of the most loaded shard divided by its portion; 1 is even. peak_before
  // uses the weights before the request. Shards without a weight do not count.
  std::optional<double> peak_before;
  std::optional<double> peak_after;
  double moved_load = 0;  // the part of all load that moves, 0..1; without load, of all vnodes
  // The ids of the shards whose weight the request sets, in order. NextMoves sets these weights
  // only; other weights that were changed since the plan was made stay.
  std::vector<uint32_t> reweighted = {};

  friend bool operator==(const RebalancePlan&, const RebalancePlan&) = default;
};

// Plans which vnodes should move.
//
// Without load, each shard's portion is its part of the vnodes by weight, rounded down or up such
// that the fewest vnodes move. That number is the greater of two sums over the shards: the vnodes
// that they own above their portion rounded up, and those that they lack below their portion
// rounded down. Ranges stay as contiguous as that allows. With load, the plan is near-optimal: the
// load of the most loaded shard is within max(tolerance, 2 %) of the lower bound, if vnodes are
// small enough for that.
//
// Vnodes that move in `table` already count as their target's, before and after, and are not moved
// again. A shard that gets more of them than its portion keeps them, and the others share the rest.
//
// New shards get the ids that follow the highest.
//
// INVALID_ARGUMENT, naming the value and the limit: an unknown or repeated name, a weight out of
// range, a shard both added and removed, no shard left with a weight, loads that are not as above.
absl::StatusOr<RebalancePlan> PlanRebalance(const RoutingTable& table,
                                            const RebalanceRequest& request);

// The next table of the plan: epoch + 1, the plan's new shards and weights, the moves of `table`,
// and as many further moves of the plan as may run at once, each at permyriad 0. Owners do not
// change. A shard takes part, as giver or taker, in at most `most_per_shard` moves (at least 1).
// Moves that are done or under way are left out, so call it again when some have ended; if nothing
// is left to do, the result equals `table`. ABORTED: a planned vnode belongs to neither its giver
// nor its taker, or moves elsewhere, or a shard has another endpoint than the planned one: plan
// again. FAILED_PRECONDITION: the plan is for a table with another table_id.
absl::StatusOr<RoutingTable> NextMoves(const RoutingTable& table, const RebalancePlan& plan,
                                       size_t most_per_shard);

// The plan as a JSON document. Shards are given by name, except in `shards`, which has the form of
// a routing table's. The peaks are present only with load. A document without `reweighted` sets the
// weight of every shard; one without `table_id` is for a table that has none.
//
//   { "epoch": 12, "table_id": "9f1c02d7b5a64e38",
//     "shards": [ {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
//                  "weight": 100} ],
//     "moves":  [ {"first": 0, "last": 255, "from": "orders-a", "to": "orders-b"} ],
//     "reweighted": ["orders-a"], "moved_vnodes": 256, "before": {"orders-a": 65536}, "after":
//     {"orders-a": 65280}, "moved_load": 0.004, "peak_before": 1.1, "peak_after": 1.002 }
std::string PlanAsJson(const RebalancePlan& plan);

// Parses a plan. With the `table` that was planned from it gives an equal plan. `table` may also be
// a later one, made from it by NextMoves and by ending moves; RebalancePlan::table then has that
// table's epoch, ranges and moves. INVALID_ARGUMENT: as for RoutingTable; also if the plan
// contradicts itself, has the epoch of `table` and contradicts it, has a later epoch, or lacks a
// shard of `table`. FAILED_PRECONDITION: the plan is for a table with another table_id.
absl::StatusOr<RebalancePlan> ParsePlan(const RoutingTable& table, std::string_view json);

// The table with the owners after all moves of the plan have ended: without moves, with the same
// epoch.
RoutingTable AfterRebalance(const RebalancePlan& plan);

}  // namespace locus

#endif  // LOCUS_ROUTING_REBALANCE_H_
