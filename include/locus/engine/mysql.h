// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_MYSQL_H_
#define LOCUS_ENGINE_MYSQL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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
#include "locus/str.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// How to reach a MariaDB server, a primary with its replicas, or a Galera cluster. Needs
// MariaDB 10.5 or later; tested with 10.11. A proxy in between must keep a session on one
// connection.
struct MysqlOptions {
  struct Host {
    std::string name;  // a name or an address; always by TCP
    uint16_t port = 3306;
  };
  // Tried in turn, beginning with the one that answered last. Read-only servers and Galera nodes
  // outside the primary component are skipped. All must be nodes of one cluster, or one primary and
  // its replicas: two independent servers would repeat each other's numbers.
  std::vector<Host> hosts;
  std::string user;
  // Kept in memory that core dumps leave out and that is wiped afterwards. The client library's
  // copy is wiped as soon as a connection is made. Wiping the caller's own copy is up to the
  // caller.
  std::string password;
  // Must exist: CreateSchema makes tables, not databases.
  std::string database;

  // The time limits of one attempt to connect to one host, the lookup of its name and all of its
  // addresses included, and of one answer of a server. Rounded up to whole seconds, 1 s to 1 h.
  // Longer: callers wait longer for a server that is gone. Shorter: UNAVAILABLE under load. A call
  // takes at most hosts.size() * connect_timeout + 3 * timeout.
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(5);
  // How many calls may be under way at once, each on its own connection; 1 to 1,000. Further
  // callers wait up to `timeout` for a connection, then get UNAVAILABLE. Connections are made when
  // needed and kept.
  size_t max_connections = 4;

  enum class Tls {
    kBeyondLoopback,  // required and verified, except for the hosts localhost, 127.0.0.0/8 and ::1
    kAlways,          // required and verified
    // No TLS. Anyone on the network path can read and change what is sent.
    kNever,
  };
  Tls tls = Tls::kBeyondLoopback;
  // A PEM file of the authorities that may sign the server's certificate. The certificate must also
  // name the host as `hosts` does. Empty: the authorities that the system trusts.
  std::string tls_ca_file;

  // False: refuses a server that may lose committed transactions in a crash (FAILED_PRECONDITION).
  // innodb_flush_log_at_trx_commit must be 1 or 3, and sync_binlog must be 1 if there is a binary
  // log. True: after such a crash numbers may repeat until the restore is declared. Checked for
  // each new connection.
  bool accept_weak_durability = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// "beyond_loopback", "always", "never".
std::string_view ToString(MysqlOptions::Tls tls);
template <typename Sink>
void AbslStringify(Sink& sink, MysqlOptions::Tls tls) {
  sink.Append(std::string(ToString(tls)));
}

// Counters of one store or sequencer since it was opened.
struct MysqlStats {
  uint64_t connects = 0;   // connections made
  uint64_t failures = 0;   // calls that failed as UNAVAILABLE, FAILED_PRECONDITION or DATA_LOSS
  uint64_t conflicts = 0;  // transactions retried after deadlocks, Galera conflicts and races
  absl::Status last_failure;
};

// A segment store in a MariaDB database, shared by any number of processes and hosts.
// docs/run/engines-mysql.md describes tables, accounts, server settings and the losses that it
// notices.
//
// The store's time is the server's clock. An allocation for one section is one statement; for
// several, one transaction of two round trips. Conflicts with other processes are retried with
// growing pauses for up to MysqlOptions::timeout, then the call returns UNAVAILABLE.
//
// Errors beyond those of SegmentStore: NOT_FOUND: also if the database has no locus tables.
// UNAVAILABLE: no host answers, or the Galera node left its primary component. FAILED_PRECONDITION:
// access is denied, every host is read-only, the schema has another version, a certificate does not
// verify, or the server's settings are not durable. Messages name host, port and database. The next
// call replaces a lost connection.
// Thread safety: all methods may be called from any thread.
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction touches no
// socket; the child may open a store of its own.
class MysqlSegmentStore : public SegmentStore {
 public:
  // Creates the tables, or upgrades them from an older version. FAILED_PRECONDITION: they have a
  // newer version, or other tables have these names. The account needs CREATE, ALTER, INDEX,
  // SELECT, INSERT and UPDATE.
  static absl::Status CreateSchema(const MysqlOptions& options);

  // Connects once. NOT_FOUND: the database has no locus tables.
  static absl::StatusOr<std::unique_ptr<MysqlSegmentStore>> Open(const MysqlOptions& options);

  virtual MysqlStats Stats() const = 0;
};

// Counters in the same database: one statement and one round trip per call. The row of a counter
// holds its version and, with a ttl, the time at which it is forgotten: the ttl after the later
// of the server's clock and the caller's, and once both have passed it, so that a clock that jumped
// ahead or was behind makes no number repeat. Errors, timeouts, threads and fork are as for
// MysqlSegmentStore. Numbers that a failover or a restore loses are given out again, since counters
// have no floor (docs/run/engines-mysql.md).
class MysqlSequencer : public Sequencer {
 public:
  // Connects once. `clock` is the caller's, and outlives the sequencer. INVALID_ARGUMENT: bad
  // options. NOT_FOUND: the database has no locus tables.
  static absl::StatusOr<std::unique_ptr<MysqlSequencer>> Open(
      const MysqlOptions& options, const SequencerOptions& sequencer_options,
      Clock& clock = Clock::System());

  // Deletes the rows of up to `most` counters that were forgotten over a minute ago, with any
  // prefix, 100 per statement; returns how many. A sequencer with a ttl also deletes up to 100 in
  // each 256th call of Next or NextBatch.
  virtual absl::StatusOr<uint64_t> RemoveExpired(uint64_t most) = 0;

  virtual MysqlStats Stats() const = 0;

 protected:
  explicit MysqlSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

// Sequence types in the same database: one row each, in the table locus_sequence_type. Errors,
// timeouts, threads and fork are as for MysqlSegmentStore.
class MysqlSequenceTypeStore : public SequenceTypeStore {
 public:
  // Creates the table where it is missing. NOT_FOUND: the database has no locus tables
  // (MysqlSegmentStore::CreateSchema). The account needs CREATE, and DELETE to use the store.
  static absl::Status CreateSchema(const MysqlOptions& options);

  // Connects once. NOT_FOUND: the database has no locus tables, or not this one.
  static absl::StatusOr<std::unique_ptr<MysqlSequenceTypeStore>> Open(const MysqlOptions& options);

  virtual MysqlStats Stats() const = 0;
};

// Worker leases in the same database, or in one of their own; the store's time is the server's
// clock. A call is one transaction that locks the space's row. A promoted replica, a dump that was
// put back and a new Galera cluster are losses: nothing is granted until the longest lease could
// have ended, and holders renew meanwhile. Errors, timeouts, threads and fork are as for
// MysqlSegmentStore.
class MysqlWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // Creates the tables where they are missing. These are not the tables of the segments. The
  // account needs CREATE, SELECT and INSERT.
  static absl::Status CreateSchema(const MysqlOptions& options);

  // Connects once. NOT_FOUND: the database has no tables of worker leases.
  static absl::StatusOr<std::unique_ptr<MysqlWorkerLeaseStore>> Open(const MysqlOptions& options);

  virtual MysqlStats Stats() const = 0;
};

// The sections of strict sequences in the same database, or in one of their own; the store's time
// is the server's clock. A call is one transaction that locks the set's row, and so waits for the
// calls of other owners of the set. A promoted replica, a dump that was put back and a new Galera
// cluster are losses. Errors, timeouts, threads and fork are as for MysqlSegmentStore.
class MysqlStrictStore : public StrictStore {
 public:
  // Creates the tables where they are missing. These are not the tables of the segments. The
  // account needs CREATE, SELECT and INSERT.
  static absl::Status CreateSchema(const MysqlOptions& options);

  // Connects once. NOT_FOUND: the database has no tables of strict sequences.
  static absl::StatusOr<std::unique_ptr<MysqlStrictStore>> Open(const MysqlOptions& options);

  virtual MysqlStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_MYSQL_H_
