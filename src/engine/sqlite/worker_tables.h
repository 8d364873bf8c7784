// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_WORKER_TABLES_H_
#define LOCUS_SRC_ENGINE_SQLITE_WORKER_TABLES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/engine/sqlite/connection.h"
#include "src/engine/sqlite/tables.h"
#include "src/worker/worker_rules.h"

namespace locus::sqlite {

// The tables of worker leases, row by row. Values that cannot be are DATA_LOSS.
// Thread safety: none. Every call belongs into a transaction of the connection.
class WorkerTables {
 public:
  explicit WorkerTables(Connection& connection) : connection_(connection) {}

  // Where they are missing; they begin with this identity.
  absl::Status Create(const std::string& identity);

  // The row of worker leases, not that of the segments.
  absl::StatusOr<StoreRow> ReadStore();
  absl::Status WriteStore(const StoreRow& row);

  absl::StatusOr<std::optional<worker::Space>> FindSpace(const SpaceName& name);
  absl::StatusOr<std::map<std::string, worker::Space>> AllSpaces();
  absl::Status StoreSpace(const std::string& name, const worker::Space& space);

  absl::StatusOr<std::optional<WorkerRecord>> FindWorker(const SpaceName& space, uint64_t worker);
  absl::Status StoreWorker(const SpaceName& space, const WorkerRecord& record);
  // worker::Scan.
  absl::Status ScanWorkers(const SpaceName& space, uint64_t first, uint64_t last,
                           const worker::Visit& visit);

 private:
  absl::StatusOr<WorkerRecord> RecordOf(const SpaceName& space, Query& row) const;

  Connection& connection_;
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_WORKER_TABLES_H_
