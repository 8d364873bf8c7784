// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_MOVES_OWN_MOVES_H_
#define LOCUS_APPS_SHARED_MOVES_OWN_MOVES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/shared/moves/move_file.h"
#include "locus/migration/move.h"
#include "locus/routing/routing_table.h"

namespace locus::apps {

// Whether moves of the table that nobody has begun are the file's, too.
enum class NotBegun {
  kIfNoneHasBegun,  // only while the file has begun no move at all
  kAlso,            // for what begins moves
};

// The moves of a file, ordered by name: those that their source remembers under the file's name,
// also where the table does not have them any more, and those that nobody has begun. A move that
// was begun under another file's name, and its vnodes, are left out. NOT_FOUND: there are none.
// Otherwise errors of MoveLegsOf and MovesOf.
// `unheard`: of shards that did not answer, and of records that cannot be read, each after "; ":
// they may be moves of the file.
absl::StatusOr<std::vector<Move>> OwnMovesOf(const MoveFile& file, const RoutingTable& table,
                                             NotBegun not_begun, std::string& unheard);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_MOVES_OWN_MOVES_H_
