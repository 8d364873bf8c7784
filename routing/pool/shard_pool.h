// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_SHARD_POOL_H_
#define LOCUS_ROUTING_POOL_SHARD_POOL_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/engine/shard_pools.h"
#include "routing/pool/pool_queue.h"
#include "routing/pool/shard_endpoint.h"
#include "routing/pool/shard_session.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"

// How ShardPools and FencedTransactions work together. ShardPools has a ShardPool for each
// endpoint. In it PoolQueue decides which caller gets which connection, Breaker when a silent
// server is tried again, and ShardSession sets a connection up and resets it. A FencedRun is one
// call of FencedTransactions: it takes a connection to the shard that the table names, runs the
// work, and follows the fence's refusals to the shard that has the order. While no shard accepts
// the order, it waits in BandProbes.

namespace locus::internal {

// The state that the pools of a ShardPools share. Outlives them all.
struct ShardAccount {
  ShardPoolsSettings options;
  SecretBytes password;  // ends with a NUL
  ForkGuard process;

  bool forked() const { return process.forked(); }
};

// The connections to one endpoint: PoolQueue decides, this class does the I/O. A thread of the pool
// makes connections and closes those that expire.
// Thread safety: all methods may be called from any thread.
class ShardPool {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `endpoint_text`: the text that `endpoint` was parsed from.
  ShardPool(std::shared_ptr<const ShardAccount> account, std::string endpoint_text,
            ShardEndpoint endpoint);
  // Not in a forked child.
  ~ShardPool();

  // As ShardPools::Take, but messages do not name the shard; `self` points to this object.
  static absl::StatusOr<ShardConnection> Take(const std::shared_ptr<ShardPool>& self,
                                              TimePoint deadline);
  void GiveBack(std::unique_ptr<ShardSession> session, bool spoiled);

  // Closes idle connections now and those in use when they come back. Callers in line get ABORTED.
  void Retire();
  // Waits for an attempt to connect that is under way. None follows.
  void StopThread();
  // After Retire(): nothing is open, and StopThread() would not have to wait.
  bool gone() const;

  // Adds the numbers of this endpoint to those of the shard's earlier endpoints.
  void AddTo(ShardPoolStats& stats) const;
  bool forked() const { return account_->forked(); }
  const std::string& endpoint_text() const { return endpoint_text_; }
  const std::string& place() const { return place_; }

 private:
  using Session = std::unique_ptr<ShardSession>;
  using Queue = PoolQueue<Session>;
  struct Waiter;
  // Holds the lock. Wakes the callers that got their answer after it has released the lock: a
  // thread that wakes earlier runs into the lock and sleeps again, which doubles the switches.
  class Decision;

  absl::StatusOr<Session> TakeSession(TimePoint deadline);
  // OK: the caller has a connection.
  absl::Status Await(Waiter& caller, TimePoint deadline, bool again)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TimedOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When the server answered on a connection last: a moment ago, recently enough to do without a
  // ping, or too long ago.
  enum class Proof { kFresh, kRecent, kOld };
  Proof ProofOf(const ShardSession& session, TimePoint now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK: the connection lives and is set up. Otherwise it has been closed.
  absl::Status Check(Session& session, Proof proof, TimePoint deadline);
  void Discard(Session session, const absl::Status& why);
  // Has the thread run earlier if there is something to do earlier.
  void WakeThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double RandomPart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The thread's.
  absl::Duration Work();
  void Connect();
  TimePoint NextRun(TimePoint now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const ShardAccount> account_;
  const ShardEndpoint endpoint_;
  const std::string endpoint_text_;
  const std::string place_;

  mutable Mutex mutex_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  // Callers that have their answer and must be woken.
  absl::InlinedVector<std::shared_ptr<CondVar>, 1> answered_ ABSL_GUARDED_BY(mutex_);
  uint64_t timeouts_ ABSL_GUARDED_BY(mutex_) = 0;
  // An idle connection that has not answered since then is asked for a sign of life.
  TimePoint suspect_since_ ABSL_GUARDED_BY(mutex_) = TimePoint::min();
  // When the thread will look again by itself; TimePoint::min(): it is at work and looks
  // afterwards.
  TimePoint next_run_ ABSL_GUARDED_BY(mutex_) = TimePoint::max();
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<LoadDriver> driver_;  // the last: its thread uses the rest
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_SHARD_POOL_H_
