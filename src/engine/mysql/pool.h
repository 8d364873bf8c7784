// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_POOL_H_
#define LOCUS_SRC_ENGINE_MYSQL_POOL_H_

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/engine/mysql/connection.h"

namespace locus::mysql {

// The connections of one store or sequencer.
// Thread safety: all methods may be called from any thread.
class Pool {
 public:
  enum class Schema { kMustFit, kNotLookedAt };

  // Connects nothing. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<Pool>> Make(
      const MysqlOptions& options, Schema schema,
      Connection::Access access = Connection::Access::kWrite);
  // One pool for each of `options.hosts`, in their order.
  static absl::StatusOr<std::vector<std::unique_ptr<Pool>>> MakeForEachHost(
      const MysqlOptions& options, Schema schema, Connection::Access access);

  // Runs `body` on a connection. If it fails by a conflict, the transaction is rolled back and
  // `body` runs again, after growing pauses, until the timeout has passed. The whole call takes at
  // most hosts.size() * connect_timeout + 3 * timeout. FAILED_PRECONDITION at once in a forked
  // child.
  absl::Status Use(const std::function<absl::Status(Connection&)>& body);

  bool forked() const { return process_.forked(); }
  MysqlStats Stats() const;
  const MysqlOptions& options() const { return options_; }  // without the password

 private:
  static absl::StatusOr<std::unique_ptr<Pool>> MakeFor(const std::vector<MysqlOptions::Host>& hosts,
                                                       const MysqlOptions& options, Schema schema,
                                                       Connection::Access access);
  Pool(const MysqlOptions& options, Schema schema, Connection::Access access,
       internal::SecretBytes password);
  absl::Status UseUncounted(const std::function<absl::Status(Connection&)>& body);
  absl::StatusOr<std::unique_ptr<Connection>> Take(TimePoint until, TimePoint end);
  absl::StatusOr<std::unique_ptr<Connection>> Connect(TimePoint end);
  void GiveBack(std::unique_ptr<Connection> connection);
  void Pause(internal::Backoff& backoff);

  MysqlOptions options_;
  const Schema schema_;
  const Connection::Access access_;
  const internal::SecretBytes password_;  // ends with a NUL
  const internal::ForkGuard process_;

  mutable internal::Mutex mutex_;
  internal::CondVar given_back_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t first_host_ ABSL_GUARDED_BY(mutex_) = 0;
  MysqlStats stats_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_POOL_H_
