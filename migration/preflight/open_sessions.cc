// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/open_sessions.h"

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"

namespace locus::mysql {

absl::StatusOr<std::vector<preflight::Session>> OldSessions(const AskRows& ask) {
  std::vector<preflight::Session> sessions;
  LOCUS_ASSIGN_OR_RETURN(
      auto rows, ask("SELECT COUNT(*) FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME"
                     " IN ('BINLOG_FORMAT', 'BINLOG_ROW_IMAGE') AND GLOBAL_VALUE_ORIGIN = 'SQL'",
                     1));
  if (Natural(rows[0], 0) == 0) return sessions;
  LOCUS_ASSIGN_OR_RETURN(rows, ask("SELECT @@server_id", 1));
  const std::string mark = absl::StrCat(preflight::kSessionMark, Natural(rows[0], 0));
  // A server counts sessions from 1 again when it starts, so an older mark means nothing.
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
                             " DATABASE() AND TABLE_NAME = ",
                             internal::SqlText(mark),
                             " AND CREATE_TIME > NOW() - INTERVAL (SELECT VARIABLE_VALUE FROM"
                             " information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME')"
                             " SECOND"),
                1));
  std::string newest;
  if (Natural(rows[0], 0) > 0) {
    LOCUS_ASSIGN_OR_RETURN(
        rows,
        ask(absl::StrCat("SELECT COALESCE(MAX(newest), 0) FROM ", internal::SqlName(mark)), 1));
    newest = absl::StrCat(" AND ID <= ", Natural(rows[0], 0));
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT ID, USER, SUBSTRING_INDEX(HOST, ':', 1) FROM"
                             " information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER"
                             " NOT IN ('system user', 'event_scheduler') AND COMMAND NOT LIKE"
                             " 'Binlog Dump%'",
                             newest, " ORDER BY ID"),
                3));
  for (const Result::Row& row : rows) {
    sessions.push_back({Natural(row, 0), absl::StrCat(Text(row, 1), "@", Text(row, 2))});
  }
  return sessions;
}

}  // namespace locus::mysql
