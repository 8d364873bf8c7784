// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_PRIMARY_H_
#define LOCUS_MIGRATION_MYSQL_PRIMARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

// As LogInToAny, to a server that is not read-only. The accounts of tools may write to replicas
// (SUPER), where a write of theirs would end the replication. The session has kToolSession.
// UNAVAILABLE: the servers
// that let the account in are read-only; one of them may be promoted soon.
absl::StatusOr<Handle> LogInToPrimary(const MysqlOptions& options, std::string& place);

// Assignments of SET SESSION, so that a server's own defaults do not change what the statements of
// the tools do. A limit on rows, for instance, would leave columns and rows out without an error.
// Messages are English, so that an operator finds them in documents; no decision depends on them.
inline constexpr char kToolSession[] =
    "sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0,"
    " completion_type = 0, max_statement_time = 0, tx_read_only = 0, unique_checks = 1,"
    " lc_messages = 'en_US'";

// UNAVAILABLE: the server is read-only, or does not answer within `timeout`.
absl::Status CheckIsPrimary(st_mysql* handle, const std::string& place, absl::Duration timeout);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_PRIMARY_H_
