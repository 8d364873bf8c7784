// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_STRICT_TABLES_H_
#define LOCUS_SRC_ENGINE_SQLITE_STRICT_TABLES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/engine/sqlite/connection.h"
#include "src/engine/sqlite/tables.h"
#include "src/strict/strict_rules.h"

namespace locus::sqlite {

// The tables of strict sequences, row by row. Values that cannot be are DATA_LOSS.
// Thread safety: none. Every call belongs into a transaction of the connection.
class StrictTables {
 public:
  explicit StrictTables(Connection& connection) : connection_(connection) {}

  // Where they are missing; they begin with this identity.
  absl::Status Create(const std::string& identity);

  // The row of strict sequences, not that of the segments.
  absl::StatusOr<StoreRow> ReadStore();
  absl::Status WriteStore(const StoreRow& row);

  absl::StatusOr<std::optional<strict::Set>> FindSet(const std::string& name);
  absl::StatusOr<std::map<std::string, strict::Set>> AllSets();
  absl::Status StoreSet(const std::string& name, const strict::Set& set);

  absl::StatusOr<std::optional<strict::Record>> Find(const std::string& set, uint32_t section);
  absl::StatusOr<std::map<uint32_t, strict::Record>> All(const std::string& set);
  absl::Status Store(const std::string& set, uint32_t section, const strict::Record& record);

 private:
  absl::StatusOr<strict::Set> SetOf(const std::string& name, Query& row, int first_column) const;
  absl::StatusOr<strict::Record> RecordOf(const std::string& set, Query& row) const;
  absl::Status Contradiction(const std::string& set, const absl::Status& why) const;

  Connection& connection_;
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_STRICT_TABLES_H_
