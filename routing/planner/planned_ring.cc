// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/planned_ring.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "routing/table/table_check.h"
#include "src/base/text/text.h"

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

absl::Status CheckPlannedTable(std::string_view planned_id, const RoutingTable& table) {
  if (planned_id == table.table_id()) return absl::OkStatus();
  auto called = [](std::string_view id) {
    return id.empty() ? std::string("a table without a table_id")
                      : absl::StrCat("table ", internal::ToAbsl(id));
  };
  return absl::FailedPreconditionError(
      absl::StrCat("/table_id: the plan is for ", called(planned_id), ", and this is ",
                   called(table.table_id()), "; plan from this table"));
}

}  // namespace locus::internal
