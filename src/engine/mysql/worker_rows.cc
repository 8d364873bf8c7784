// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/worker_rows.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/space_rows.h"

namespace locus::mysql {
namespace {

constexpr int64_t kWorkerVersion = 1;

// Times are ms since 1970; 0: before all times. The row of locus_worker_birth is never updated, so
// ROW_START is when the tables were made; a dump does not contain that time. Its name comes before
// the others', so that a dump that is put back makes it anew before it touches them.
constexpr char kWorkerTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_worker_birth (
    one TINYINT NOT NULL CHECK (one = 1), version INT NOT NULL, PRIMARY KEY (one)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary WITH SYSTEM VERSIONING;
  CREATE TABLE IF NOT EXISTS locus_worker_space (
    name VARBINARY(64) NOT NULL, rest_until BIGINT NOT NULL, longest BIGINT NOT NULL,
    losses BIGINT NOT NULL, identity VARBINARY(255) NOT NULL, PRIMARY KEY (name)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  CREATE TABLE IF NOT EXISTS locus_workers (
    space VARBINARY(64) NOT NULL, worker BIGINT NOT NULL, token BIGINT NOT NULL,
    floor BIGINT NOT NULL, ceiling BIGINT NOT NULL, granted_at BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL, nonce VARBINARY(64) NOT NULL, holder VARBINARY(1024) NOT NULL,
    PRIMARY KEY (space, worker)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  INSERT IGNORE INTO locus_worker_birth VALUES (1, )sql";

int64_t ToMs(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToUnixMillis(time);
}
absl::Time FromMs(int64_t ms) { return ms == 0 ? absl::InfinitePast() : absl::FromUnixMillis(ms); }

std::string WorkerIdentity(const ServerFacts& facts) {
  if (facts.galera) return IdentityExpression(facts);
  return absl::StrCat("(SELECT CONCAT_WS('/', 'server', ",
                      facts.has_uid ? "@@server_uid" : "@@hostname, @@port", ", @@server_id, ",
                      MicrosecondsOf("ROW_START"), ") FROM locus_worker_birth WHERE one = 1)");
}

}  // namespace

absl::Status CreateWorkerSchema(Connection& connection) {
  LOCUS_RETURN_IF_ERROR(connection.Run(absl::StrCat(kWorkerTables, kWorkerVersion, ")")).status());
  return CheckWorkerSchema(connection);
}

absl::Status CheckWorkerSchema(Connection& connection) {
  auto results =
      connection.Run("SELECT version FROM locus_worker_birth WHERE one = 1", {AtMostOneRow(1)});
  if (!results.ok() && connection.error() == kNoSuchTable) {
    return absl::NotFoundError(
        absl::StrCat("mariadb ", connection.place(),
                     ": there are no tables of worker leases: run `locus lease create`, with "
                     "--first-ever only if there never were any"));
  }
  LOCUS_RETURN_IF_ERROR(results.status());
  int64_t version = 0;
  if (!(*results)[0].rows.empty()) {
    LOCUS_ASSIGN_OR_RETURN(version, NumberIn((*results)[0].rows[0], 0, connection.place()));
  }
  if (version == kWorkerVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", connection.place(), ": the tables of worker leases have version ", version,
      "; this program supports ", kWorkerVersion,
      version < kWorkerVersion ? ": run `locus lease create`" : ": use a newer locus"));
}

std::string ReadWorkerState(const SpaceName& space, bool lock, const std::string& now,
                            const ServerFacts& facts) {
  return absl::StrCat(
      "SELECT rest_until, longest, losses, identity FROM locus_worker_space"
      " WHERE name = ",
      Literal(space.str()), lock ? " FOR UPDATE" : "", ";SELECT ", now, ", ",
      WorkerIdentity(facts));
}

absl::StatusOr<WorkerState> ParseWorkerState(std::span<const Result> results,
                                             const std::string& place) {
  WorkerState state;
  if (!results[0].rows.empty()) {
    const Result::Row& row = results[0].rows[0];
    LOCUS_ASSIGN_OR_RETURN(int64_t rest_until, NumberIn(row, 0, place));
    LOCUS_ASSIGN_OR_RETURN(int64_t longest, NumberIn(row, 1, place));
    LOCUS_ASSIGN_OR_RETURN(int64_t losses, NumberIn(row, 2, place));
    state.space = worker::Space{FromMs(rest_until), absl::Milliseconds(longest),
                                static_cast<uint64_t>(losses)};
    state.recorded = row[3].value_or("");
  }
  LOCUS_ASSIGN_OR_RETURN(int64_t now_us, NumberIn(results[1].rows[0], 0, place));
  state.now = absl::FromUnixMicros(now_us);
  state.identity = results[1].rows[0][1].value_or("");
  return state;
}

std::string ReadWorkers(const SpaceName& space, uint64_t first, uint64_t last) {
  return absl::StrCat(
      "SELECT worker, token, floor, ceiling, granted_at, renewed_at, nonce, holder"
      " FROM locus_workers WHERE space = ",
      Literal(space.str()), " AND worker BETWEEN ", first, " AND ", last, " ORDER BY worker LIMIT ",
      kWorkersAtOnce);
}

absl::StatusOr<WorkerRecord> ParseWorker(const Result::Row& row, const SpaceName& space,
                                         const std::string& place) {
  std::array<int64_t, 6> numbers;
  for (size_t i = 0; i < numbers.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(numbers[i], NumberIn(row, i, place));
  }
  WorkerRecord record;
  record.worker = static_cast<uint64_t>(numbers[0]);
  record.token = static_cast<uint64_t>(numbers[1]);
  record.floor = FromMs(numbers[2]);
  record.ceiling = FromMs(numbers[3]);
  record.granted_at = FromMs(numbers[4]);
  record.renewed_at = FromMs(numbers[5]);
  record.nonce = row[6].value_or("");
  record.holder = row[7].value_or("");
  absl::Status status = worker::CheckRecord(record);
  if (status.ok()) return record;
  return absl::DataLossError(
      absl::StrCat("mariadb ", place, ", space ", space.str(), ": ", status.message()));
}

std::string WriteWorkerSpace(const SpaceName& name, const worker::Space& space,
                             const std::string& identity) {
  return absl::StrCat("INSERT INTO locus_worker_space VALUES (", Literal(name.str()), ", ",
                      ToMs(space.rest_until), ", ", absl::ToInt64Milliseconds(space.longest), ", ",
                      space.losses, ", ", Literal(identity),
                      ") ON DUPLICATE KEY UPDATE rest_until = VALUES(rest_until),"
                      " longest = VALUES(longest), losses = VALUES(losses),"
                      " identity = VALUES(identity)");
}

std::string WriteWorker(const SpaceName& space, const WorkerRecord& record) {
  return absl::StrCat("INSERT INTO locus_workers VALUES (", Literal(space.str()), ", ",
                      record.worker, ", ", record.token, ", ", ToMs(record.floor), ", ",
                      ToMs(record.ceiling), ", ", ToMs(record.granted_at), ", ",
                      ToMs(record.renewed_at), ", ", Literal(record.nonce), ", ",
                      Literal(record.holder),
                      ") ON DUPLICATE KEY UPDATE token = VALUES(token), floor = VALUES(floor),"
                      " ceiling = VALUES(ceiling), granted_at = VALUES(granted_at),"
                      " renewed_at = VALUES(renewed_at), nonce = VALUES(nonce),"
                      " holder = VALUES(holder)");
}

}  // namespace locus::mysql
