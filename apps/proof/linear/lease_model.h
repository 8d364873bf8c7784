// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LINEAR_LEASE_MODEL_H_
#define LOCUS_APPS_PROOF_LINEAR_LEASE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "apps/proof/linear/linearizability.h"
#include "locus/worker_lease_store.h"

namespace locus::linear {

// A call of a WorkerLeaseStore, and what it says of one worker ID. Not recorded: calls that were
// refused without a look at the ID (INVALID_ARGUMENT, FAILED_PRECONDITION, RESOURCE_EXHAUSTED).
struct LeaseOperation {
  enum class Kind : uint8_t { kAcquire, kRenew, kRelease, kShow };
  Kind kind = Kind::kAcquire;
  // Asked. Of an acquire, a nonce; of a renewal, both; of a release, a token and the last time
  // used.
  std::string nonce;
  uint64_t token = 0;
  absl::Time last_used = absl::InfiniteFuture();
  // Answered: OK, or ABORTED.
  absl::StatusCode code = absl::StatusCode::kOk;
  WorkerGrant grant;                   // of an acquire or a renewal
  std::optional<WorkerRecord> record;  // of a show; none: never granted
  absl::Time now;                      // of a show
};

// One worker ID of a store that never loses anything, as a sequential object. The effect of a call
// without an answer is known only in part: token and ceiling are then lower bounds until another
// call shows them.
struct LeaseModel {
  using Operation = LeaseOperation;
  struct State {
    std::string nonce;
    uint64_t token = 0;
    absl::Time floor = absl::InfinitePast();
    absl::Time ceiling = absl::InfinitePast();
    absl::Time now = absl::InfinitePast();  // the store's time is not before it
    bool token_known = true;                // and the floor
    bool ceiling_known = true;
  };

  static bool Step(State& state, const Operation& operation, bool answered);
  static std::string Key(const State& state);
  static bool Same(const Operation& one, const Operation& other);
};

using LeaseHistory = std::vector<Call<LeaseOperation>>;

// For a message: the call that could not be placed, and the last ones before it.
std::string Told(const LeaseHistory& history, const Report& report);

}  // namespace locus::linear

#endif  // LOCUS_APPS_PROOF_LINEAR_LEASE_MODEL_H_
