// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/rebalance.h"
#include "routing/planner/planned_ring.h"
#include "routing/table/table_check.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::CheckPlannedTable;
using internal::OwnerOfEachVnode;
using internal::Quoted;

namespace {

template <typename... Parts>
absl::Status PlanAgain(const Parts&... parts) {
  return absl::AbortedError(absl::StrCat(parts..., "; plan again"));
}

// The shards of `table` with the weights that the request set, and the plan's shards that are not
// there yet. Other changes since the plan was made stay.
absl::StatusOr<std::vector<Shard>> ShardsOnTheWay(const RoutingTable& table,
                                                  const RebalancePlan& plan) {
  std::vector<Shard> shards = table.shards();
  std::unordered_map<uint32_t, size_t> by_id;
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < shards.size(); ++i) {
    by_id[shards[i].id] = i;
    names.insert(shards[i].name);
  }
  for (const Shard& planned : plan.table.shards()) {
    auto found = by_id.find(planned.id);
    if (found == by_id.end()) {
      if (names.contains(planned.name)) {
        return PlanAgain("shard ", Quoted(planned.name), " has another id than the planned ",
                         planned.id);
      }
      shards.push_back(planned);
    } else if (shards[found->second].name != planned.name) {
      return PlanAgain("shard ", planned.id, " is ", Quoted(shards[found->second].name),
                       ", not the planned ", Quoted(planned.name));
    } else if (shards[found->second].endpoint != planned.endpoint) {
      return PlanAgain("shard ", planned.id, " ", Quoted(planned.name), " is at ",
                       Quoted(shards[found->second].endpoint), ", not at the planned ",
                       Quoted(planned.endpoint));
    } else if (std::ranges::binary_search(plan.reweighted, planned.id)) {
      shards[found->second].weight = planned.weight;
    }
  }
  return shards;
}

// The owner of each vnode and, where it moves, its target (0: none).
struct VnodeStates {
  explicit VnodeStates(const RoutingTable& table)
      : owners(OwnerOfEachVnode(table.ranges())), targets(owners.size()) {
    for (const VnodeMove& move : table.moves()) {
      for (size_t vnode = move.first; vnode <= move.last; ++vnode) targets[vnode] = move.to;
    }
  }

  std::vector<uint32_t> owners;
  std::vector<uint32_t> targets;
};

// How many moves each shard takes part in.
class Parts {
 public:
  Parts(const RoutingTable& table, const VnodeStates& states) {
    for (const VnodeMove& move : table.moves()) {
      std::set<uint32_t> shards = {move.to};
      for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
        shards.insert(states.owners[vnode]);
      }
      for (uint32_t shard : shards) ++of_[shard];
    }
  }

  bool MayTake(const PlannedMove& move, size_t most) {
    if (of_[move.from] >= most || of_[move.to] >= most) return false;
    ++of_[move.from];
    ++of_[move.to];
    return true;
  }

 private:
  std::unordered_map<uint32_t, size_t> of_;
};

// The runs of the planned move that have neither ended nor begun.
absl::StatusOr<std::vector<PlannedMove>> StillToMove(const PlannedMove& planned,
                                                     const VnodeStates& states) {
  std::vector<PlannedMove> runs;
  for (size_t i = planned.first; i <= planned.last; ++i) {
    uint32_t owner = states.owners[i];
    uint32_t target = states.targets[i];
    auto vnode = static_cast<uint16_t>(i);
    if (owner != planned.from && owner != planned.to) {
      return PlanAgain("vnode ", i, " belongs to shard ", owner, ", neither to its giver ",
                       planned.from, " nor to its taker ", planned.to);
    }
    if (target != 0 && target != planned.to) {
      return PlanAgain("vnode ", i, " moves to shard ", target, ", not to the planned ",
                       planned.to);
    }
    if (owner == planned.to || target != 0) continue;
    if (runs.empty() || runs.back().last + 1u != i) {
      runs.push_back({vnode, vnode, planned.from, planned.to});
    }
    runs.back().last = vnode;
  }
  return runs;
}

}  // namespace

absl::StatusOr<RoutingTable> NextMoves(const RoutingTable& table, const RebalancePlan& plan,
                                       size_t most_per_shard) {
  if (most_per_shard == 0) {
    return absl::InvalidArgumentError("most_per_shard is 0; at least 1");
  }
  LOCUS_RETURN_IF_ERROR(CheckPlannedTable(plan.table.table_id(), table));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Shard> shards, ShardsOnTheWay(table, plan));
  VnodeStates states(table);
  Parts parts(table, states);
  std::vector<VnodeMove> moves = table.moves();
  for (const PlannedMove& planned : plan.moves) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<PlannedMove> runs, StillToMove(planned, states));
    for (const PlannedMove& run : runs) {
      if (!parts.MayTake(run, most_per_shard)) continue;
      moves.push_back({.first = run.first, .last = run.last, .to = run.to, .permyriad = 0});
    }
  }
  if (moves.size() == table.moves().size() && shards == table.shards()) return table;
  return RoutingTable::Make(table.epoch() + 1, std::move(shards), table.ranges(), std::move(moves),
                            table.table_id());
}

}  // namespace locus
