// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_PLAN_H_
#define LOCUS_SRC_SEGMENT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"

// The one place where an allocation is decided. An engine of SegmentStore reads what it stores,
// calls these functions, and writes what they answer, all in one transaction. Everything here is
// pure: no I/O, no clock.

namespace locus::segment {

// What every engine stores of a space, whatever else it stores with it.
struct Space {
  SpaceOptions options;
  uint64_t base = 0;    // no allocation starts below it; it never falls
  uint64_t losses = 0;  // how often a loss raised base, the space's creation included
};

// Raises base above everything that was allocated before `now`, and to `at_least` or more.
void NoteLoss(Space& space, absl::Time now, uint64_t at_least = 0);

// Checks what an allocation can be refused for before the store's clock is read.
// FAILED_PRECONDITION: the store's options differ from the caller's, so the space was created
// again. INVALID_ARGUMENT: a section or length that cannot be.
absl::Status Admit(const SpaceName& name, const SpaceOptions& stored, const SpaceOptions& callers,
                   std::span<const SegmentRequest> requests);

// What an allocation is decided from.
struct State {
  Space space;
  // The stored heads of the sections that are asked for, in the order of the requests. 0: the
  // section has never allocated.
  std::vector<uint64_t> heads;
  // The store's identity is not the one that was recorded with the space.
  bool identity_changed = false;
  // The store may have been put back from a copy, but what shows it has harmless causes too. Base
  // is raised as after a loss; it counts as one only if a request shows that allocates are missing.
  bool maybe_put_back = false;
};

// What the engine has to store and to answer.
struct Outcome {
  struct Head {
    size_t request = 0;  // index of the request
    uint64_t before = 0;
    uint64_t after = 0;
  };
  SegmentReply reply;
  Space space;               // to be stored if base_raised; otherwise as it was
  bool base_raised = false;  // by a loss, or because of State::maybe_put_back
  std::vector<Head> heads;   // to be stored, with reply.granted_at; only of granted segments
};

// Decides an allocation: notices a loss, raises base for it, then decides each request. The
// requests were admitted, and the clocks agree.
Outcome Plan(const State& state, std::span<const SegmentRequest> requests, absl::Time now);

// Decides SegmentStore::Raise and changes `space`. INVALID_ARGUMENT: `to` is no sequence, or too
// far above the floor for `reach`.
absl::StatusOr<BaseRaise> Raise(Space& space, uint64_t to, RaiseReach reach, absl::Time now);

// What SegmentStore::Show answers. `sections` have no lead yet.
SpaceView View(const Space& space, absl::Time now, std::vector<SpaceView::Section> sections);

}  // namespace locus::segment

#endif  // LOCUS_SRC_SEGMENT_PLAN_H_
