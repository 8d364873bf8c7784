// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_REDIS_H_
#define LOCUS_ENGINE_REDIS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/worker_lease_store.h"

// Engines on Redis 5.0 or later (6.0 for ACL users), tested with 7.0: a single server, a master
// that sentinels watch, or a cluster, which is recognized by asking the server.
//
// Common to all classes here. Threads share one connection for each server and pipeline their calls
// on it. A call takes at most RedisOptions::timeout, connecting included; only the resolver of host
// names has its own time limits. The next call replaces a broken connection. After a timeout or a
// broken connection a call may have been applied: it returns UNAVAILABLE and is never sent again.
// If the server does not know a script (NOSCRIPT) or has moved a Redis key (MOVED, ASK), the call
// is sent again, since the server has done nothing.
//
// UNAVAILABLE: there was no answer; the server is loading, busy, out of memory or cannot save; or
// the cluster or the sentinels have no master now. FAILED_PRECONDITION: the password is wrong;
// rights are missing (needed are eval, evalsha, info, select, time, cluster|slots, asking, and the
// commands of hashes and expiry on the Redis keys `locus:*`); the server is a replica; it may evict
// Redis keys without a ttl (maxmemory-policy allkeys-*); its version is below 5.0. Thread safety:
// all methods may be called from any thread. Fork: in a forked child every call returns
// FAILED_PRECONDITION, and destruction touches no socket.

namespace locus {

struct RedisOptions {
  struct Address {
    std::string host;
    uint16_t port = 6379;
  };
  // A single server; or some nodes of a cluster, one of which must answer at first; or, with
  // master_name, sentinels. Several addresses are tried in order.
  std::vector<Address> addresses;
  // The master's name at the sentinels. Empty: `addresses` are not sentinels. The sentinels are
  // asked again after each failure, and a server that is not a master is not used.
  std::string master_name;
  // The number of the database; 0 in a cluster.
  int database = 0;
  // Empty: the user `default`.
  std::string user;
  // Empty: no AUTH. If the server has no password for the user `default`, it is used without one.
  // The engine's copy is left out of core dumps; wipe your own.
  std::string password;
  std::string sentinel_user;
  std::string sentinel_password;
  // There is no TLS here: anyone on the network path can read the password and everything else.
  // False: with a password, only loopback addresses may be used, such as the local end of a tunnel;
  // any other address is FAILED_PRECONDITION. True: for a network that you trust.
  bool password_in_plain_text = false;
  // The time limit of a whole call. Longer: callers wait longer for a server that stalls. Shorter:
  // UNAVAILABLE when the server is slow for a moment, and each such call may skip a number.
  absl::Duration timeout = absl::Seconds(2);
  // The time limit of one attempt to connect, the lookup of the name included, within `timeout`.
  // Shorter: the next address is tried sooner.
  absl::Duration connect_timeout = absl::Milliseconds(500);

  // INVALID_ARGUMENT, naming the option, its value and the limit; never a password.
  absl::Status Check() const;
};

// Counters of one store or sequencer since it was opened.
struct RedisStats {
  uint64_t calls = 0;      // requests sent: scripts and their repeats
  uint64_t connects = 0;   // connections made
  uint64_t failures = 0;   // calls that got no answer, or could not be sent
  uint64_t redirects = 0;  // MOVED and ASK followed
  uint64_t reloads = 0;    // scripts that the server did not know
};

// Counters in Redis. Each operation is one script and one round trip. A counter is a hash with the
// fields value and version, under the Redis key `locus:sequence:` + prefix + counter name. It lies
// in one slot of a cluster; a hash tag in the prefix or the name places it as usual.
//
// With a ttl a counter is forgotten once the server's clock and the caller's have both passed its
// time: a clock that jumps ahead makes no number repeat. Redis deletes the key later, by the ttl
// and at least an hour, by its own clock. Where there is no key, and that clock is ahead of the
// caller's by more, calls are FAILED_PRECONDITION and begin no counter, except Set.
//
// Redis forgets: after a restart without persistence, a failover to a replica that lags, or
// FLUSHALL, numbers repeat. CeilingSequencer prevents that.
class RedisSequencer : public Sequencer {
 public:
  // Connects. `clock` is the caller's, and outlives the sequencer. INVALID_ARGUMENT: bad options.
  // Otherwise the errors above.
  static absl::StatusOr<std::unique_ptr<RedisSequencer>> Open(const RedisOptions& server,
                                                              const SequencerOptions& options,
                                                              Clock& clock = Clock::System());

  // Next for each of the counter names `keys`, in one round trip (in a cluster, one to each node,
  // in parallel). Each succeeds or fails on its own, as Next does. A name given twice gets two
  // numbers, in either order.
  virtual std::vector<absl::StatusOr<int64_t>> NextEach(std::span<const std::string_view> keys) = 0;

  virtual RedisStats Stats() const = 0;

 protected:
  explicit RedisSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

// Counters in Redis, below a ceiling that a durable sequencer stored before: numbers are unique
// whatever Redis loses. After FLUSHALL, a restart without persistence, or a failover to a replica
// that lags, numbers continue above all that were ever given out. Any number of processes share a
// counter.
//
// A raise takes a block of numbers from the durable sequencer and installs it in Redis for the
// present master. The block is valid only on that master and during its present term as master.
// Elsewhere, and if a process has seen a later write than Redis shows, numbers continue in a new
// block. A thread in the background raises blocks ahead of use; a caller waits for the durable
// sequencer only if numbers are used up faster than that.
//
// Differences from Sequencer: Set only raises, to numbers somewhere above `value`; a value below
// the last number is FAILED_PRECONDITION. Get after a loss starts a new block and returns the
// number below it. Counters do not wrap and have no ttl (INVALID_ARGUMENT in Open). Errors of the
// durable sequencer are returned when no numbers are left below the ceiling.
//
// Not covered: a rewind of Redis that leaves it the same master (FLUSHALL, then RESTORE of an older
// dump), unless the process has seen later numbers; and a loss of the durable sequencer. While two
// masters serve during a partition, numbers stay unique, but those of the old master are lower.
class CeilingSequencer : public Sequencer {
 public:
  struct Options {
    // How many numbers a raise takes at first, and at least. Larger: fewer writes to the durable
    // sequencer, but a loss of Redis skips more numbers (up to two blocks per process and counter).
    int64_t block = 1000;
    // The greatest block. A counter whose block lasts less than a second gets twice as many numbers
    // in the next one.
    int64_t max_block = 1'000'000;
  };
  // `durable` stores the ceilings under the same counter names; nothing else may use those. Its
  // options must have step 1, no max_value and no ttl (INVALID_ARGUMENT).
  static absl::StatusOr<std::unique_ptr<CeilingSequencer>> Open(const RedisOptions& server,
                                                                const SequencerOptions& options,
                                                                std::shared_ptr<Sequencer> durable,
                                                                const Options& blocks);
  static absl::StatusOr<std::unique_ptr<CeilingSequencer>> Open(
      const RedisOptions& server, const SequencerOptions& options,
      std::shared_ptr<Sequencer> durable) {
    return Open(server, options, std::move(durable), Options());
  }
  // The last number that Redis has for a counter of this name (prefix and key) under a ceiling,
  // also after a failover, when the ceiling alone counts; nullopt: none. Connects once; errors as
  // Open.
  static absl::StatusOr<std::optional<int64_t>> Stored(const RedisOptions& server,
                                                       const std::string& name);
  // Waits for a raise that is under way.
  ~CeilingSequencer() override;

  struct CeilingStats {
    RedisStats redis;
    uint64_t raises = 0;        // blocks drawn from the durable sequencer
    uint64_t losses = 0;        // blocks started because the one in Redis was invalid or missing
    uint64_t waits = 0;         // calls that had to wait for a raise
    uint64_t raise_errors = 0;  // raises that failed
    absl::Status last_raise_error;  // OK: the last raise succeeded
  };
  CeilingStats Stats() const;

 protected:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override;
  absl::Status Store(const std::string& name, int64_t value) override;
  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override;
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override;
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken, int64_t value) override;

 private:
  class Rep;
  CeilingSequencer(const SequencerOptions& options, std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Sequence types in Redis: one hash, `locus:sequence_types`, with a field for each; in one slot of
// a cluster. A call is one script. Redis may forget types as it forgets counters: a type that is
// gone is NOT_FOUND.
class RedisSequenceTypeStore : public SequenceTypeStore {
 public:
  // Connects; creates nothing.
  static absl::StatusOr<std::unique_ptr<RedisSequenceTypeStore>> Open(const RedisOptions& server);

  virtual RedisStats Stats() const = 0;
};

// A segment store in Redis. A space is one hash, `locus:segments:{space}`, in one slot of a
// cluster. An allocation is one script and one round trip for all its sections. The store's time is
// the server's. The store's identity is the server's run ID and its term as master, so each restart
// and each failover counts as a loss and raises base: nothing repeats, however Redis is configured
// to save. docs/run/engines-redis.md lists what is not covered.
class RedisSegmentStore : public SegmentStore {
 public:
  // Connects; creates nothing.
  static absl::StatusOr<std::unique_ptr<RedisSegmentStore>> Open(const RedisOptions& server);

  virtual RedisStats Stats() const = 0;
};

// Worker IDs in Redis. A space is one hash, `locus:workers:{space}`, in one slot of a cluster. A
// call is one script; an acquire that finds more than 1,024 held IDs in a row is several. The
// store's time is the server's. Tokens are at most 2^52: INVALID_ARGUMENT above.
//
// Redis forgets leases: its replication is asynchronous, and a restart may lose the last second or
// all. The space records the server's run ID and its term as master; where an acquire or a renewal
// finds another one, no ID is granted until the longest lease of the space could have ended, while
// holders renew. A space that is gone is NOT_FOUND, or is created again by a holder's renewal.
// Hence facts(): durable is false; notices_loss is true on one server, and false with sentinels and
// in a cluster, where two masters may grant at once (docs/run/engines-redis.md, "Worker leases").
class RedisWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // Connects; creates nothing.
  static absl::StatusOr<std::unique_ptr<RedisWorkerLeaseStore>> Open(const RedisOptions& server);

  virtual RedisStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_REDIS_H_
