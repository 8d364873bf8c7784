// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MOVED_TABLE_H_
#define LOCUS_MIGRATION_MOVED_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "locus/migration/fence.h"

// Besides the guard, a move needs a version in each row of a table that only rises, even if the row
// is deleted and inserted again. Triggers set it, regardless of the values that clients write:
//
//   UPDATE   the version becomes at least one more than it was.
//   DELETE   the row goes; its version + 1 stays in locus_tombstone, in the same transaction.
//   INSERT   the version becomes at least the tombstone's + 1.
//   REPLACE  of a row that exists is refused (LOCUS_REFUSED), unless MovedTable::replaces is true.
//
// INSERTs do not lock one another out: they lock single rows that always exist, never gaps.
//
// So copy and change stream may come in any order and any number of times, and the newer state
// wins. The accounts that move orders are let pass: they write versions as they read them.

namespace locus {

// A table whose rows are moved with their orders.
struct MovedTable {
  GuardedTable guard;
  // Columns of the primary key, in its order. Text among them must compare by bytes.
  std::vector<std::string> primary_key = {"order_id"};
  std::string version = "version";  // BIGINT UNSIGNED NOT NULL
  // Clients use REPLACE on it: the new row's version becomes at least the old one's + 2, since the
  // deletion inside of a REPLACE leaves a tombstone of + 1. Costs each INSERT a read of its key,
  // which opens the client's snapshot: with innodb_snapshot_isolation later statements of its
  // transaction may fail with 1020, and so does a REPLACE that meets a change since its snapshot.
  bool replaces = false;

  // INVALID_ARGUMENT, naming the value and the limit.
  absl::Status Check() const;

  friend bool operator==(const MovedTable&, const MovedTable&) = default;
};

// A trigger that keeps versions honest.
struct VersionTrigger {
  std::string name;  // locus_version_<table>_<before or after>_<event>
  std::string table;
  std::string timing;  // BEFORE, AFTER
  std::string event;   // INSERT, UPDATE, DELETE
  std::string body;

  friend bool operator==(const VersionTrigger&, const VersionTrigger&) = default;
};

// Four a table: BEFORE INSERT, AFTER INSERT, BEFORE UPDATE, AFTER DELETE. `movers` as in
// FenceOptions.
std::vector<VersionTrigger> VersionTriggersOf(const MovedTable& table,
                                              const std::vector<std::string>& movers);

// The statements that make the table of tombstones with its posts (migration.md explains them):
// bucket, table, key (each column of the primary key as its length and its text), version, gene,
// cohort. Repeated, they make what is missing.
std::vector<std::string> CreateTombstones();

}  // namespace locus

#endif  // LOCUS_MIGRATION_MOVED_TABLE_H_
