// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_TABLE_CHECK_H_
#define LOCUS_ROUTING_TABLE_TABLE_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "locus/routing/routing_table.h"

namespace locus {

// Whether these parts make a routing table; all the rules that RoutingTable's comment lists, other
// than those of JSON. A refusal names the parts by their pointers in the document.
absl::Status CheckTable(uint64_t epoch, const std::vector<Shard>& shards,
                        const std::vector<VnodeRange>& ranges, const std::vector<VnodeMove>& moves);

// The id of each vnode's owner, by the ceiling map. Needs ranges that CheckTable accepts.
std::vector<uint32_t> OwnerOfEachVnode(const std::vector<VnodeRange>& ranges);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_TABLE_CHECK_H_
