// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_TARGET_SESSION_H_
#define LOCUS_MIGRATION_MYSQL_TARGET_SESSION_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

// A session on the shard that rows are written to. It writes values exactly as they were read,
// regardless of the server's defaults: bytes, UTC, strict mode, zero dates unchanged. READ
// COMMITTED: rows are found by their key, so gaps need no lock. Thread safety: none.
class TargetSession {
 public:
  static absl::StatusOr<std::unique_ptr<TargetSession>> Open(const MysqlOptions& server);

  absl::StatusOr<Result> Query(const std::string& statement, const Shape& shape);
  absl::Status Run(const std::string& statement) { return Query(statement, kNoRows).status(); }

  // false: a value that a strict session refuses is stored as near as the column can. For a value
  // that is stored elsewhere and that no strict session can write. Each transaction begins strict.
  absl::Status SetStrict(bool strict);

  size_t max_packet() const { return max_packet_; }  // max_allowed_packet
  // Its number on the server.
  uint64_t session() const;
  st_mysql* handle() const { return handle_.get(); }
  const std::string& place() const { return place_; }

  // Whether the last statement lost against another transaction, so that its own may go through
  // when it is repeated. A caller that runs statements by the handle must note it.
  bool conflict() const { return conflict_; }
  void NoteConflict(bool conflict) { conflict_ = conflict; }
  // Of the last statement of Query or Run: the server's error number, 0: none.
  unsigned error() const { return error_; }

  // Runs `work` as a transaction.
  template <typename Work>
  absl::Status TransactOnce(Work work) {
    conflict_ = false;
    absl::Status status = strict_ ? absl::OkStatus() : SetStrict(true);
    if (status.ok()) status = Run("START TRANSACTION");
    if (status.ok()) status = work();
    if (status.ok()) status = Run("COMMIT");
    if (status.ok()) return status;
    const bool lost = conflict_;
    // Where this does not reach the server, the server rolls back by itself.
    Run("ROLLBACK").IgnoreError();
    conflict_ = lost;
    return status;
  }
  // Likewise, again and again where it loses against another one.
  template <typename Work>
  absl::Status Transact(Work work) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    internal::Backoff pauses = Pauses();
    while (true) {
      absl::Status status = TransactOnce(work);
      if (status.ok() || !conflict_ || !SleepBeforeRetry(pauses, give_up)) return status;
    }
  }

  // For losing against other transactions again and again.
  static constexpr std::chrono::seconds kPatience{60};
  static internal::Backoff Pauses() {
    return internal::Backoff({absl::Milliseconds(2), absl::Milliseconds(200), 0.5});
  }

 private:
  TargetSession(Handle handle, std::string place, absl::Duration timeout)
      : handle_(std::move(handle)), place_(std::move(place)), timeout_(timeout) {}

  Handle handle_;
  const std::string place_;
  const absl::Duration timeout_;
  size_t max_packet_ = 0;
  bool conflict_ = false;
  bool strict_ = true;
  unsigned error_ = 0;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_TARGET_SESSION_H_
