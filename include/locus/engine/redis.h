// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_REDIS_H_
#define LOCUS_ENGINE_REDIS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

// What locus keeps in Redis: 5.0 or later (6.0 for ACL users), tested with 7.0. One server, a
// master that sentinels watch, or a cluster (found out by asking the server).
//
// Common to all classes here. Threads share one connection for each server; their calls are
// pipelined on it. A call takes Options::timeout at most, connecting included; only the resolver of
// host names has time limits of its own. A connection that broke is made anew by the next call.
// After a timeout, or when the connection breaks, a call may have been applied: it is answered
// UNAVAILABLE and never sent again. Scripts that the server does not know (NOSCRIPT) and keys that
// have moved (MOVED, ASK) are followed: there the server has said that it did nothing.
//
// UNAVAILABLE: no answer, the server is loading, busy, out of memory, cannot save, or its cluster
// or sentinels have no master now. FAILED_PRECONDITION: a wrong password or too few rights (needed
// are eval, evalsha, info, select, time, cluster|slots, asking and the commands of hashes and
// expiry on the keys `locus:*`); a replica was named as the server; the server may evict keys
// without a ttl (maxmemory-policy allkeys-*): counters are no cache; a version before 5.0. Thread
// safety: all methods may be called from any thread. Fork: in a forked child every call answers
// FAILED_PRECONDITION; destruction there touches no socket.

namespace locus {

struct RedisOptions {
  struct Address {
    std::string host;
    uint16_t port = 6379;
  };
  // One server; or any nodes of one cluster, of which one must answer at first; or, with
  // master_name, sentinels. Several addresses are tried in order.
  std::vector<Address> addresses;
  // The name by which the sentinels know the master. Empty: `addresses` are not sentinels. The
  // sentinels are asked again after each failure, and a server that is no master is not used.
  std::string master_name;
  // The number of the database; 0 in a cluster.
  int database = 0;
  // Empty: the user `default`.
  std::string user;
  // Empty: no AUTH. A server that has no password for the user `default` is used without. The
  // engine's copy is kept out of core dumps; wipe your own.
  std::string password;
  std::string sentinel_user;
  std::string sentinel_password;
  // There is no TLS here: whoever listens on the way reads the password and all that follows.
  // False: with a password only loopback addresses are connected to (the near end of a tunnel,
  // say), any other is FAILED_PRECONDITION. True: you know that the network is yours.
  bool password_in_plain_text = false;
  // Of a call in all. Longer: callers wait longer for a server that stalls. Shorter: UNAVAILABLE
  // when the server has a slow moment, and each such call may skip a number.
  absl::Duration timeout = absl::Seconds(2);
  // Of one attempt to connect, as a part of `timeout`. Shorter: the next address sooner.
  absl::Duration connect_timeout = absl::Milliseconds(500);

  // INVALID_ARGUMENT, naming the option, its value and the limit; never a password.
  absl::Status Check() const;
};

// What went wrong so far, in one object.
struct RedisStats {
  uint64_t calls = 0;      // requests sent: scripts and their repeats
  uint64_t connects = 0;   // connections made
  uint64_t failures = 0;   // calls that got no answer, or could not be sent
  uint64_t redirects = 0;  // MOVED and ASK followed
  uint64_t reloads = 0;    // scripts that the server did not know
};

// Numbers that Redis counts; see Sequencer. Each operation is one script and one round trip. Each
// key is a hash of its own, `locus:sequence:` + prefix + key, with the fields value and version, so
// it lies in one slot of a cluster; a tag in braces inside prefix or key places it as usual.
//
// Redis forgets: after a restart without persistence, a failover to a replica that lags, or
// FLUSHALL, numbers repeat. Where that matters: CeilingSequencer.
class RedisSequencer : public Sequencer {
 public:
  // Connects. INVALID_ARGUMENT: options that cannot be; else as above.
  static absl::StatusOr<std::unique_ptr<RedisSequencer>> Open(const RedisOptions& server,
                                                              const SequencerOptions& options);

  // Next for each of `keys`, all in one round trip (in a cluster: one to each node, at once). They
  // succeed or fail one by one, as Next does; a key named twice gets two numbers, in either order.
  virtual std::vector<absl::StatusOr<int64_t>> NextEach(std::span<const std::string_view> keys) = 0;

  virtual RedisStats Stats() const = 0;

 protected:
  explicit RedisSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

// Numbers that Redis counts, below a ceiling that a durable sequencer has stored before: unique
// whatever Redis loses. After FLUSHALL, a restart without persistence or a failover to a replica
// that lags, numbers go on above all that were ever given out. Any number of processes share a key.
//
// How: a raise draws a block of numbers from the durable sequencer, which nobody else ever gets,
// and installs it in Redis for the master that runs now. What Redis holds counts only on the
// master, and in its term as master, for which it was installed; anywhere else, and where a process
// knows of a later write, the numbers go on with a new block. Blocks are raised ahead of use, on a
// thread of its own; a caller waits for the durable sequencer only where numbers are used up sooner
// than they are raised.
//
// Unlike Sequencer: Set only raises, to numbers somewhere above `value`; lower than the last number
// is FAILED_PRECONDITION. Get after a loss starts a new block and answers what lies below it. Keys
// do not wrap and have no ttl (INVALID_ARGUMENT in Open). Errors of the durable sequencer are
// passed on, where no numbers are left below the ceiling.
//
// Not covered: a rewind of Redis that leaves it the same master (FLUSHALL, then RESTORE of an older
// dump), unless the process has seen more; loss of the durable sequencer. While two masters serve
// (a partition), numbers stay unique, but those of the old master are lower than the new one's.
class CeilingSequencer : public Sequencer {
 public:
  struct Options {
    // How many numbers a raise takes at first, and at least. Larger: fewer writes to the durable
    // sequencer; more numbers skipped by a loss of Redis (up to two blocks a process and key).
    int64_t block = 1000;
    // A key whose block lasts less than a second gets twice as many the next time, up to so many.
    int64_t max_block = 1'000'000;
  };
  // `durable` keeps the ceilings, under the same keys: its options must be step 1, no max_value and
  // no ttl (INVALID_ARGUMENT). Nothing else may use these keys of it.
  static absl::StatusOr<std::unique_ptr<CeilingSequencer>> Open(const RedisOptions& server,
                                                                const SequencerOptions& options,
                                                                std::shared_ptr<Sequencer> durable,
                                                                const Options& blocks);
  static absl::StatusOr<std::unique_ptr<CeilingSequencer>> Open(
      const RedisOptions& server, const SequencerOptions& options,
      std::shared_ptr<Sequencer> durable) {
    return Open(server, options, std::move(durable), Options());
  }
  // Waits for a raise under way.
  ~CeilingSequencer() override;

  struct CeilingStats {
    RedisStats redis;
    uint64_t raises = 0;        // blocks drawn from the durable sequencer
    uint64_t losses = 0;        // blocks started because what Redis held did not count (or was new)
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

// A segment store in Redis. Each space is one hash, `locus:segments:{space}`, in one slot of a
// cluster; a lease is one script and one round trip for all its sections; the time is the server's.
// The identity of the store is the run of the server and its term as master, so each restart and
// each failover counts as a loss: base is raised, nothing repeats, and nothing depends on how Redis
// is set to save. A lease that is not lost needs the server to keep its memory, not its disk.
// See docs/operations-engines.md for what is not covered.
class RedisSegmentStore : public SegmentStore {
 public:
  // Connects; creates nothing.
  static absl::StatusOr<std::unique_ptr<RedisSegmentStore>> Open(const RedisOptions& server);

  virtual RedisStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_REDIS_H_
