// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_OPEN_SESSIONS_H_
#define LOCUS_MIGRATION_PREFLIGHT_OPEN_SESSIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/preflight/preflight_rows.h"

namespace locus::mysql {

// Sessions of clients that may have begun before SET GLOBAL binlog_format or binlog_row_image, and
// so keep the values from before. MariaDB shows neither these values nor when a session began: only
// whether a value was set while the server runs, and sessions' numbers, which rise. So all
// sessions are meant, or those up to the number in kSessionMark, where it was made since the
// server started.
absl::StatusOr<std::vector<preflight::Session>> OldSessions(const AskRows& ask);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_PREFLIGHT_OPEN_SESSIONS_H_
