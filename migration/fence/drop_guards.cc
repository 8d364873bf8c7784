// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/drop_guards.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_triggers.h"
#include "src/base/os/check.h"

namespace locus::mysql {

using internal::SqlName;

namespace {

constexpr size_t kMostOfLocus = 65536;

// "NAME on TABLE" of guards that must stay.
struct OwnTriggers {
  std::vector<std::string> guards, other_guards, versions;
};

absl::StatusOr<OwnTriggers> TriggersOfLocus(Connection& connection, const FenceOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      connection.Run("SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS"
                     " WHERE TRIGGER_SCHEMA = DATABASE() AND (LEFT(TRIGGER_NAME, 12) ="
                     " 'locus_guard_' OR LEFT(TRIGGER_NAME, 14) = 'locus_version_')"
                     " ORDER BY TRIGGER_NAME",
                     {Rows(2, kMostOfLocus)}));
  std::set<std::string> ours;
  for (const GuardTrigger& guard : GuardTriggersOf(options)) ours.insert(guard.name);
  OwnTriggers triggers;
  for (const Result::Row& row : results[0].rows) {
    const std::string name = row[0].value_or("");
    if (ours.contains(name)) {
      triggers.guards.push_back(name);
      continue;
    }
    auto& kind = name.starts_with("locus_guard_") ? triggers.other_guards : triggers.versions;
    kind.push_back(absl::StrCat(name, " on ", row[1].value_or("")));
  }
  return triggers;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DropGuardTriggers(Connection& connection,
                                                           const FenceOptions& options,
                                                           absl::Duration timeout, bool dry) {
  auto renew = [&] {
    connection.set_deadline(std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout));
  };
  auto refuse = [&](const std::string& trigger, const char* why) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", connection.place(), ": trigger ", trigger, ": ", why));
  };
  // A move that is being prepared makes guards first and version triggers last, under this lock:
  // either its version triggers are seen here, or it will find no guards.
  renew();
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> locked,
      connection.Run(absl::StrCat("SELECT GET_LOCK(", kTriggersLock, ", 2)"), {OneRow(1)}));
  if (locked[0].rows[0][0] != "1") {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", connection.place(), ": a move is being prepared there"));
  }
  renew();
  LOCUS_ASSIGN_OR_RETURN(const OwnTriggers there, TriggersOfLocus(connection, options));
  if (there.guards.empty() && there.other_guards.empty()) return there.guards;
  if (!there.versions.empty()) {
    return refuse(there.versions.front(),
                  "a move is under way, or was not cleaned up: `locus move cleanup` without --keep "
                  "drops version triggers");
  }
  if (!there.other_guards.empty()) {
    return refuse(there.other_guards.front(),
                  "the move file, or FenceOptions, does not name this table; name every guarded "
                  "one");
  }
  if (dry) return there.guards;
  // Behind a slow reader DROP TRIGGER would block every other user of the table.
  renew();
  LOCUS_RETURN_IF_ERROR(connection.Run("SET SESSION lock_wait_timeout = 1", {}).status());
  for (const std::string& guard : there.guards) {
    renew();
    const absl::Status dropped =
        connection.Run(absl::StrCat("DROP TRIGGER IF EXISTS ", SqlName(guard)), {}).status();
    if (dropped.ok()) continue;
    return absl::Status(dropped.code(), absl::StrCat(dropped.message(), "; trigger ", guard,
                                                     " was not dropped: repeat the call"));
  }
  return there.guards;
}

}  // namespace locus::mysql
