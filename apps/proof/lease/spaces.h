// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_SPACES_H_
#define LOCUS_APPS_PROOF_LEASE_SPACES_H_

#include <cstdint>

#include "absl/time/time.h"

namespace locus::proof {

// Values on which a proof and its clients agree.
inline constexpr char kIdSpace[] = "ids";
inline constexpr char kHistorySpace[] = "history";
inline constexpr uint64_t kHistoryWorkers = 5;
// The shortest, so that leases end within a run.
inline constexpr absl::Duration kTtl = absl::Seconds(10);
// The ID of a dead holder rests so much longer. Calls that take longer are refused: a machine that
// runs many of these tests at once is slow.
inline constexpr absl::Duration kMaxSkew = absl::Seconds(2);

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_SPACES_H_
