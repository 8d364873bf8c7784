// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_WORKER_ROWS_H_
#define LOCUS_SRC_ENGINE_MYSQL_WORKER_ROWS_H_

#include <array>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/engine/mysql/connection.h"
#include "src/worker/worker_rules.h"

// The statements of worker leases, and their answers.

namespace locus::mysql {

// The state that a call reads first; under a lock of the space's row if it writes.
struct WorkerState {
  std::optional<worker::Space> space;
  std::string recorded;  // the identity that the space was stored with
  absl::Time now;        // the server's
  std::string identity;  // the server's, as IdentityExpression but of the worker leases' tables

  bool exists() const { return space.has_value(); }
};

// Of the account that the tables are made with: CREATE, ALTER, SELECT and INSERT.
absl::Status CreateWorkerSchema(Connection& connection);
// NOT_FOUND: there are no tables. FAILED_PRECONDITION: they have another version.
absl::Status CheckWorkerSchema(Connection& connection);

// Answered in the shapes of kWorkerStateShapes.
std::string ReadWorkerState(const SpaceName& space, bool lock, const std::string& now,
                            const ServerFacts& facts);
inline constexpr std::array kWorkerStateShapes = {AtMostOneRow(4), OneRow(2)};
absl::StatusOr<WorkerState> ParseWorkerState(std::span<const Result> results,
                                             const std::string& place);

// Only the holder of this lock creates spaces; AtMostOneRow(1). The row is not written.
inline constexpr char kLockNewSpaces[] =
    "SELECT one FROM locus_worker_birth WHERE one = 1 FOR UPDATE";

// For LockedRows.
struct WorkerSpaceRow {
  using State = WorkerState;
  static constexpr const auto& kShapes = kWorkerStateShapes;
  static constexpr const char* kLockNew = kLockNewSpaces;
  static std::string Read(const SpaceName& space, bool lock, const std::string& now,
                          const ServerFacts& facts) {
    return ReadWorkerState(space, lock, now, facts);
  }
  static absl::StatusOr<State> Parse(std::span<const Result> results, const std::string& place) {
    return ParseWorkerState(results, place);
  }
};

// The records of first..last, ascending, at most kWorkersAtOnce of them; kWorkerShape.
inline constexpr size_t kWorkersAtOnce = 1024;
std::string ReadWorkers(const SpaceName& space, uint64_t first, uint64_t last);
inline constexpr Shape kWorkerShape = Rows(8, kWorkersAtOnce);
absl::StatusOr<WorkerRecord> ParseWorker(const Result::Row& row, const SpaceName& space,
                                         const std::string& place);

std::string WriteWorkerSpace(const SpaceName& name, const worker::Space& space,
                             const std::string& identity);
std::string WriteWorker(const SpaceName& space, const WorkerRecord& record);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_WORKER_ROWS_H_
