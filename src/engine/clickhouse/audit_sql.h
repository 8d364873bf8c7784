// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_CLICKHOUSE_AUDIT_SQL_H_
#define LOCUS_SRC_ENGINE_CLICKHOUSE_AUDIT_SQL_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/clickhouse.h"

// The statements of the audit table, and what the server answers to them.

namespace locus::clickhouse {

// Whether it may name a database or a table: [A-Za-z_][A-Za-z0-9_]{0,63}.
bool IsName(std::string_view name);

std::string CreateTableStatement(const ClickHouseOptions& options);
std::string InsertStatement(const ClickHouseOptions& options);
std::string SelectStatement(const ClickHouseOptions& options, const AuditQuery& query);

// One line of SelectStatement's answer. DATA_LOSS: it is no row.
absl::StatusOr<AuditRow> ParseRow(std::string_view line);

// Turns the server's error message, the body of a refused request, into a status.
absl::Status ErrorOf(unsigned http_status, std::string_view body, std::string_view place);

}  // namespace locus::clickhouse

#endif  // LOCUS_SRC_ENGINE_CLICKHOUSE_AUDIT_SQL_H_
