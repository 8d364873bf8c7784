// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_LEASED_SNOWFLAKE_H_
#define LOCUS_LEASED_SNOWFLAKE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/snowflake.h"
#include "locus/snowflake_layout.h"
#include "locus/timeout.h"
#include "locus/worker_lease.h"
#include "locus/worker_lease_store.h"

namespace locus {

struct LeasedSnowflakeOptions {
  // Of the lease. Its range, if not set, is all node numbers of the layout (datacenter and worker
  // read as one, at most 2^32), or those of `datacenter`. Its clock is also the generator's, and
  // its executor also takes leases again. Generators with different epochs or layouts may share a
  // space; those with the same must.
  WorkerLeaseOptions lease;
  // Takes only worker IDs of this datacenter: two datacenters with stores of their own never meet.
  // The layout must have datacenters.
  std::optional<uint64_t> datacenter;
  // As SnowflakeOptions::epoch.
  absl::Time epoch = kSnowflakeEpoch;
  // Whether a generator that lost its lease takes another one, and continues with that worker ID
  // above that ID's own floor. Until it has one, calls are UNAVAILABLE. False: there is no ID any
  // more, and the program decides. Each lease taken keeps about 8 KiB until the generator is
  // destroyed.
  bool reacquire = false;
  // As SnowflakeOptions::on_rollback.
  std::function<void(const SnowflakeRollback&)> on_rollback = nullptr;
};

struct LeasedSnowflakeStats {
  SnowflakeStats ids;      // under all leases so far
  WorkerLeaseStats lease;  // of the present lease, or the last one
  uint64_t leases = 0;     // how many were taken
  uint64_t losses = 0;     // how many of them were lost
};

// A Snowflake whose worker ID is leased: unique among all processes that lease from the same space,
// also after crashes, restarts and clocks that were set back. Every ID's time is above the last one
// that may have been used under the worker ID before, and at most what the store has recorded for
// this lease. LeasedSnowflake<Layout>::Create makes one.
//
// A clock behind the store's: a worker ID may come with a floor that this process' clock has not
// reached yet. Up to kWaitBehind calls wait for it, beyond that they are FAILED_PRECONDITION, for
// twice max_skew at the most.
//
// Errors of Next, NextBatch and NextString: those of AnySnowflake. UNAVAILABLE also: the lease was
// lost and another one is being taken. FAILED_PRECONDITION also: the lease was lost, or released.
// The message says why.
// Thread safety: all methods may be called from any thread.
// Cost: that of a Snowflake and one load of a pointer for each call.
// Fork: in a forked child no ID is made (FAILED_PRECONDITION), worker(), floor() and the like
// return 0, the infinite past or false, and destruction does nothing.
class AnyLeasedSnowflake {
 public:
  // Release(), ignoring its result.
  ~AnyLeasedSnowflake();
  AnyLeasedSnowflake(const AnyLeasedSnowflake&) = delete;
  AnyLeasedSnowflake& operator=(const AnyLeasedSnowflake&) = delete;

  // As those of AnySnowflake.
  absl::StatusOr<int64_t> Next() {
    AnySnowflake* ids = current_.load(std::memory_order_acquire);
    absl::StatusOr<int64_t> id = ids->Next();
    if (!id.ok()) [[unlikely]] {
      return NextAfter(*ids, id.status());
    }
    return id;
  }
  absl::StatusOr<std::string> NextString();
  absl::StatusOr<size_t> NextBatch(std::span<int64_t> ids);
  absl::StatusOr<SnowflakeParts> Decompose(int64_t id) const;

  // Of the present lease, or the last one. The worker ID is the node number: the datacenter's and
  // the worker's bits read as one.
  uint64_t worker() const;
  uint64_t token() const;
  absl::Time floor() const;
  // Whether its deadline has not passed. IDs are unique also when it has.
  bool held() const;
  LeasedSnowflakeStats Stats() const;

  // Ends the generator, then gives the worker ID back with the last time used, as
  // WorkerLease::Release does. Must not be called by callbacks of the lease.
  absl::Status Release();

 protected:
  AnyLeasedSnowflake(const SnowflakeWidths& widths, std::shared_ptr<WorkerLeaseStore> store,
                     const LeasedSnowflakeOptions& options);
  // Takes the first lease. Called once, before anything else.
  absl::Status Open(absl::Duration patience);

 private:
  class Rep;

  // Next's status where `ids` returned an error.
  absl::StatusOr<int64_t> NextAfter(AnySnowflake& ids, const absl::Status& error);

  // Acquire pairs with the release where a generator is put in place of a closed one. Closed
  // generators live as long as this object, so a caller may still use one.
  std::atomic<AnySnowflake*> current_{nullptr};
  std::unique_ptr<Rep> rep_;
};

template <typename Layout = SnowflakeDefaultLayout>
class LeasedSnowflake : public AnyLeasedSnowflake {
 public:
  // Takes a worker ID, with up to `patience` as WorkerLease::Acquire. Errors: of that; those of
  // Snowflake::Create, where ALREADY_EXISTS means that this process has a generator without a lease
  // for the worker ID; INVALID_ARGUMENT: the range or the datacenter does not fit the layout.
  static absl::StatusOr<std::unique_ptr<LeasedSnowflake>> Create(
      std::shared_ptr<WorkerLeaseStore> store, const LeasedSnowflakeOptions& options,
      Timeout patience = absl::Seconds(10)) {
    std::unique_ptr<LeasedSnowflake> made(new LeasedSnowflake(std::move(store), options));
    absl::Status opened = made->Open(patience);
    if (!opened.ok()) return opened;
    return made;
  }

 private:
  LeasedSnowflake(std::shared_ptr<WorkerLeaseStore> store, const LeasedSnowflakeOptions& options)
      : AnyLeasedSnowflake(Layout::kWidths, std::move(store), options) {}
};

}  // namespace locus

#endif  // LOCUS_LEASED_SNOWFLAKE_H_
