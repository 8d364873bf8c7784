// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "locus/routing/routing_table.h"
#include "migration/engine/mariadb/run/band_rows.h"
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

// Of the rows of a move, as they stand on both of its shards. FAILED_PRECONDITION: the fences
// contradict each other: the promoted server lacks what the other shard has seen of the old one.
absl::Status MayBindMove(const BandRows::Seen& source, const BandRows::Seen& target);

struct RebindResult {
  std::vector<internal::FenceRow> bound;  // that are bound to this server now
  std::vector<std::string> left;          // rows that are not, each with the reason
};

// Binds the rows of a shard that are bound to another server: those at rest that MayBindAtRest
// accepts, and those of `fitting`, ranges of moves whose two fences do not contradict each other.
// `dry`: says so, and changes nothing. ABORTED: somebody changed a row meanwhile: repeat the call.
absl::StatusOr<RebindResult> RebindRows(ShardLink& link, uint32_t shard, const RoutingTable& table,
                                        const std::vector<FencedRange>& fitting, bool dry);

// Gives the move to `run` on these shards: when it returns, nothing that an earlier run had under
// way is written any more, and tokens that it has read are void. Errors of TakeOverRun.
absl::Status BurnRuns(std::initializer_list<ShardLink*> shards, const std::string& move,
                      uint64_t run);

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_REBIND_H_
