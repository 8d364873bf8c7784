// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_SHARD_FENCE_H_
#define LOCUS_MIGRATION_SHARD_FENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/migration/fence.h"
#include "locus/routing/routing_table.h"

namespace locus {

// The fence of one shard. Connects for each call, by an account with the rights to create tables
// and triggers; the account stays the definer of the triggers and must not be dropped. Thread
// safety: calls may come from any thread.
class ShardFence {
 public:
  // Does not connect. The password is kept in memory that core dumps omit, and wiped afterwards.
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: the system gives no such memory.
  static absl::StatusOr<ShardFence> Create(const MysqlOptions& server, const FenceOptions& options);

  // Makes the table and its rows for the shard's vnodes, then the triggers. From then on the
  // guarded tables accept exactly these vnodes. Changes nothing where all of it is there. Safe to
  // repeat after a failure: the rows come before the triggers.
  //
  // FAILED_PRECONDITION, before anything changes: the table has moves under way; the server has no
  // binary log, or one that is not ROW and FULL; it is a Galera node; a guarded table is missing,
  // is not InnoDB, has no such column, a trigger that would make shards differ, or a key that
  // cascades or sets null (no trigger fires for it); the fence has other rows. UNAVAILABLE: a table
  // was in use for longer than a second, so that its triggers could not be made: repeat the call.
  absl::Status Install(const RoutingTable& table, uint32_t shard) const;
  // OK: the triggers are those of the options, made by one account, and every row is bound to this
  // server. FAILED_PRECONDITION names everything that differs.
  absl::Status Verify() const;
  // As Verify, but the rows may be bound to any server.
  absl::Status VerifyTriggers() const;
  // The differences that Verify would name; empty: none.
  absl::StatusOr<std::vector<FenceDifference>> Differences() const;
  // Triggers of the service on guarded tables that would make shards differ: "NAME on TABLE why".
  absl::StatusOr<std::vector<std::string>> ForeignTriggers() const;
  // Makes guards again that are missing or wrong, by this account, also while orders move; the rows
  // stay as they are. Each trigger waits until its table is not in use. So every write that commits
  // after that has run the trigger. Errors: those of Install, without those of the table and rows.
  absl::Status InstallGuards() const;
  // Drops the guards, three a table, and leaves the rows, which fenced SQL still reads. From then
  // on only clients that read the fence before each write (FencedCall::fence_first) are refused
  // with an old routing table; all others could write into vnodes that have moved away, without an
  // error. The caller must make sure that no move of the shard is under way, and that no such
  // client has an old table; `locus move guards drop` checks both. Install, InstallGuards and the
  // next move make them again. Returns the names of those that were there, by name; `dry`: drops
  // none. Safe to repeat: it continues where it failed.
  //
  // FAILED_PRECONDITION, before anything changes: a table has a version trigger, so a move has not
  // been cleaned up; a table that the options do not name has guards. UNAVAILABLE: a move is being
  // prepared; or a table was in use for longer than a second: some guards may be gone, repeat the
  // call.
  absl::StatusOr<std::vector<std::string>> DropGuards(bool dry) const;
  // Drops the triggers and then the table: writes are not fenced any more. FAILED_PRECONDITION: a
  // row does not own all cohorts of its vnodes, since a move has been made or is under way. Clients
  // with an old routing table would write to this shard orders that another one has.
  absl::Status Remove() const;

 private:
  class Rep;
  explicit ShardFence(std::shared_ptr<const Rep> rep);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_MIGRATION_SHARD_FENCE_H_
