// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_SCHEMA_H_
#define LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_SCHEMA_H_

#include <vector>

#include "absl/status/statusor.h"
#include "migration/preflight/facts.h"
#include "migration/preflight/preflight_rows.h"

namespace locus::mysql {

// As a list of SQL texts.
std::string NamesOf(const std::vector<MovedTable>& tables);

// The definitions of the moved tables, and of other tables that concern them, from
// information_schema.
absl::StatusOr<preflight::Schema> ReadSchema(const AskRows& ask,
                                             const std::vector<MovedTable>& tables);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_SCHEMA_H_
