// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_TABLE_TRIGGERS_H_
#define LOCUS_MIGRATION_FENCE_TABLE_TRIGGERS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/fence.h"
#include "migration/fence/key_form.h"
#include "src/engine/mysql/connection.h"

// The triggers of a shard's tables. Two kinds are ours: guards (locus/migration/fence.h) and
// version triggers (locus/migration/moved_table.h). Where a table has both, the guard must run
// first: its lock of the fence row comes before the locks of the version trigger, so a writer that
// waits for the fence holds no row that the applier needs. BEFORE triggers of the service
// (migration/fence/user_triggers.h) run before both, so that these judge the row that will be
// written. MariaDB runs triggers in the order in which they were made, and a replaced one becomes
// the last, unless the statement that makes it says which other it FOLLOWS or PRECEDES.

namespace locus::mysql {

// The lock of a shard for GET_LOCK: one makes or drops its triggers at a time. While a trigger is
// made, others do not see its table.
inline constexpr char kTriggersLock[] = "CONCAT('locus_prepare ', SHA1(DATABASE()))";

struct TableTrigger {
  std::string table, event, timing, body, definer;
  uint64_t order = 0;  // among those of one table, event and timing
  std::string sql_mode;
};

// Those of the tables of the connection's database, by name.
absl::StatusOr<std::map<std::string, TableTrigger>> TriggersOn(
    Connection& connection, const std::vector<std::string>& tables);

// The columns of a table's primary key, in its order.
absl::StatusOr<std::vector<std::string>> PrimaryKeyOf(Connection& connection,
                                                      const std::string& table);
// Sets key_forms as the tables of the connection's database have the columns of primary_key.
absl::Status ReadKeyForms(Connection& connection, std::vector<internal::KeyedTable>& tables);

// Whether a trigger of `table` is the version trigger that it is named after, with this table's
// primary key and any of its columns as the version, regardless of the accounts that it lets pass.
absl::StatusOr<bool> IsVersionTrigger(Connection& connection, const GuardedTable& table,
                                      const std::vector<std::string>& movers,
                                      const std::string& name, const TableTrigger& trigger);

// By which account triggers have to be made so that all of `names` have one definer: empty if those
// that are there have one and no other is to be made (`makes`), or if it is that of the connection.
absl::StatusOr<std::string> OneDefiner(Connection& connection,
                                       const std::map<std::string, TableTrigger>& there,
                                       const std::vector<std::string>& names, bool makes);

// Of the triggers in `there` but `ours`: "NAME on TABLE why" for each that would make shards differ
// (migration/fence/user_triggers.h).
absl::StatusOr<std::vector<std::string>> NotCarried(
    Connection& connection, const std::map<std::string, TableTrigger>& there,
    const std::set<std::string>& ours, const std::vector<GuardedTable>& tables,
    const std::vector<std::string>& movers);

// Whether triggers of the service that run BEFORE an event come before this one, as they must.
bool RunsAfterUserTriggers(const std::map<std::string, TableTrigger>& there,
                           const std::string& name);

// Of the tables in `there`: "trigger A runs before trigger B" where the order is not: triggers of
// the service, guard, version trigger.
std::vector<FenceDifference> WrongOrders(const std::map<std::string, TableTrigger>& there);

// The name of the guard, or of the version trigger, of this table that runs BEFORE `event`; empty:
// it is not there.
std::string GuardBefore(const std::map<std::string, TableTrigger>& there, const std::string& table,
                        const std::string& event);
std::string VersionTriggerBefore(const std::map<std::string, TableTrigger>& there,
                                 const std::string& table, const std::string& event);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_FENCE_TABLE_TRIGGERS_H_
