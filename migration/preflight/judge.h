// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_JUDGE_H_
#define LOCUS_MIGRATION_PREFLIGHT_JUDGE_H_

#include <string>
#include <vector>

#include "migration/preflight/facts.h"

namespace locus::preflight {

// The result of one check.
struct Finding {
  std::string check;  // a fixed word: "binlog-format"
  bool ok = false;
  std::string place;   // a shard, a table of it; empty: the move as a whole
  std::string found;   // "MIXED"
  std::string needed;  // of a failed one: "ROW"
  std::string remedy;  // of a failed one: what to do, a statement where one does it
  bool warns = false;  // an ok one, which needs a look all the same
};

// Checks everything that a move needs, in a fixed order. A check whose facts could not be read has
// failed. Pure: it asks no server.
std::vector<Finding> Judge(const Facts& facts);

// Only the checks of columns, keys and constraints of the moved tables: a run makes them before it
// changes anything. Of the facts it needs the tables of the move and both schemas.
std::vector<Finding> JudgeMovedTables(const Facts& facts);

// No finding failed.
bool AllOk(const std::vector<Finding>& findings);

// Whether lines of SHOW GRANTS give a right, such as "BINLOG MONITOR", on everything or, where
// there is a database, on all of it.
bool HasRight(const std::vector<std::string>& grants, const std::string& right,
              const std::string& database);

// How long the logs of a shard must be kept: three times the copy and the steps by this pace, at
// least a day.
absl::Duration LogsNeeded(const Facts& facts);

}  // namespace locus::preflight

#endif  // LOCUS_MIGRATION_PREFLIGHT_JUDGE_H_
