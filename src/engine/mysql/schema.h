// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_SCHEMA_H_
#define LOCUS_SRC_ENGINE_MYSQL_SCHEMA_H_

#include "absl/status/status.h"
#include "src/engine/mysql/connection.h"

namespace locus::mysql {

// Checks that the database has the tables of this version. NOT_FOUND: it has no locus tables.
// FAILED_PRECONDITION: they have another version.
absl::Status CheckSchema(Connection& connection);

// Creates or upgrades the tables. Continues after an interrupted attempt.
absl::Status CreateOrUpgradeSchema(Connection& connection);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_SCHEMA_H_
