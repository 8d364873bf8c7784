// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_TEXT_WRITERS_H_
#define LOCUS_MIGRATION_PREFLIGHT_TEXT_WRITERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"

namespace locus::mysql {

// Which of `tables`, of the database `database`, have rows that sessions changed as text
// (binlog_format=STATEMENT) since the server's newest log was begun; "" for statements that do not
// name what they change. Reads for a few seconds at most, so it may see only the first part.
absl::StatusOr<std::vector<std::string>> TextWriters(const MysqlOptions& server,
                                                     const std::string& database,
                                                     const std::string& position,
                                                     const std::vector<std::string>& tables);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_PREFLIGHT_TEXT_WRITERS_H_
