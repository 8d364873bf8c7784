// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_FENCED_TRANSACTION_H_
#define LOCUS_ROUTING_ENGINE_FENCED_TRANSACTION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "locus/order_id.h"
#include "locus/routing/engine/shard_error.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"

namespace locus {

// How FencedTransactions runs a piece of work.
struct FencedCall {
  enum class Kind {
    kTransaction,  // the work is one transaction, which is begun before it and committed after it
    kStatement,    // the work is one statement that writes, and commits itself
    kRead,         // the work only reads
  };
  Kind kind = Kind::kTransaction;
  // The fence row is read and locked before the work. Needed for writes to tables that have no
  // guard triggers; for reads that must see every write acknowledged before. A round trip, and not
  // for kStatement. Without it a write relies on the guard triggers, and a read through an old
  // routing table may see an order as it was before it moved.
  bool fence_first = false;
};

// A snapshot. Counters only rise.
struct FencedStats {
  uint64_t calls = 0;
  uint64_t attempts = 0;         // transactions begun; a call without obstacles has one
  uint64_t refusals = 0;         // attempts that a fence refused
  uint64_t conflicts = 0;        // attempts that lost against another transaction
  uint64_t band_waits = 0;       // callers that waited for another caller's probe
  uint64_t probes = 0;           // questions to the two shards between which orders were
  uint64_t rereads = 0;          // NOT_FOUND that was checked behind the fence
  uint64_t unknown_commits = 0;  // commits whose answer was lost
};

// Runs work on the shard that accepts an order, also while the order moves to another shard.
//
// The routing table says where to go first. The fence inside the shard decides: a shard that does
// not accept the order answers LOCUS_FENCED and names the one that does, which is tried next. Where
// neither accepts it, its band is on its way between the two. Then one caller of the process asks
// both shards every 5 to 80 ms, and the others of that move wait for the answer. A shard that the
// routing table does not have yet is waited for with Router::RefreshMove.
//
// A transaction that loses against another (a deadlock, a lock wait that took too long, a changed
// row) or whose connection broke before COMMIT was sent is repeated, with pauses that grow and are
// partly random. So the work may run several times, on one connection after another: it must set
// its results again each time. It does not begin or end transactions, and runs no DDL, no XA and no
// savepoint before its first write: these release the lock on the fence row.
//
// Thread safety: all methods may be called from any thread. Make one for a process: callers share
// the probes.
class FencedTransactions {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Returns the status of the first statement that fails, made by ShardErrorOf, or an error of its
  // own, which ends the call. NOT_FOUND: it found, or changed, no row.
  using Work = std::function<absl::Status(ShardConnection&)>;

  // Both outlive it.
  FencedTransactions(Router& router, ShardPools& pools);
  ~FencedTransactions();
  FencedTransactions(const FencedTransactions&) = delete;
  FencedTransactions& operator=(const FencedTransactions&) = delete;

  // Returns the work's result, once it ran on the shard that accepts `id`. NOT_FOUND is only
  // returned after the work ran again behind a lock on the fence row, since a shard that no longer
  // has an order, or does not have it yet, finds nothing either.
  //
  // ABORTED: no shard accepted the order, or other transactions were in the way, until `deadline`;
  // restart the larger operation. UNKNOWN: the answer to COMMIT, or to a kStatement, was lost. The
  // work is stored, or it is not: repeat it with the same order ID, and compare a duplicate key
  // with the row. INVALID_ARGUMENT: fence_first for a kStatement. Otherwise errors of the work and
  // of ShardPools::Take. A statement under way at `deadline` ends by ShardPoolsSettings::timeout;
  // in transactions, waits for locks end by `deadline`, rounded to whole seconds, at least one.
  absl::Status Run(const OrderId& id, FencedCall call, TimePoint deadline, const Work& work);
  // A transaction, for at most 3 s.
  absl::Status Run(const OrderId& id, const Work& work);

  FencedStats Stats() const;

 private:
  class Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_FENCED_TRANSACTION_H_
