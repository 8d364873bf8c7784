// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_WORKER_LEASE_STORE_H_
#define LOCUS_WORKER_LEASE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "locus/str.h"

namespace locus {

// Worker IDs first..last, both included.
struct WorkerRange {
  uint64_t first = 0;
  uint64_t last = 1023;

  uint64_t size() const { return last - first + 1; }
  friend bool operator==(const WorkerRange&, const WorkerRange&) = default;
};

// How long a lease lasts, and how far clocks may differ. All times are in whole milliseconds.
struct WorkerLeaseTerm {
  // 10 s to 24 h; see WorkerLeaseOptions::ttl.
  absl::Duration ttl = absl::Minutes(10);
  // A caller whose clock differs from the store's by more gets no lease, and keeps none. 0 to 60 s.
  absl::Duration max_skew = absl::Seconds(10);

  friend bool operator==(const WorkerLeaseTerm&, const WorkerLeaseTerm&) = default;
};

struct WorkerAcquire {
  WorkerRange range;
  // Taken if it is free. Must lie in `range`.
  std::optional<uint64_t> preferred;
  // The search for a free ID begins here and goes round the range. Must lie in `range`.
  uint64_t start = 0;
  WorkerLeaseTerm term;
  // Drawn at random for each lease, 1 to 64 characters of a-z, 0-9, '_' and '-'. A call that is
  // sent again with the same nonce, preferred and start finds the ID that it was granted before.
  // Keep it secret: anyone that knows it can use the lease.
  std::string nonce;
  // The holder as `locus lease list` shows it: a JSON object of at most 1,024 bytes, or empty.
  std::string holder;
  absl::Time caller_now;
};

struct WorkerRenew {
  uint64_t worker = 0;
  uint64_t token = 0;
  // The highest ceiling that this holder ever got. A store that knows a lower one, or an older
  // token, has lost data.
  absl::Time ceiling;
  WorkerLeaseTerm term;
  std::string nonce;   // of the acquire
  std::string holder;  // as of the acquire; replaces the stored one
  absl::Time caller_now;
};

struct WorkerRelease {
  uint64_t worker = 0;
  uint64_t token = 0;
  // The highest time of any ID made under the lease; no later one follows. InfiniteFuture: not
  // known, so the ID rests until its ceiling.
  absl::Time last_used;
  // Of the acquire. locusd compares it, because its clients need not trust each other; other stores
  // do not.
  std::string nonce = {};
};

// A worker ID that is held.
struct WorkerGrant {
  uint64_t worker = 0;
  // Rises with each grant of the worker ID.
  uint64_t token = 0;
  // Every ID's time must be after the floor and at most the ceiling. Renewals raise the ceiling.
  // The floor is the last ceiling of the earlier holder, or InfinitePast.
  absl::Time floor = absl::InfinitePast();
  absl::Time ceiling;
  absl::Time granted_at;      // the store's time
  bool loss_noticed = false;  // this call found that the store had lost data
};

// One worker ID as a store knows it.
struct WorkerRecord {
  uint64_t worker = 0;
  uint64_t token = 0;  // of the latest grant
  absl::Time floor;    // of the latest grant
  absl::Time ceiling;  // no other holder gets the ID before this has passed
  absl::Time granted_at;
  absl::Time renewed_at;
  std::string nonce;   // of the holder, or a mark of it (locusd); empty: it was released
  std::string holder;  // JSON
  friend bool operator==(const WorkerRecord&, const WorkerRecord&) = default;
};

enum class WorkerState {
  kHeld,     // its ceiling has not passed
  kResting,  // released, but IDs have times up to a ceiling that has not passed
  kFree,
};
// "held", "resting", "free".
std::string_view ToString(WorkerState state);
template <typename Sink>
void AbslStringify(Sink& sink, WorkerState state) {
  sink.Append(std::string(ToString(state)));
}

// The worker IDs of one space.
struct WorkerSpaceView {
  absl::Time now;                     // the store's time
  absl::Time rest_until;              // no ID is granted before; later than `now` after a loss
  uint64_t losses = 0;                // how often the store noticed that it had lost data
  std::vector<WorkerRecord> workers;  // the IDs that were ever granted, ascending

  // The state of one of `workers`.
  WorkerState StateOf(const WorkerRecord& record) const;
};

// The promises of a store. A fact of the engine and its configuration, not of one call.
struct WorkerStoreFacts {
  std::string engine;  // "sqlite", "mariadb", "redis", "etcd", "zookeeper", "raft"
  // A lease that was acknowledged outlives the loss of any one server. False: a failover or a
  // restart may forget leases.
  bool durable = true;
  // A store that has forgotten leases finds out before it grants anything, and then grants nothing
  // until the longest of them has ended.
  bool notices_loss = true;
};

// The longest WorkerAcquire::holder.
inline constexpr size_t kMostHolderBytes = 1024;
// The greatest WorkerRange::last.
inline constexpr uint64_t kMostWorker = (uint64_t{1} << 32) - 1;

// The past of a space, as far as the caller of WorkerLeaseStore::Create knows it. The default
// assumes nothing: the space may replace a lost one whose holders are alive.
struct WorkerSpacePast {
  // No ID of this space was ever granted, neither here nor in a store that this one replaces, so
  // IDs are granted at once. If that is wrong, two holders may make the same IDs.
  bool first_ever = false;
  // The store was lost or put back to an older state: the space rests also where it exists.
  bool lost = false;
  // The longest ttl of any holder, 10 s to 24 h. A created or lost space rests for it and 60 s.
  absl::Duration longest_ttl = absl::Hours(24);
};

// Where worker IDs are leased. A space is a set of worker IDs of which each has at most one holder;
// spaces of worker IDs and of sequences may have the same name, and are independent of each other.
// The rules (docs/inside/worker.md, "Worker leases"):
//
//   held      a worker ID whose ceiling >= the store's now
//   acquire   of an ID that is not held:  floor   = its ceiling
//                                         ceiling = max(ceiling, now + ttl + max_skew)
//                                         token   = max(token + 1, now in ms since 1970)
//   renew     same token, not ended:      ceiling = max(ceiling, now + ttl + max_skew)
//   release   same token:                 ceiling = last time used, within [floor, ceiling]; of
//                                         locusd, also not before the last renewal
//
// So the times of IDs under one token all lie below those under the next one, however long a
// holder is paused. A store that finds that it forgot leases grants no ID until the longest lease
// that it knows of could have ended; holders renew meanwhile.
//
// Not covered: grants of a store after it was put back to an older state and before it notices. If
// an ID that it forgot is acquired before any forgotten holder has renewed, both holders may use
// the same times until the first one renews: that ends its lease, and the store notices. A release
// of a forgotten lease does not reveal the loss. Also not covered: a store whose clock was set back
// before it forgot, or that forgot a lease with a longer ttl than any that it knows of.
//
// Errors of every method: UNAVAILABLE: the store did not answer; the call may have been carried out
// nevertheless, and may be repeated. FAILED_PRECONDITION: the caller's clock differs from the
// store's by more than max_skew, or the store refuses until the cause is repaired. DATA_LOSS: the
// stored state contradicts itself. NOT_FOUND: there is no such space (but see Renew).
// INVALID_ARGUMENT: a bad argument; the message names it.
// Thread safety: all methods may be called from any thread. They block, up to a bound that the
// engine states.
class WorkerLeaseStore {
 public:
  virtual ~WorkerLeaseStore() = default;

  // Creates the space if it does not exist. It then rests, so that no ID is granted before the
  // leases of a space that it replaces could have ended, unless `past` says that there is none.
  // A space that exists stays unchanged, with two exceptions: `lost` makes it rest; `first_ever`
  // ends the rest of a space that has only rested since it was created (not in locusd). The
  // caller's clock is assumed to be right.
  virtual absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                              absl::Time caller_now) = 0;
  // RESOURCE_EXHAUSTED: all IDs of the range are held or resting; the message says how many, and
  // when the next one is free. UNAVAILABLE also while the space rests; the message says until when.
  virtual absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                              const WorkerAcquire& request) = 0;
  // ABORTED: the lease has ended, was released, or the ID has another holder: it is lost. A store
  // that does not know the lease, because it lost what it stored, takes it over from the caller
  // unless the ID has another holder; that renewal also creates a lost space again. locusd takes no
  // token above its clock (FAILED_PRECONDITION), ends no lease of another holder, and creates no
  // space: NOT_FOUND, until an operator has created it.
  virtual absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) = 0;
  // OK also if it was released before. ABORTED: the ID has another holder.
  virtual absl::Status Release(const SpaceName& space, const WorkerRelease& request) = 0;
  virtual absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) = 0;
  // Deletes a space that is not needed any more, with the ceilings of its IDs. FAILED_PRECONDITION:
  // one of its IDs is held or rests. UNIMPLEMENTED: this engine has no such call.
  virtual absl::Status Delete(const SpaceName& space);

  virtual WorkerStoreFacts facts() const = 0;
};

}  // namespace locus

#endif  // LOCUS_WORKER_LEASE_STORE_H_
