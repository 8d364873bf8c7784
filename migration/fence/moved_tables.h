// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_MOVED_TABLES_H_
#define LOCUS_MIGRATION_FENCE_MOVED_TABLES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/migration/fence.h"
#include "locus/migration/moved_table.h"

// The parts of the fence. ShardFence (locus/migration/shard_fence.h) makes locus_fence, the map
// locus_vnode and the guards, from the SQL of guard_sql.h. MovedTables makes locus_tombstone and
// the version triggers, which give each row a version that only rises. Both read the triggers of a
// table with table_triggers.h, which also knows the order that guards, version triggers and
// triggers of the service need. Both report FenceDifferences. regroup.h plans how vnodes get other
// rows of the fence while clients write.

namespace locus::mysql {

// The version triggers and tombstones of one shard. Several moves may use them at once: a table
// locus_moved_table names the moves that do, and the last one takes the triggers away. Works beside
// the guards of ShardFence; either may be installed first. Connects for each call, by an account
// with the rights to create tables and triggers; the account stays the definer of the triggers and
// must not be dropped. Thread safety: calls may come from any thread, and from several processes.
class MovedTables {
 public:
  // Does not connect. The password is kept in memory that core dumps omit, and wiped afterwards.
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: the system gives no such memory.
  static absl::StatusOr<MovedTables> Create(const MysqlOptions& server,
                                            const std::vector<MovedTable>& tables,
                                            const std::vector<std::string>& movers);

  // Makes tables and triggers that are missing or different, and notes that `move` uses them.
  // Changes nothing where all are there. Safe to repeat after a failure.
  //
  // FAILED_PRECONDITION, before anything changes: a table is missing, is not InnoDB, has another
  // primary key, no such version (BIGINT UNSIGNED NOT NULL), or a trigger of another program.
  // UNAVAILABLE: a table was in use for longer than a second, so that its triggers could not be
  // made, or another process installs or removes: repeat the call.
  absl::Status Install(const std::string& move) const;
  // OK: the triggers are those of the tables, made by one account, each behind the guard of its
  // table, and `move` is noted. FAILED_PRECONDITION names everything that differs.
  absl::Status Verify(const std::string& move) const;
  // The differences that Verify would name. Looks also for every post of locus_tombstone, which
  // takes longer. Empty: none.
  absl::StatusOr<std::vector<FenceDifference>> Differences(const std::string& move) const;
  // Ends the use by `move`. Where no other move uses a table, its triggers and tombstones go.
  // Repeated, it changes nothing, also where other moves have begun since. UNAVAILABLE: as Install.
  absl::Status Remove(const std::string& move) const;

 private:
  class Rep;
  explicit MovedTables(std::shared_ptr<const Rep> rep);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_FENCE_MOVED_TABLES_H_
