// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_WORKER_RULES_H_
#define LOCUS_SRC_WORKER_WORKER_RULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/worker_lease_store.h"

// The one place where a worker lease is decided. An engine of WorkerLeaseStore reads the stored
// state, calls these functions, and writes their results, all in one transaction (Redis has the
// same rules in Lua; a test compares the two). Everything here is pure: no I/O, no clock. Times are
// cut to milliseconds.
//
// How this room works together. WorkerLease holds an ID of a store; Renewal (renewal.h) decides for
// it when to renew and when the lease is lost. A lease raises and closes its user, which is usually
// a Snowflake generator; LeasedSnowflake binds the two. The generator is one word, moved by the
// clock policy of snowflake_word.h. SnowflakeWorkers keeps generators of one process apart.
// Engines that store texts write records by record_text.h. HybridClock is independent of the rest.

namespace locus::worker {

// The longest WorkerAcquire::nonce.
inline constexpr size_t kMostNonceBytes = 64;
// The highest token of a record that is read. Callers' tokens are at most 2^62, so that the grants
// that follow can also be read.
inline constexpr uint64_t kMostTokenOfRecord = INT64_MAX;

// The state of a space that every engine stores, possibly with more.
struct Space {
  absl::Time rest_until = absl::InfinitePast();  // no ID is granted before; grants' least floor
  absl::Duration longest;                        // the longest ttl + max_skew that was granted
  uint64_t losses = 0;

  friend bool operator==(const Space&, const Space&) = default;
};

// INVALID_ARGUMENT, naming the member, its value and the limit.
absl::Status Check(const WorkerAcquire& request);
absl::Status Check(const WorkerRenew& request);
absl::Status Check(const WorkerRelease& request);
absl::Status Check(const WorkerSpacePast& past);
absl::Status CheckRest(absl::Duration rest);
// Checks a record that was read. INVALID_ARGUMENT: an impossible value, which the message names.
// `least_token`: 0 where time may begin at 1970.
absl::Status CheckRecord(const WorkerRecord& record, uint64_t least_token = 1);
// FAILED_PRECONDITION: the clocks differ by more than max_skew.
absl::Status CheckClock(const WorkerLeaseTerm& term, absl::Time caller_now, absl::Time store_now);

// For how long a space with this past rests once it was created or lost.
absl::Duration RestOf(const WorkerSpacePast& past);
// WorkerLeaseStore::Create. `is_new`: there was no space. True: `space` is to be stored.
bool PlanCreate(Space& space, bool is_new, const WorkerSpacePast& past, absl::Time now);
// An operator declares that the space has lost leases: it rests for `rest`. 0: nothing happens.
void DeclareLoss(Space& space, absl::Duration rest, absl::Time now);
// Without its workers.
WorkerSpaceView ViewOf(const Space& space, absl::Time now);

// The store has lost data: nothing is granted until the longest lease known, and one of `term`,
// could have ended. Without a term, and where no lease is known: the longest possible one.
void NoteLoss(Space& space, const WorkerLeaseTerm& term, absl::Time now);
void NoteLoss(Space& space, absl::Time now);

// Whether an acquire may have this ID: it has no holder, or the request itself was granted it
// before and the answer was lost. nullptr: it was never granted.
bool IsFree(const WorkerRecord* record, const WorkerAcquire& request, absl::Time now);

// Reads the records of first..last, ascending, until `visit` answers false.
using Visit = std::function<bool(const WorkerRecord&)>;
using Scan = std::function<absl::Status(uint64_t first, uint64_t last, const Visit& visit)>;

struct FreeWorker {
  uint64_t worker = 0;
  std::optional<WorkerRecord> record;  // nullopt: it was never granted
};

// The ID that an acquire gets: the preferred one if it IsFree, otherwise the first free one from
// `start` round the range. RESOURCE_EXHAUSTED: AllTaken. Or an error of `scan`.
absl::StatusOr<FreeWorker> FindFree(const SpaceName& space, const WorkerAcquire& request,
                                    absl::Time now, const Scan& scan);

// The changes to store, and then the answer. Set members are stored even if the status is an error:
// a refused renewal may show that the store has lost leases.
struct Outcome {
  absl::Status status;
  std::optional<WorkerRecord> record;
  std::optional<Space> space;
  WorkerGrant grant;  // where the status is OK
};

// Grants `worker`, which IsFree. UNAVAILABLE, with a RestLeft: the space rests.
Outcome PlanAcquire(const Space& space, const WorkerRecord* record, uint64_t worker,
                    const WorkerAcquire& request, absl::Time now);
// `space` nullptr: it does not exist.
Outcome PlanRenew(const Space* space, const WorkerRecord* record, const WorkerRenew& request,
                  absl::Time now);
Outcome PlanRelease(const WorkerRecord* record, const WorkerRelease& request);

// The RESOURCE_EXHAUSTED of a range without a free ID. `next_free` is the least ceiling of them.
absl::Status AllTaken(const SpaceName& space, const WorkerRange& range, uint64_t held,
                      absl::Time next_free, absl::Time now);
// For how long the space still rests, if that is why the status refuses.
std::optional<absl::Duration> RestLeft(const absl::Status& status);
// The NOT_FOUND of a space that does not exist.
absl::Status NoSuchSpace(const SpaceName& space);

}  // namespace locus::worker

#endif  // LOCUS_SRC_WORKER_WORKER_RULES_H_
