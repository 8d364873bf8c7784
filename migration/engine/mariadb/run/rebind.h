// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "locus/routing/routing_table.h"
#include "migration/engine/mariadb/run/shard_link.h"
#include "routing/fence/fence_row.h"

namespace locus::mariadb {

// After a promotion, or a restore, the fence of a shard is bound to a server that is not there any
// more, and its guards refuse every write. Its rows may be bound to the new server if what they
// accept is what the routing table, or the other shard of a move, says; a row from an older state
// could accept orders that another shard has.

// Of rows at rest, whose vnodes no move of the table has: whether what the row accepts is what the
// table says of the shard. `why`: if not.
bool MayBindAtRest(const internal::FenceRow& row, uint32_t shard, const RoutingTable& table,
                   std::string& why);

struct RebindResult {
  std::vector<internal::FenceRow> bound;  // that are bound to this server now
  std::vector<std::string> left;          // rows that are not, each with the reason
};

// Binds the rows of a shard that are bound to another server: those at rest that MayBindAtRest
// accepts, and those of `agreed`, ranges of moves whose two shards were seen to agree. `dry`: says
// so, and changes nothing. ABORTED: somebody changed a row meanwhile: repeat the call.
absl::StatusOr<RebindResult> RebindRows(ShardLink& link, uint32_t shard, const RoutingTable& table,
                                        const std::vector<FencedRange>& agreed, bool dry);

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_
