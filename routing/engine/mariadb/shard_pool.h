// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MARIADB_SHARD_POOL_H_
#define LOCUS_ROUTING_ENGINE_MARIADB_SHARD_POOL_H_

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/engine/shard_pools.h"
#include "routing/engine/mariadb/breaker.h"
#include "routing/engine/mariadb/shard_endpoint.h"
#include "routing/engine/mariadb/shard_session.h"
#include "src/base/mutex.h"
#include "src/base/secret_bytes.h"
#include "src/base/wipe_on_fork.h"
#include "src/generator/load_driver.h"

namespace locus {

// What the pools of a ShardPools share; outlives them all.
struct ShardAccount {
  ShardPoolsOptions options;  // without the password
  SecretBytes password;       // ends with a NUL
  WipeOnForkWords alive{1};

  bool forked() const { return alive.wiped(); }
};

// The connections to one endpoint. Its thread makes them, and closes those idle for too long.
// Thread safety: all methods may be called from any thread.
class ShardPool {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `endpoint_text`: what `endpoint` was read from.
  ShardPool(std::shared_ptr<const ShardAccount> account, std::string endpoint_text,
            ShardEndpoint endpoint);
  // Not in a forked child.
  ~ShardPool();

  // As ShardPools::Take, but messages do not name the shard; `self` is this object's.
  static absl::StatusOr<ShardConnection> Take(const std::shared_ptr<ShardPool>& self,
                                              TimePoint deadline);
  void GiveBack(std::unique_ptr<ShardSession> session, bool spoiled);

  // Closes what is idle, and what is in use when it is given back; waiting callers are told to
  // route again.
  void Retire();
  // Waits for an attempt to connect that is under way; none follows.
  void StopThread();
  // After Retire(): nothing is open, and StopThread() would not have to wait.
  bool gone() const;

  // Adds its numbers to those of the endpoints before.
  void AddTo(ShardPoolStats& stats) const;
  bool forked() const { return account_->forked(); }
  const std::string& endpoint_text() const { return endpoint_text_; }
  const std::string& place() const { return place_; }

 private:
  using Session = std::unique_ptr<ShardSession>;

  absl::StatusOr<Session> TakeSession(TimePoint deadline);
  // Waits in line for an idle connection, which may have died meanwhile.
  absl::StatusOr<Session> NextIdle(TimePoint deadline, bool first_in_line);
  // Whether the caller, `first` in line or not, goes on waiting for an idle connection, and not an
  // answer. `probe` becomes true where it is the one that tries a failing server.
  absl::Status MayWait(TimePoint now, TimePoint deadline, bool first, bool& probe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK: it lives. Otherwise it has been dropped; DEADLINE_EXCEEDED: and there is no time left.
  absl::Status Check(Session& session, TimePoint deadline);
  void Drop(Session session, const absl::Status& why);

  absl::Duration Work();
  bool WantsConnection() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectExpired(TimePoint now, std::vector<Session>& expired)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Connect();
  void NoteFailure(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const ShardAccount> account_;
  const ShardEndpoint endpoint_;
  const std::string endpoint_text_;
  const std::string place_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool retired_ ABSL_GUARDED_BY(mutex_) = false;
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;            // the one that is being made included
  std::vector<Session> idle_ ABSL_GUARDED_BY(mutex_);  // the one used last at the end
  std::deque<uint64_t> line_ ABSL_GUARDED_BY(mutex_);  // tickets of the callers that wait
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  Breaker breaker_ ABSL_GUARDED_BY(mutex_);
  // Idle connections that have not answered since are asked for a sign of life.
  TimePoint suspect_since_ ABSL_GUARDED_BY(mutex_) = TimePoint::min();
  ShardPoolStats stats_ ABSL_GUARDED_BY(mutex_);  // its counters only
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<LoadDriver> driver_;  // the last: its thread uses the rest
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_MARIADB_SHARD_POOL_H_
