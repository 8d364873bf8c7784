// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_LOCUSD_H_
#define LOCUS_ENGINE_LOCUSD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// How to reach a cluster of locusd.
struct LocusdOptions {
  // "host:port" of each node's API; an IPv6 address in brackets. The leader is looked for among
  // them, and remembered.
  std::vector<std::string> endpoints;
  // The bearer token; empty: none. Kept in memory that core dumps leave out, and in no message.
  // Only to loopback hosts or over TLS.
  std::string token = {};
  struct Tls {
    bool enabled = false;
    std::string ca_file = {};  // PEM; empty: the authorities of the system
  };
  Tls tls = {};
  // The time limit of a whole call, over all nodes that it asks; 10 ms to 1 h. Longer: callers wait
  // longer for a cluster without a leader.
  absl::Duration timeout = absl::Seconds(5);
  // The time limit of one request to one node, connecting included.
  absl::Duration request_timeout = absl::Seconds(2);

  // INVALID_ARGUMENT, naming the option, its value and the limit. FAILED_PRECONDITION: a token
  // would go over the network in plain text.
  absl::Status Check() const;
};

// Counters of one store since it was opened.
struct LocusdStats {
  uint64_t calls = 0;
  uint64_t requests = 0;   // sent, repetitions included
  uint64_t redirects = 0;  // answers that named another node as the leader
  uint64_t failures = 0;   // requests without an answer, or refused as UNAVAILABLE
  uint64_t limited = 0;    // answers that asked to send less (429); each is waited out
};

// Worker leases in a cluster of locusd, which keeps them by Raft: an acknowledged lease outlives
// the loss of a minority of its nodes. Creating, acquiring and releasing carry a request ID, so
// that a call that is repeated after a lost answer is carried out once; a call that gets no answer
// tries the next node until its time is over.
//
// Show asks for 1,024 leases at a time. Each answer is linearizable by itself; the returned time is
// that of the first answer.
//
// A node that gets too many requests answers 429 with the time of the next try, and the call waits
// until then.
//
// UNAVAILABLE: no node answered as the leader in time. FAILED_PRECONDITION also: the token or a
// certificate was refused. Thread safety: all methods may be called from any thread; they share one
// connection, and wait for each other. Fork: in a forked child every call returns
// FAILED_PRECONDITION, and destruction touches no socket.
class LocusdWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // Connects nothing. `clock` names requests, and outlives the store.
  static absl::StatusOr<std::unique_ptr<LocusdWorkerLeaseStore>> Open(
      const LocusdOptions& options, Clock& clock = Clock::System());

  virtual LocusdStats Stats() const = 0;
};

// Spaces of order IDs in a cluster of locusd whose nodes have api.store = true. Everything said of
// LocusdWorkerLeaseStore also holds here. An allocation that is repeated after a lost answer is
// granted once: the cluster remembers the last call of each store for 2 minutes. The store's time
// is the cluster's.
//
// A new cluster has no space; creating one is a loss. If all nodes got an older state of their data
// directories, the cluster notices it by SegmentRequest::seen, or an operator calls
// DeclareRestored.
//
// INVALID_ARGUMENT also: an allocation for more than 4,096 sections. RESOURCE_EXHAUSTED: the
// cluster has 64 spaces, or 262,144 sections that ever allocated, or remembers 65,536 clients or
// the grants of 262,144 sections in their last allocations. FAILED_PRECONDITION also: the nodes do
// not keep order IDs.
class LocusdSegmentStore : public SegmentStore {
 public:
  // Connects nothing. `clock` names requests, and outlives the store.
  static absl::StatusOr<std::unique_ptr<LocusdSegmentStore>> Open(const LocusdOptions& options,
                                                                  Clock& clock = Clock::System());

  virtual LocusdStats Stats() const = 0;
};

// Counters in such a cluster. A call that is repeated after a lost answer takes its numbers once:
// no number repeats, and none is skipped unless the call ends as UNAVAILABLE. A ttl counts by the
// cluster's time.
//
// RESOURCE_EXHAUSTED: the cluster has 262,144 counters, or their names have 16 MiB, or it remembers
// 65,536 clients.
class LocusdSequencer : public Sequencer {
 public:
  // Connects nothing. `clock` names requests, and outlives the sequencer.
  static absl::StatusOr<std::unique_ptr<LocusdSequencer>> Open(
      const LocusdOptions& options, const SequencerOptions& of_counters = {},
      Clock& clock = Clock::System());

  virtual LocusdStats NodeStats() const = 0;

 protected:
  using Sequencer::Sequencer;
};

// Sequence types in such a cluster. A change that is repeated after a lost answer is made once.
//
// RESOURCE_EXHAUSTED: the cluster has 1,024 sequence types, or remembers 65,536 clients.
class LocusdSequenceTypeStore : public SequenceTypeStore {
 public:
  // Connects nothing. `clock` names requests, and outlives the store.
  static absl::StatusOr<std::unique_ptr<LocusdSequenceTypeStore>> Open(
      const LocusdOptions& options, Clock& clock = Clock::System());

  virtual LocusdStats Stats() const = 0;
};

// Sections of strict sequences in such a cluster. A call that is repeated after a lost answer is
// carried out once: the section is not taken a second time, and the owner gets the token of the
// first call. The store's time is the cluster's: it runs true to 5 parts in 10,000, and steps
// forward by at most 50 ms when another node leads; only where all nodes were down does the first
// leader's clock count (docs/use/strict.md says what strict sequences rest on).
//
// One call is one command of the cluster, for any number of sections; a renewal writes 28 bytes a
// section to the log of each node. Calls of one store wait for each other, each up to
// LocusdOptions::timeout.
//
// A new cluster has no set; a set that is created there begins at 0, as it does after it was
// deleted by hand. If all nodes got an older state of their data directories, the cluster notices
// it when an owner names a higher number than the stored one; or an operator calls DeclareRestored.
//
// INVALID_ARGUMENT also: Create of a new set with more than 131,072 sections. RESOURCE_EXHAUSTED:
// the cluster has 64 sets, 131,072 sections that were ever owned, 4,096 owners of sections, or
// remembers 65,536 clients. FAILED_PRECONDITION also: the nodes do not keep strict sequences.
class LocusdStrictStore : public StrictStore {
 public:
  // Connects nothing. `clock` names requests, and outlives the store.
  static absl::StatusOr<std::unique_ptr<LocusdStrictStore>> Open(const LocusdOptions& options,
                                                                 Clock& clock = Clock::System());

  virtual LocusdStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_LOCUSD_H_
