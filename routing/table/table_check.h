// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_TABLE_CHECK_H_
#define LOCUS_ROUTING_TABLE_TABLE_CHECK_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "locus/routing/routing_table.h"

// How a document becomes a routing table. json_document.h reads the text and refuses it at the
// first byte of another shape; table_json.h has the shapes of a table's parts. TextTotal bounds the
// parts while they are read, and CheckTable judges them together. Refusals name the place by a JSON
// Pointer (refusal.h). Changes between two tables are computed by vnode (vnode_changes.h), and
// printed by run of vnodes (ring_runs.h).

namespace locus::internal {

// Counts shards and their labels and texts as they are read, so that a document with too many of
// them is refused before they are all in memory.
class TextTotal {
 public:
  absl::Status Add(const Shard& shard);

 private:
  size_t shards_ = 0, labels_ = 0, bytes_ = 0;
};

// Whether these parts make a routing table: all the rules in RoutingTable's comment but those about
// JSON. A refusal names a part by its pointer in the document. An empty table_id is none.
absl::Status CheckTable(uint64_t epoch, std::string_view table_id, const std::vector<Shard>& shards,
                        const std::vector<VnodeRange>& ranges, const std::vector<VnodeMove>& moves);

// Whether a URI or its like has an option that is a password: "password=", in any case.
bool HasPasswordOption(std::string_view text);

// The shard id of each vnode's owner, by the ceiling map. `ranges` must be valid.
std::vector<uint32_t> OwnerOfEachVnode(const std::vector<VnodeRange>& ranges);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_TABLE_CHECK_H_
