// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_ZOOKEEPER_H_
#define LOCUS_ENGINE_ZOOKEEPER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// How to reach a ZooKeeper ensemble, version 3.5 or later, tested with 3.8.
struct ZookeeperOptions {
  // Servers as "host:port", with brackets around an IPv6 address, in any order.
  std::vector<std::string> hosts;
  // The znode under which everything lies; it is created if missing. Stores with different prefixes
  // are independent. Begins with '/'; at most 256 bytes of letters, digits, '_', '-', '.' and '/'.
  std::string prefix = "/locus";

  // For znodes that only this user may read and write (scheme digest). Without a user, everyone
  // may. The password is kept out of core dumps and of messages here; the ZooKeeper client library
  // keeps a copy of its own.
  std::string user;
  std::string password;
  // The packaged client has no TLS: anyone on the network path can read the password and everything
  // else. False: with a password, only loopback addresses may be used, such as the local end of a
  // tunnel. True: for a network that you trust.
  bool password_in_plain_text = false;

  // After how long without contact the ensemble ends a session and removes the ephemeral znodes
  // that show the living processes. The ensemble has limits of its own. 1 s to 1 h.
  absl::Duration session_timeout = absl::Seconds(10);
  // How long a call waits for a session that is not connected, within `timeout`.
  absl::Duration connect_timeout = absl::Seconds(2);
  // The time limit of a whole call. Longer: callers wait longer for an ensemble that stalls.
  absl::Duration timeout = absl::Seconds(3);

  // INVALID_ARGUMENT, naming the option, its value and the limit; never a password.
  absl::Status Check() const;
};

// Counts since a store was opened.
struct ZookeeperStats {
  uint64_t requests = 0;   // sent to the ensemble
  uint64_t failures = 0;   // requests without an answer
  uint64_t conflicts = 0;  // changes repeated because another process changed a znode meanwhile
  uint64_t sessions = 0;   // begun
};

// Worker IDs in ZooKeeper. Each ID that was ever granted has a persistent znode with its record,
// changed by transactions that check the versions of the record and of the space. While it is held,
// an ephemeral znode of the holder's session lies beside it, for watchers and operators. It decides
// nothing, because a session and a lease end at different times.
//
// While the session is not connected (CONNECTING, not only EXPIRED) every call is UNAVAILABLE after
// connect_timeout; nothing is assumed about what is held. A session that expired is replaced by the
// next call, whose renewal creates the ephemeral znode again.
//
// Clock: the leader's, as the Stat of a write shows it. Each call writes one znode for that.
// facts(): durable; notices_loss is false: an older data directory that is put back is noticed only
// by holders whose leases it forgot, and by processes that have seen a later transaction.
//
// Errors beyond WorkerLeaseStore's: FAILED_PRECONDITION: user or password are wrong, or rights are
// missing. Blocks up to `timeout`; the resolver of host names has its own time limits. Connects at
// the first call. Thread safety: all methods may be called from any thread. Fork: in a forked child
// every call returns FAILED_PRECONDITION, and destruction touches no thread and no socket.
class ZookeeperWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // Contacts no server. INVALID_ARGUMENT: ZookeeperOptions::Check. FAILED_PRECONDITION: a password
  // for a host that is not loopback.
  static absl::StatusOr<std::unique_ptr<ZookeeperWorkerLeaseStore>> Open(
      const ZookeeperOptions& options);

  virtual ZookeeperStats Stats() const = 0;
};

// Spaces of sequences in ZooKeeper: a persistent znode for each space, and one for each group of
// neighbouring sections. An allocation reads them and changes them in one transaction that checks
// their versions; if another process was first, it begins again. An earlier write learns the time,
// so an allocation is two writes of the ensemble and a read.
//
// Clock: the leader's, as for worker IDs. ZooKeeper has no identity that a copy of its data would
// lack, so a loss is noticed by SegmentStore's `seen`, by transactions that are older than one this
// process has seen, and by spaces that are missing. Not noticed: older data directories that were
// put back, by processes that started later; run `locus store restored` then.
// docs/run/engines-zookeeper.md lists what no store covers.
//
// Errors, blocking, threads and fork: as ZookeeperWorkerLeaseStore. An allocation for more than
// about 65,000 sections at once needs ZooKeeper's default jute.maxbuffer of 1 MiB.
class ZookeeperSegmentStore : public SegmentStore {
 public:
  // As ZookeeperWorkerLeaseStore::Open.
  static absl::StatusOr<std::unique_ptr<ZookeeperSegmentStore>> Open(
      const ZookeeperOptions& options);

  virtual ZookeeperStats Stats() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_ZOOKEEPER_H_
