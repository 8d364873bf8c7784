// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MOVE_TABLE_STEPS_H_
#define LOCUS_MIGRATION_MOVE_TABLE_STEPS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "locus/routing/table_publisher.h"

namespace locus::internal {

// The state of a move in a routing table.
struct TableSight {
  enum class Kind {
    kUnderWay,  // every vnode of the move goes from its source to its target
    kEnded,     // the target owns every vnode, and none of them moves
    kAbsent,    // the source owns every vnode, and none of them moves
    kOther,     // anything else: another publisher changed the move
  };
  Kind kind = Kind::kOther;
  uint32_t share = 0;  // under way
  uint64_t step = 0;   // likewise
};
TableSight SightOf(const RoutingTable& table, const MoveLeg& leg);

// The next table, one epoch up; everything else stays as it is. ABORTED: `SightOf` the table is not
// the one that this change needs. WithShare also: the table has a later step, of a runner that took
// over.
absl::StatusOr<RoutingTable> WithShare(const RoutingTable& table, const MoveLeg& leg,
                                       uint32_t share, uint64_t step);  // kUnderWay
// The target owns the vnodes. kUnderWay at share 10000.
absl::StatusOr<RoutingTable> WithEnd(const RoutingTable& table, const MoveLeg& leg);
// The source owns the vnodes. kUnderWay at share 0.
absl::StatusOr<RoutingTable> WithoutMove(const RoutingTable& table, const MoveLeg& leg);

// Publishes `change` of the newest table, again where another publisher was faster, and names the
// guarded changes of this move, and no others.
using TableChange = std::function<absl::StatusOr<RoutingTable>(const RoutingTable& newest)>;
absl::StatusOr<RoutingTable> PublishChange(TablePublisher& publisher, const MoveLeg& leg,
                                           const PublicationNote& note, const TableChange& change);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_MOVE_TABLE_STEPS_H_
