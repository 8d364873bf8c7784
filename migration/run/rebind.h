// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_REBIND_H_
#define LOCUS_MIGRATION_RUN_REBIND_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "locus/routing/routing_table.h"
#include "migration/run/band_rows.h"
#include "migration/run/shard_link.h"
#include "routing/fence/fence_row.h"

namespace locus::mysql {

// After a promotion, or a restore, the fence of a shard is bound to a server that is not there any
// more, and its guards refuse every write. Its rows may be bound to the new server if they accept
// the orders that the routing table, or the other shard of a move, expects. A row from an older
// state could accept orders that another shard has.

// Of rows at rest, whose vnodes no move of the table has: whether what the row accepts is what the
// table says of the shard. `why`: if not.
bool MayBindAtRest(const internal::FenceRow& row, uint32_t shard, const RoutingTable& table,
                   std::string& why);

// Of the rows of a move, as both of its shards have them. FAILED_PRECONDITION: the fences
// contradict each other: the promoted server lacks what the other shard has seen of the old one.
absl::Status MayBindMove(const BandRows::Seen& source, const BandRows::Seen& target);

// For vnodes whose move is in the table at share 0, while its source has no record of a move that
// has begun. FAILED_PRECONDITION: the target accepts orders of these vnodes, so it has seen more
// than the promoted source. If the target was prepared, its earlier run has lost its token when
// this returns.
absl::Status MayBindUnbegun(const Move& move, ShardLink& source, ShardLink& target, bool dry);

struct RebindResult {
  std::vector<internal::FenceRow> bound;  // that are bound to this server now, with what they were
  std::vector<std::string> left;          // vnodes that are not, each with the reason
};

// Binds the rows of a shard that are bound to another server: the vnodes at rest that MayBindAtRest
// accepts, and vnodes of `fitting`: ranges of moves for which MayBindMove or MayBindUnbegun is
// true. A row of which only a part may be bound is cut. Nothing where the shard has no fence.
// `dry`: says so, and changes nothing. ABORTED: a row was changed meanwhile: repeat the call.
absl::StatusOr<RebindResult> RebindRows(ShardLink& link, uint32_t shard, const RoutingTable& table,
                                        const std::vector<FencedRange>& fitting, bool dry);

// Whether a row that touches the ranges is bound to another server; not where there is no fence.
absl::StatusOr<bool> HasUnboundRows(ShardLink& link, const std::vector<FencedRange>& ranges);

// Gives the move to `run` on these shards: when it returns, an earlier run can write nothing any
// more, and the tokens that it has read are void. Errors of TakeOverRun.
absl::Status BurnRuns(std::initializer_list<ShardLink*> shards, const std::string& move,
                      uint64_t run);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_REBIND_H_
