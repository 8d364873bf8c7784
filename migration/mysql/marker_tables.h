// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_MARKER_TABLES_H_
#define LOCUS_MIGRATION_MYSQL_MARKER_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

struct st_mysql;

// The tables in which the tools of a move store, on each shard, their run and how far they have
// come. Every transaction of a tool raises `counter` of its row of locus_checkpoint or locus_copy,
// WHERE run is its own. So a transaction of the log with such a row is a tool's, and a tool whose
// run is over can write nothing more.

namespace locus::mysql {

// A row for each stream that this shard receives: `direction` is the internal::Side of the shard.
// `bands`: what the other shard accepted at `position` of its log (internal::BandsText). `ping`:
// that of its locus_run there.
inline constexpr char kCheckpoints[] = "locus_checkpoint";
// A row for each table that is copied to this shard.
inline constexpr char kCopies[] = "locus_copy";
// A row for each move, no marker: the run that has the move, and the last ping. A `ping`
// raised here appears in locus_checkpoint of the other shard once the stream has passed that point.
inline constexpr char kRuns[] = "locus_run";

constexpr bool IsMarker(std::string_view table) {
  return table == kCheckpoints || table == kCopies;
}

// CREATE TABLE IF NOT EXISTS of the three.
std::vector<std::string> CreateMarkerTables();

// The error of a statement of a run that no longer has the move.
absl::Status TakenOver(const std::string& place, const std::string& move);
bool IsTakenOver(const absl::Status& status);

// Gives the move on this shard to `run`: makes the tables where they are missing, and waits for the
// transactions of former runs that are under way. From then on these write nothing: each of their
// transactions ends with FAILED_PRECONDITION. To be called on both shards before the first
// ChangeApplier of the run is opened. Safe to repeat.
//
// `handle`: a session with autocommit. UNAVAILABLE: a transaction under way held its row
// for longer than `patience`, or the shard does not answer.
absl::Status TakeOverRun(st_mysql* handle, const std::string& place, const std::string& move,
                         uint64_t run, absl::Duration patience = absl::Seconds(30));

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_MARKER_TABLES_H_
