// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_MARIADB_H_
#define LOCUS_ENGINE_MARIADB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

namespace locus {

// How to reach a MariaDB server, a primary with its replicas, or a Galera cluster. Developed
// against 10.11; needs 10.5 or later. A proxy in between must keep a session on one connection.
struct MariadbOptions {
  struct Host {
    std::string name;  // a name or an address; always by TCP
    uint16_t port = 3306;
  };
  // Tried in turn, beginning with the one that answered last; a read-only server and a Galera node
  // that is not in its primary component are passed over. All must be nodes of one cluster, or one
  // primary and its replicas: two servers that both grant repeat each other's numbers.
  std::vector<Host> hosts;
  std::string user;
  // Kept in memory that core dumps leave out and wiped afterwards; the client library's copy is
  // wiped as soon as a connection stands. The caller's own copy is the caller's affair.
  std::string password;
  // Must exist: CreateSchema makes tables, not databases.
  std::string database;

  // For one attempt to reach one host, and for one answer of a server. Rounded up to whole seconds,
  // 1 s to 1 h. Longer: callers hang longer on a server that is gone. Shorter: UNAVAILABLE under
  // load. A call takes at most hosts.size() * connect_timeout + 3 * timeout.
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(5);
  // How many calls may be under way at once, each on a connection of its own; 1 to 1,000. More
  // callers wait up to `timeout` for one, then UNAVAILABLE. Connections are made on need and kept.
  size_t max_connections = 4;

  enum class Tls {
    kBeyondLoopback,  // required and verified, but for the hosts localhost, 127.0.0.0/8 and ::1
    kAlways,          // required and verified
    // None. Numbers, keys and statements can be read and changed by whoever is in between.
    kNever,
  };
  Tls tls = Tls::kBeyondLoopback;
  // PEM file with the authorities that may sign the server's certificate, which must also name the
  // host as it stands in `hosts`. Empty: those that the system trusts.
  std::string tls_ca_file;

  // False: a server that may forget what it committed when it or its host crashes is refused
  // (FAILED_PRECONDITION): innodb_flush_log_at_trx_commit must be 1 or 3, and sync_binlog 1 where
  // it writes a binary log. True: after such a crash numbers may repeat until somebody declares the
  // restore. Looked at for each new connection.
  bool accept_weak_durability = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// "beyond_loopback", "always", "never".
std::string_view ToString(MariadbOptions::Tls tls);
template <typename Sink>
void AbslStringify(Sink& sink, MariadbOptions::Tls tls) {
  sink.Append(ToString(tls));
}

// Of one store or sequencer, since it was opened.
struct MariadbStats {
  uint64_t connects = 0;   // connections made
  uint64_t failures = 0;   // calls that failed as UNAVAILABLE, FAILED_PRECONDITION or DATA_LOSS
  uint64_t conflicts = 0;  // transactions tried again: deadlocks, Galera certification, races
  absl::Status last_failure;
};

// A segment store in a MariaDB database, shared by any number of processes and hosts. Tables,
// accounts, server settings and what it notices of a loss are in docs/operations-engines.md.
//
// The store's time is the server's clock. A lease of one section is one statement, a lease of many
// is one transaction of two round trips; conflicts with other processes are tried again with
// growing pauses, up to MariadbOptions::timeout, then UNAVAILABLE.
//
// Errors beyond those of SegmentStore: NOT_FOUND also where the database has no locus tables (any
// more). UNAVAILABLE: no host answers, or the Galera node left its primary component.
// FAILED_PRECONDITION: access denied, every host read-only, another schema version, a certificate
// that does not verify, settings that are not durable. Messages name host, port and database. A
// lost connection is made again by the next call.
// Thread safety: all methods may be called from any thread.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction touches no
// socket; the child may open a store of its own.
class MariadbSegmentStore : public SegmentStore {
 public:
  // Creates the tables, upgrades those of an older version, and changes nothing where they are up
  // to date. FAILED_PRECONDITION: they are of a newer version, or tables of these names belong to
  // somebody else. The account needs CREATE, ALTER, INDEX, SELECT, INSERT and UPDATE for this.
  static absl::Status CreateSchema(const MariadbOptions& options);

  // Connects once. NOT_FOUND: the database has no locus tables.
  static absl::StatusOr<std::unique_ptr<MariadbSegmentStore>> Open(const MariadbOptions& options);

  virtual MariadbStats Stats() const = 0;
};

// Numbers that rise per key, in the same database, by one statement and one round trip a call. A
// key's row holds its version and, with a ttl, when it is forgotten by the server's clock. Errors,
// timeouts, threads and fork as MariadbSegmentStore. What a failover or restore forgets, repeats:
// keys have no floor (docs/operations-engines.md).
class MariadbSequencer : public Sequencer {
 public:
  // Connects once. INVALID_ARGUMENT: bad options. NOT_FOUND: the database has no locus tables.
  static absl::StatusOr<std::unique_ptr<MariadbSequencer>> Open(
      const MariadbOptions& options, const SequencerOptions& sequencer_options);

  // Deletes the rows of up to `most` keys that were forgotten over a minute ago, whoever's they
  // are, by a hundred a statement; returns how many. A sequencer with a ttl also deletes up to a
  // hundred within each 256th call of Next or NextBatch.
  virtual absl::StatusOr<uint64_t> RemoveExpired(uint64_t most) = 0;

  virtual MariadbStats Stats() const = 0;

 protected:
  explicit MariadbSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

}  // namespace locus

#endif  // LOCUS_ENGINE_MARIADB_H_
