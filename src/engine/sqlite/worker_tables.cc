// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/worker_tables.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::sqlite {
namespace {

// Times are ms since 1970; 0: before all times. `longest` is in ms.
constexpr char kWorkerTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_worker_store (
    one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB NOT NULL,
    generation INTEGER NOT NULL, newest_grant INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS locus_worker_space (
    name TEXT PRIMARY KEY, rest_until INTEGER NOT NULL, longest INTEGER NOT NULL,
    losses INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS locus_worker (
    space TEXT NOT NULL, worker INTEGER NOT NULL, token INTEGER NOT NULL, floor INTEGER NOT NULL,
    ceiling INTEGER NOT NULL, granted_at INTEGER NOT NULL, renewed_at INTEGER NOT NULL,
    nonce TEXT NOT NULL, holder BLOB NOT NULL,
    PRIMARY KEY (space, worker)) STRICT, WITHOUT ROWID;
)sql";

constexpr char kFind[] =
    "SELECT worker, token, floor, ceiling, granted_at, renewed_at, nonce, holder FROM locus_worker "
    "WHERE space = ? AND worker >= ? AND worker <= ? ORDER BY worker";

int64_t ToMs(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToUnixMillis(time);
}
absl::Time FromMs(int64_t ms) { return ms == 0 ? absl::InfinitePast() : absl::FromUnixMillis(ms); }

worker::Space SpaceOf(Query& row, int first_column) {
  worker::Space space;
  space.rest_until = FromMs(row.Int(first_column));
  space.longest = absl::Milliseconds(row.Int(first_column + 1));
  space.losses = static_cast<uint64_t>(row.Int(first_column + 2));
  return space;
}

}  // namespace

absl::Status WorkerTables::Create(const std::string& identity) {
  LOCUS_RETURN_IF_ERROR(connection_.Execute(kWorkerTables));
  LOCUS_ASSIGN_OR_RETURN(
      auto insert,
      connection_.Prepare("INSERT OR IGNORE INTO locus_worker_store VALUES (1, ?, 0, 0)"));
  return insert->BindBlob(identity).Run();
}

absl::StatusOr<StoreRow> WorkerTables::ReadStore() {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT identity, generation, newest_grant FROM locus_worker_store"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
  if (!row) {
    return absl::DataLossError(
        absl::StrCat("store ", connection_.path(), " has lost the identity of its worker leases"));
  }
  Identity identity{query->Blob(0), static_cast<uint64_t>(query->Int(1))};
  return StoreRow{identity, FromMs(query->Int(2))};
}

absl::Status WorkerTables::WriteStore(const StoreRow& row) {
  LOCUS_ASSIGN_OR_RETURN(auto update,
                         connection_.Prepare("UPDATE locus_worker_store SET identity = ?, "
                                             "generation = ?, newest_grant = ?"));
  return update->BindBlob(row.identity.id)
      .Bind(static_cast<int64_t>(row.identity.generation))
      .Bind(ToMs(row.newest_grant))
      .Run();
}

absl::StatusOr<std::optional<worker::Space>> WorkerTables::FindSpace(const SpaceName& name) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query, connection_.Prepare(
                      "SELECT rest_until, longest, losses FROM locus_worker_space WHERE name = ?"));
  LOCUS_ASSIGN_OR_RETURN(bool row, query->Bind(name.str()).Step());
  if (!row) return std::nullopt;
  return SpaceOf(*query, 0);
}

absl::StatusOr<std::map<std::string, worker::Space>> WorkerTables::AllSpaces() {
  std::map<std::string, worker::Space> spaces;
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("SELECT name, rest_until, longest, losses FROM locus_worker_space"));
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return spaces;
    spaces[query->Blob(0)] = SpaceOf(*query, 1);
  }
}

absl::Status WorkerTables::StoreSpace(const std::string& name, const worker::Space& space) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query,
      connection_.Prepare("INSERT OR REPLACE INTO locus_worker_space VALUES (?, ?, ?, ?)"));
  return query->Bind(name)
      .Bind(ToMs(space.rest_until))
      .Bind(absl::ToInt64Milliseconds(space.longest))
      .Bind(static_cast<int64_t>(space.losses))
      .Run();
}

absl::StatusOr<WorkerRecord> WorkerTables::RecordOf(const SpaceName& space, Query& row) const {
  WorkerRecord record;
  record.worker = static_cast<uint64_t>(row.Int(0));
  record.token = static_cast<uint64_t>(row.Int(1));
  record.floor = FromMs(row.Int(2));
  record.ceiling = FromMs(row.Int(3));
  record.granted_at = FromMs(row.Int(4));
  record.renewed_at = FromMs(row.Int(5));
  record.nonce = row.Blob(6);
  record.holder = row.Blob(7);
  absl::Status status = worker::CheckRecord(record);
  if (status.ok()) return record;
  return absl::DataLossError(
      absl::StrCat("store ", connection_.path(), ", space ", space.str(), ": ", status.message()));
}

absl::StatusOr<std::optional<WorkerRecord>> WorkerTables::FindWorker(const SpaceName& space,
                                                                     uint64_t worker) {
  std::optional<WorkerRecord> found;
  LOCUS_RETURN_IF_ERROR(ScanWorkers(space, worker, worker, [&found](const WorkerRecord& record) {
    found = record;
    return false;
  }));
  return found;
}

absl::Status WorkerTables::StoreWorker(const SpaceName& space, const WorkerRecord& record) {
  LOCUS_ASSIGN_OR_RETURN(
      auto query, connection_.Prepare(
                      "INSERT OR REPLACE INTO locus_worker VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return query->Bind(space.str())
      .Bind(static_cast<int64_t>(record.worker))
      .Bind(static_cast<int64_t>(record.token))
      .Bind(ToMs(record.floor))
      .Bind(ToMs(record.ceiling))
      .Bind(ToMs(record.granted_at))
      .Bind(ToMs(record.renewed_at))
      .Bind(record.nonce)
      .BindBlob(record.holder)
      .Run();
}

absl::Status WorkerTables::ScanWorkers(const SpaceName& space, uint64_t first, uint64_t last,
                                       const worker::Visit& visit) {
  LOCUS_ASSIGN_OR_RETURN(auto query, connection_.Prepare(kFind));
  query->Bind(space.str()).Bind(static_cast<int64_t>(first)).Bind(static_cast<int64_t>(last));
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool row, query->Step());
    if (!row) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(WorkerRecord record, RecordOf(space, *query));
    if (!visit(record)) return absl::OkStatus();
  }
}

}  // namespace locus::sqlite
