// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MARIADB_SCHEMA_H_
#define LOCUS_SRC_ENGINE_MARIADB_SCHEMA_H_

#include "absl/status/status.h"
#include "src/engine/mariadb/connection.h"

namespace locus::mariadb {

// Whether the database holds the tables of this version. NOT_FOUND: it holds none of locus.
// FAILED_PRECONDITION: another version.
absl::Status CheckSchema(Connection& connection);

// Creates or upgrades them; begins again where an earlier attempt was cut off.
absl::Status CreateOrUpgradeSchema(Connection& connection);

}  // namespace locus::mariadb

#endif  // LOCUS_SRC_ENGINE_MARIADB_SCHEMA_H_
