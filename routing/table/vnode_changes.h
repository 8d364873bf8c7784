// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_VNODE_CHANGES_H_
#define LOCUS_ROUTING_TABLE_VNODE_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "locus/routing/routing_table.h"

namespace locus::internal {

// The move of one vnode.
struct MoveState {
  uint32_t to;
  uint32_t permyriad;
  uint64_t step;
  friend bool operator==(const MoveState&, const MoveState&) = default;
};

// One vnode in two tables; no move: it does not move.
struct VnodeChange {
  uint32_t owner_before;
  uint32_t owner_after;
  std::optional<MoveState> move_before;
  std::optional<MoveState> move_after;

  bool changed_hands() const { return owner_before != owner_after; }
  // Whether the vnode's move is over and its target owns the vnode.
  bool ended() const { return move_before && !move_after && owner_after == move_before->to; }
};

// Of each of the 65,536 vnodes.
std::vector<VnodeChange> ChangeOfEachVnode(const RoutingTable& before, const RoutingTable& after);

// "vnode 7" or "vnodes 0..255".
std::string VnodesText(size_t first, size_t last);

// Calls say(first, last) for each longest run of vnodes whose changes are all the `same`.
template <typename Same, typename Say>
void ForEachRun(const std::vector<VnodeChange>& changes, Same same, Say say) {
  size_t first = 0;
  for (size_t i = 1; i <= changes.size(); ++i) {
    if (i < changes.size() && same(changes[first], changes[i])) continue;
    say(first, i - 1);
    first = i;
  }
}

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_VNODE_CHANGES_H_
