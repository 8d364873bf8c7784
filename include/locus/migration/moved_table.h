// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MOVED_TABLE_H_
#define LOCUS_MIGRATION_MOVED_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "locus/migration/fence.h"

// What a move needs of a table beyond the guard: that each state of a row has a version which only
// rises, also where the row is deleted and inserted again. Triggers see to it, whatever clients
// write:
//
//   UPDATE   the version becomes at least one more than it was.
//   DELETE   the row goes; its version + 1 stays in locus_tombstone, in the same transaction.
//   INSERT   the version becomes at least the tombstone's + 1. Where the row exists, the statement
//            is a REPLACE or ends with 1062; its version becomes at least the row's + 2, since a
//            REPLACE leaves a tombstone of the row's + 1 behind it.
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

// The statement that makes the table of tombstones: table, key (each column of the primary key as
// its length and its text), version, gene, cohort.
std::string CreateTombstones();

}  // namespace locus

#endif  // LOCUS_MIGRATION_MOVED_TABLE_H_
