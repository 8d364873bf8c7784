// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_USER_TRIGGERS_H_
#define LOCUS_MIGRATION_FENCE_USER_TRIGGERS_H_

#include <string>
#include <vector>

#include "locus/migration/fence.h"

// Triggers of the service on moved tables. A write of a client fires them once, on the shard that
// accepts it. Their changes to the row, and to other moved tables, are in the binary log and follow
// the order, so they must not run again for rows that a mover writes. Their first statement makes
// sure of that for every write of a mover, so nothing must be put back when a move ends. BEFORE
// triggers run before those of locus, which judge the row that will be written.

namespace locus::internal {

struct UserTrigger {
  std::string table, body, sql_mode;
};

// The text before the body of such a trigger; "; END" follows the body.
std::string UserTriggerBegin(const std::vector<std::string>& movers);

// Reads the names of the stored functions of the connection's database.
inline constexpr char kStoredFunctions[] =
    "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() AND"
    " ROUTINE_TYPE = 'FUNCTION'";

// Why the trigger would make shards differ; empty: it can stay. `functions` are the stored
// functions of the database. Cost: reads the body once.
std::string WhyNotCarried(const UserTrigger& trigger, const std::vector<GuardedTable>& tables,
                          const std::vector<std::string>& movers,
                          const std::vector<std::string>& functions);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_USER_TRIGGERS_H_
