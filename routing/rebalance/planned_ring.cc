// SPDX-License-Identifier: Apache-2.0
#include "routing/rebalance/planned_ring.h"

#include <unordered_map>

#include "routing/table/table_check.h"

namespace locus::internal {

PlannedRing PlannedRingOf(const RoutingTable& table) {
  std::unordered_map<uint32_t, uint32_t> index_of;
  for (uint32_t i = 0; i < table.shards().size(); ++i) index_of[table.shards()[i].id] = i;
  PlannedRing ring{.owners = OwnerOfEachVnode(table.ranges()), .fixed = {}};
  ring.fixed.resize(ring.owners.size());
  for (const VnodeMove& move : table.moves()) {
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      ring.owners[vnode] = move.to;
      ring.fixed[vnode] = true;
    }
  }
  for (uint32_t& owner : ring.owners) owner = index_of.at(owner);
  return ring;
}

}  // namespace locus::internal
