// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_ETCD_H_
#define LOCUS_ENGINE_ETCD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// How to reach an etcd cluster, version 3.4 or newer, by its JSON gateway (the client URL).
struct EtcdOptions {
  // Members as "host:port", with brackets around an IPv6 address. Calls go to the member that
  // answered last; if it fails or has no leader, the others are tried in turn.
  std::vector<std::string> endpoints;
  // The etcd keys begin with the prefix and a '/'. Stores with different prefixes are independent.
  // At most 256 bytes of any value.
  std::string prefix = "locus";

  // For a cluster with authentication enabled. The user needs read and write rights on all etcd
  // keys that begin with `prefix` and '/'. The password is copied to memory that core dumps leave
  // out, and appears in no message.
  std::string user;
  std::string password;
  // False: sends a password only to loopback endpoints or over TLS. True: also in plain text, which
  // anyone on the network path can read.
  bool password_in_plain_text = false;

  // The time limit of one request to one member, connecting included. Longer: a caller waits longer
  // for a member that hangs before it tries the next one.
  absl::Duration request_timeout = absl::Seconds(1);
  // The time limit of a whole call: all requests to all members, including repetitions because
  // other processes wrote the same etcd key. No call blocks longer, except for the rounding of
  // timers.
  absl::Duration call_timeout = absl::Seconds(3);
  // The connections of one store or sequencer, kept open between calls; further callers wait for
  // one. 1..1000.
  int max_connections = 8;

  struct Tls {
    // False: plain text. True: TLS 1.2 or newer; the member's certificate must be signed by an
    // authority of `ca_file` and name the endpoint's host (or IP address).
    bool enabled = false;
    std::string ca_file;  // PEM; empty: the authorities of the system
    // PEM, both or neither: the client certificate, for a cluster that requires one. Only its owner
    // may be able to read the key's file.
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
  uint64_t failures = 0;   // requests without an answer, or refused
  uint64_t conflicts = 0;  // requests repeated because another process wrote an etcd key meanwhile
  uint64_t connects = 0;   // TCP connections made
  uint64_t logins = 0;     // tokens requested with user and password
};

// A segment store in etcd, shared by any number of processes. An allocation is one transaction for
// all its sections; it compares this process's knowledge of them with etcd's. It usually takes one
// round trip, and one more each time another process has allocated in the same sections since.
//
// Clock: etcd shows its time only in the Date header of answers, in whole seconds. Several answers
// narrow it to a second or less. The time of an allocation is the caller's time, moved into that
// span: a caller within 60 s of it allocates by etcd's clock. The clock is that of the member that
// answered last.
//
// Identity: the cluster ID, and the number by which the Raft index is ahead of the revision. That
// number never falls while a cluster lives, and falls when a snapshot is restored, also under the
// same cluster ID. It is compared at each new connection. A process also notices if revisions fall
// below those it has seen. docs/run/engines-etcd.md lists what goes unnoticed.
//
// Errors beyond SegmentStore's: FAILED_PRECONDITION: also for a password or certificate that is
// refused, missing rights, a full database (alarm NOSPACE), and server limits that are too small
// (--max-txn-ops below 128). NOT_FOUND: the space does not exist; an emptied cluster returns this
// until the space is created again.
// Blocks up to EtcdOptions::call_timeout. Connects at the first call, and reconnects when needed.
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction touches no
// socket.
class EtcdSegmentStore : public SegmentStore {
 public:
  // Reads the files of EtcdOptions::tls; contacts no server. INVALID_ARGUMENT: EtcdOptions::Check.
  // FAILED_PRECONDITION: a file is missing, unreadable, or readable by others.
  static absl::StatusOr<std::unique_ptr<EtcdSegmentStore>> Open(const EtcdOptions& options);

  virtual EtcdStats Stats() const = 0;
};

// Counters in etcd. A call is one transaction that compares the revision which this process saw
// last. If another process has written the counter since, the transaction reads it and is repeated
// after a random pause. Calls of one process for one counter wait for each other.
//
// A call that returned UNAVAILABLE may be applied later. It is never retried automatically, so a
// skipped number always shows as an error.
//
// ttl is measured by the servers' clock (EtcdSegmentStore), to a second, and by the caller's: it
// begins at the later one, and once both have passed the expiry, the counter is forgotten. The
// expiry is stored with the value. An etcd lease, shared by all counters that a process writes
// within a quarter of the ttl, deletes a forgotten counter up to half the ttl and two minutes
// later.
//
// After a cluster was emptied or restored, numbers repeat: first Set the counters above the numbers
// that were given out.
// Blocks, fails, and behaves in a forked child as the segment store does.
class EtcdSequencer : public Sequencer {
 public:
  // As EtcdSegmentStore::Open; INVALID_ARGUMENT also: SequencerOptions::Check. `clock` is the
  // caller's, and outlives the sequencer.
  static absl::StatusOr<std::unique_ptr<EtcdSequencer>> Open(
      const EtcdOptions& options, const SequencerOptions& sequencer_options,
      Clock& clock = Clock::System());
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

// Sequence types in etcd: the etcd key PREFIX/seq_type/NAME of each. Blocks, fails, and behaves in
// a forked child as the segment store does.
class EtcdSequenceTypeStore : public SequenceTypeStore {
 public:
  // As EtcdSegmentStore::Open.
  static absl::StatusOr<std::unique_ptr<EtcdSequenceTypeStore>> Open(const EtcdOptions& options);
  ~EtcdSequenceTypeStore() override;

  EtcdStats Stats() const;

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override;
  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override;
  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override;

  class Rep;
  explicit EtcdSequenceTypeStore(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Worker IDs in etcd. A renewal is usually one transaction, an acquire one that reads and one that
// writes; each compares the space, and the record's revision and value, with those that it read. If
// another process wrote meanwhile, the call pauses for a random time, reads again and decides anew.
//
// While a worker ID is held, an etcd key with its holder (PREFIX/workers/SPACE/held/ID) belongs to
// an etcd lease, for watchers and operators. It is deleted at a release, and within a quarter of
// ttl + max_skew after the ceiling of a holder that died. It decides nothing: etcd lengthens its
// leases at each election of a leader.
//
// Clock: as of EtcdSegmentStore, known to a second or less. The clock gives a span of possible
// times: an ID counts as free only if its ceiling is before the earliest of them, and a new ceiling
// is computed from the latest one. The loss of stored data is noticed as by EtcdSegmentStore, and
// also by renewals of forgotten leases. facts(): durable; notices_loss, with the exceptions that
// docs/run/engines-etcd.md ("Worker leases") lists. Blocks, fails, and behaves in a forked child
// as the segment store does.
class EtcdWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // As EtcdSegmentStore::Open.
  static absl::StatusOr<std::unique_ptr<EtcdWorkerLeaseStore>> Open(const EtcdOptions& options);

  virtual EtcdStats Stats() const = 0;
};

// Sections of strict sequences in etcd. A call is two transactions: one reads; the other one checks
// that the set is unchanged and writes it together with the sections that the call changed. If
// another process wrote meanwhile, the call pauses for a random time, reads again and decides anew.
// An answer names each section that it renews, and etcd keeps each record until it compacts:
// hundreds of sections are fine, and Create refuses more than 4,096 (INVALID_ARGUMENT); keep larger
// sets in a database or a cluster of locusd. A larger set that exists already is served.
//
// Clock: as of EtcdSegmentStore, known to a second or two. So every call knows a span that contains
// the time. A section is owned until a ttl after the end of the span of the call that granted or
// renewed it, and only a call whose span begins after that grants it to another owner. The clocks
// of members must not differ by more than half a second: callers use the time of the member that
// answered last.
//
// The loss of stored data is noticed as by EtcdSegmentStore, and also by owners whose grants or
// raises were forgotten, and by processes that knew the set before it was created again.
// FAILED_PRECONDITION also: a call of some thousand sections with long addresses is longer than the
// server's --max-request-bytes; name fewer at once. Blocks, fails, and behaves in a forked child as
// the segment store does.
class EtcdStrictStore : public StrictStore {
 public:
  // As EtcdSegmentStore::Open.
  static absl::StatusOr<std::unique_ptr<EtcdStrictStore>> Open(const EtcdOptions& options);

  virtual EtcdStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_ETCD_H_
