// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_REPAIR_FINDINGS_H_
#define LOCUS_MIGRATION_RUN_REPAIR_FINDINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "migration/cut_over/repair.h"
#include "migration/run/move_records.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// Something on the shards of a running move that is not as the move needs it.
struct RepairFinding {
  enum class Kind { kLost, kWrong, kExcess };
  Kind kind = Kind::kLost;
  std::string shard;  // its name
  std::string what;   // names the table and the object
  // The repair that mends it. None: an operator must do it, by `remedy`.
  internal::Repair by;
  std::string remedy;
};
std::string_view ToString(RepairFinding::Kind kind);

// Of a move whose phase has streams; empty otherwise, and where everything is right. Looks at the
// rows of locus_fence, guards, version triggers, locus_moved_table, locus_tombstone, the tables of
// markers, and whether the logs still have what the streams need. Only reads. UNAVAILABLE: a shard
// does not answer.
absl::StatusOr<std::vector<RepairFinding>> FindingsOf(const Move& move, const MoveRecord& record,
                                                      ShardLink& source, ShardLink& target);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_REPAIR_FINDINGS_H_
