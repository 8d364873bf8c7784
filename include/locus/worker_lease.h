// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_WORKER_LEASE_H_
#define LOCUS_WORKER_LEASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/space.h"
#include "locus/str.h"
#include "locus/timeout.h"
#include "locus/worker_lease_store.h"

namespace locus {

struct WorkerLeaseEvent {
  enum class Kind {
    kAcquired,
    kRenewed,
    kRenewalFailed,  // `status` says why; retried until the deadline
    kUnhealthy,      // the health callback returned false: not renewed
    kLost,           // `status` says why
    kReleased,       // `status` is the store's answer
  };
  Kind kind = Kind::kAcquired;
  SpaceName space;
  uint64_t worker = 0;
  uint64_t token = 0;
  absl::Time floor;
  absl::Time ceiling;
  absl::Status status;
  // A mark of the nonce, as the lists and the audit of a cluster show it. The nonce itself would
  // allow any reader to give the worker ID back.
  std::string nonce;
  std::string holder;  // as the store has it: WorkerLeaseOptions::holder, or this process's facts
};
// "acquired", "renewed", "renewal_failed", "unhealthy", "lost", "released".
std::string_view ToString(WorkerLeaseEvent::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, WorkerLeaseEvent::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

struct WorkerLeaseOptions {
  // The worker IDs of one space each have at most one holder.
  SpaceName space;
  // The IDs that may be taken, 0..1023 if it is not set; LeasedSnowflake has a default of its own.
  // Two datacenters with stores of their own need ranges that do not overlap.
  std::optional<WorkerRange> range;
  // How long a generator can continue when its store is down, and also how long the ID of a crashed
  // holder rests before another process gets it. 10 s to 24 h. Renewed at the least of ttl / 3 and
  // 10 s. Holders of one space should have the same ttl: a store that lost its state waits for it.
  absl::Duration ttl = absl::Minutes(10);
  // How far this process's clock may differ from the store's, including the time that a call takes
  // to reach it. Longer: the ID of a crashed holder rests longer. Shorter: a clock that is off, or
  // a slow network, gets no lease. 0 to 60 s.
  absl::Duration max_skew = absl::Seconds(10);
  // Taken if it is free: a restarted process gets the ID that it had.
  std::optional<uint64_t> preferred;
  // Shown by `locus lease list`: a JSON object of at most 1,024 bytes. Empty: host name, process ID
  // and the version of locus.
  std::string holder;

  // Asked before each renewal. False: it is not renewed, and asked again soon; so a process that is
  // alive and useless gives its ID up at the deadline. It must not block.
  std::function<bool()> healthy;
  // Called once, if the lease is lost; not if Release came first. Called by a thread of the lease,
  // which has closed the user by then. DEADLINE_EXCEEDED: the deadline passed; ABORTED: the store
  // says that the lease has ended. It must not destroy the lease.
  std::function<void(const absl::Status&)> on_lost;
  // Called for each event, in order, by one thread at a time. It must not block or throw, and must
  // not call Release.
  std::function<void(const WorkerLeaseEvent&)> on_event;

  // Outlives the lease.
  Clock* clock = &Clock::System();
  // Runs the renewals and the watch over the deadline; outlives the lease. With a single thread,
  // the deadline is not noticed while a renewal is under way. nullptr: two threads of the lease's
  // own.
  Executor* executor = nullptr;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// A maker of numbers under a lease. Its methods are called under a lock of the lease: they must not
// block, and must not call the lease.
class CeilingUser {
 public:
  virtual ~CeilingUser() = default;
  // Times up to `ceiling` may be used; it is stored.
  virtual void RaiseCeiling(absl::Time ceiling) = 0;
  // Nothing is made after this. Returns the highest time used, or the floor.
  virtual absl::Time Close() = 0;
};

struct WorkerLeaseStats {
  uint64_t renewals = 0;
  uint64_t failures = 0;   // renewals that failed
  uint64_t unhealthy = 0;  // renewals that the health callback prevented
  bool held = false;
  absl::Duration left;  // until the deadline; negative once it has passed
  absl::Duration ttl;   // of a grant: about the value of `left` after a renewal
};

// A worker ID that this process holds, renewed in the background until it is released or lost.
// Renewals are spread: the first one comes after a random part of the time between two. A renewal
// that failed is tried again, after pauses that double up to that time and shorten towards the
// deadline.
//
// Uniqueness does not rest on the deadline: a process may be paused between a look at the clock and
// the use of a number. It rests on the ceiling, which is stored before it is used: every number's
// time is at most the ceiling, and the next holder's are above it. The deadline only ends the lease
// in this process, in time to know that the ID will go to another holder:
//
//   D = m0 + (1 − 10⁻³)·((ttl − ε)/(1 + 10⁻³) − u)
//
// m0: CLOCK_BOOTTIME, which counts suspension, before the last successful renewal was sent;
// ε = kLargestStep; u = kPause. With ttl 10 min that is 9 min 57.3 s, with 10 s 8.5 s.
//
// A lease is lost when the deadline passes, or the store says that it has ended (ABORTED). An
// answer that comes later changes nothing. A machine that was suspended, or a process that was
// stopped, notices within a second of waking; held() notices at once. A lost lease is never taken
// again by itself: acquire another one, with the floor of its ID.
//
// Thread safety: all methods may be called from any thread. In a forked child held() is false,
// ceiling() is the floor, Bind and Release are FAILED_PRECONDITION, and destruction does nothing.
class WorkerLease {
 public:
  // The largest forward step of the store's clock.
  static constexpr absl::Duration kLargestStep = absl::Seconds(1);
  // How long the thread may be kept from running without the lease being used past its end.
  static constexpr absl::Duration kPause = absl::Milliseconds(500);

  // Takes a worker ID. Repeats UNAVAILABLE calls, with the same nonce, for up to `patience`: an ID
  // that was granted by a call whose answer was lost is found again. If none of the answers came,
  // it rests for its ttl. Errors: those of WorkerLeaseStore::Acquire; INVALID_ARGUMENT of the
  // options; UNAVAILABLE also if the system has no thread or no randomness.
  static absl::StatusOr<std::unique_ptr<WorkerLease>> Acquire(
      std::shared_ptr<WorkerLeaseStore> store, const WorkerLeaseOptions& options,
      Timeout patience = absl::Seconds(10));
  // Release(), ignoring its result.
  ~WorkerLease();
  WorkerLease(const WorkerLease&) = delete;
  WorkerLease& operator=(const WorkerLease&) = delete;

  uint64_t worker() const;
  uint64_t token() const;
  // Every number's time must be after it.
  absl::Time floor() const;
  // The highest ceiling that is stored.
  absl::Time ceiling() const;
  // Whether the deadline has not passed and the store has not said that the lease has ended.
  bool held() const;
  WorkerStoreFacts facts() const;
  WorkerLeaseStats Stats() const;

  // Renewals raise the user's ceiling; Release and loss close it. FAILED_PRECONDITION: the lease is
  // not held any more, or has a user.
  absl::Status Bind(std::shared_ptr<CeilingUser> user);

  // Stops renewing, closes the user, then gives the ID back with the highest time used: it is free
  // for another one as soon as the store's clock has passed that. Without a user it rests until the
  // ceiling. If the answer is lost, asks once more. Returns the store's answer: UNAVAILABLE, it did
  // not answer, and the ID may rest until the ceiling. If the lease was lost before, the store is
  // not called, and the loss is returned. A second call returns the same. Blocks for a renewal that
  // is under way, and for two calls of the store at most.
  absl::Status Release();

 private:
  class Rep;
  explicit WorkerLease(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_WORKER_LEASE_H_
