// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_ETCD_H_
#define LOCUS_ENGINE_ETCD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

namespace locus {

// How to reach an etcd cluster, version 3.4 or newer, by its JSON gateway (the client URL).
struct EtcdOptions {
  // Members, "host:port"; an IPv6 address stands in brackets. The one that answers is kept; when it
  // fails, or has no leader, the others are tried in turn.
  std::vector<std::string> endpoints;
  // Keys begin with it and a '/'. Stores of different prefixes know nothing of each other. At most
  // 256 bytes, of any value.
  std::string prefix = "locus";

  // Where the cluster has authentication enabled. The user needs read and write rights on all keys
  // that begin with `prefix` and '/'. The password is copied to memory that is left out of core
  // dumps, and appears in no message.
  std::string user;
  std::string password;
  // False: a password goes to loopback endpoints, and by TLS, only. True: also in plain text, to be
  // read by whoever listens on the way.
  bool password_in_plain_text = false;

  // One request to one member, connecting included. Longer: a caller waits longer for a member that
  // hangs (stalled, or its leader just died) before it goes to the next.
  absl::Duration request_timeout = absl::Seconds(1);
  // A whole call: all requests to all members, and what is repeated because others wrote the same
  // key. No call blocks longer, but for the rounding of the system's timers.
  absl::Duration call_timeout = absl::Seconds(3);
  // Connections of one store or sequencer, kept open between calls; more callers wait. 1..1000.
  int max_connections = 8;

  struct Tls {
    // False: plain text. True: TLS 1.2 or newer; the member's certificate must be signed by an
    // authority of `ca_file` and name the endpoint's host (or IP address).
    bool enabled = false;
    std::string ca_file;  // PEM; empty: the authorities of the system
    // PEM, both or neither: a certificate that the cluster asks of its clients. The key's file must
    // be readable by its owner only.
    std::string certificate_file;
    std::string key_file;
  };
  Tls tls;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Counts since a store or sequencer was opened.
struct EtcdStats {
  uint64_t requests = 0;   // sent to members
  uint64_t failures = 0;   // of them, without an answer or refused
  uint64_t conflicts = 0;  // repeated, as somebody else wrote a key meanwhile
  uint64_t connects = 0;   // TCP connections made
  uint64_t logins = 0;     // tokens asked for with user and password
};

// A segment store in etcd, shared by any number of processes. A lease is one transaction for all
// its sections, which compares what this process knows of them; on the usual path one round trip,
// one more for each time that another process leased the same sections since.
//
// Clock: etcd gives its time only in the Date header of its answers, in whole seconds; several
// answers narrow it to a span of a second or less. A lease's time is the caller's, moved into that
// span: a caller within 60 s of it gets leases by etcd's clock, whatever its own clock says.
// The clock is that of the member that answered last.
//
// Identity: the cluster ID, and by how much the Raft log is ahead of the revisions. The latter
// never falls in a cluster's life, and falls when a snapshot is restored, whatever the new cluster
// is called. It is compared at each new connection. A process also notices when revisions fall
// below those it has seen. docs/operations-engines.md lists what goes unnoticed.
//
// Errors, beyond SegmentStore's: FAILED_PRECONDITION also for a password or certificate that is
// refused, missing rights, a full database (alarm NOSPACE), and limits of the server that are too
// small (--max-txn-ops below 128). NOT_FOUND: the space is not there; an emptied cluster answers so
// until the space is created again.
// Blocks up to EtcdOptions::call_timeout. Connects at the first call, and again by itself.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction touches no
// socket.
class EtcdSegmentStore : public SegmentStore {
 public:
  // Reads the files of Options::tls; asks no server. INVALID_ARGUMENT: EtcdOptions::Check;
  // FAILED_PRECONDITION: a file that is missing, unreadable or open to others.
  static absl::StatusOr<std::unique_ptr<EtcdSegmentStore>> Open(const EtcdOptions& options);

  virtual EtcdStats Stats() const = 0;
};

// Numbers per key in etcd. A call is one transaction that compares the revision which this process
// saw last; where another process wrote the key since, the transaction reads it, and is repeated
// after a random pause. Calls of one process for one key wait for each other.
//
// A call that UNAVAILABLE ended may be applied later. It is not repeated by itself: no number goes
// missing without an error.
//
// The clock of ttl is the servers' (EtcdSegmentStore), to a second. Expiry is stored with the
// value; an etcd lease, one for all keys that a process writes within a quarter of the ttl, deletes
// what is forgotten up to two quarters and two minutes later.
//
// A cluster that was emptied or restored repeats the numbers since: Set the keys above them first.
// Blocks, fails and behaves in a forked child as the segment store.
class EtcdSequencer : public Sequencer {
 public:
  // As EtcdSegmentStore::Open; INVALID_ARGUMENT also: SequencerOptions::Check.
  static absl::StatusOr<std::unique_ptr<EtcdSequencer>> Open(
      const EtcdOptions& options, const SequencerOptions& sequencer_options);
  ~EtcdSequencer() override;

  EtcdStats Stats() const;

 private:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override;
  absl::Status Store(const std::string& name, int64_t value) override;
  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override;
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override;
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken, int64_t value) override;

  class Rep;
  EtcdSequencer(const SequencerOptions& sequencer_options, std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_ETCD_H_
