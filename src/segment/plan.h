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

// The one place where an allocation is decided. An engine of SegmentStore reads the stored state,
// calls these functions, and writes their results, all in one transaction. Everything here is pure:
// no I/O, no clock.
//
// How this room works together. On the store's side, an engine decides each allocation with Plan,
// by the arithmetic of rules.h. On the generator's side, OrderIdGenerator hands its slow calls to
// its Rep (generator_rep.h). Counters (counters.h) are the words from which callers take sequences.
// For each store a StoreChain calls the store off the callers' threads; its SegmentLoader decides,
// by loading_rules.h, which sections ask for how much and when, and publishes the granted segments
// in the counters. SegmentStoreSet decides which store allocates for which section.

namespace locus::segment {

// The state of a space that every engine stores, possibly with more.
struct Space {
  SpaceOptions options;
  uint64_t base = 0;    // no allocation starts below it; it never falls
  uint64_t losses = 0;  // how often a loss raised base, the space's creation included
};

// Raises base above everything that was allocated before `now`, and to `at_least` or more.
void NoteLoss(Space& space, absl::Time now, uint64_t at_least = 0);

// The checks of an allocation that need no clock of the store. FAILED_PRECONDITION: the store's
// options differ from the caller's, so the space was created again. INVALID_ARGUMENT: an impossible
// section or length.
absl::Status Admit(const SpaceName& name, const SpaceOptions& stored, const SpaceOptions& callers,
                   std::span<const SegmentRequest> requests);

// The input of a decision.
struct State {
  Space space;
  // The stored heads of the requested sections, in the order of the requests. 0: the section has
  // never allocated.
  std::vector<uint64_t> heads;
  // The store's identity is not the one that was recorded with the space.
  bool identity_changed = false;
  // The store may have been put back from a copy, but the sign of it also has harmless causes. Base
  // is raised as after a loss; it counts as a loss only if a request shows that allocations are
  // missing.
  bool maybe_put_back = false;
};

// What the engine must store and return.
struct Outcome {
  struct Head {
    size_t request = 0;  // index of the request
    uint64_t before = 0;
    uint64_t after = 0;
  };
  SegmentReply reply;
  Space space;               // to be stored if base_raised; otherwise unchanged
  bool base_raised = false;  // by a loss, or because of State::maybe_put_back
  std::vector<Head> heads;   // to be stored, with reply.granted_at; only of granted segments
};

// Decides an allocation: notices a loss, raises base for it, then decides each request. The
// requests were admitted, and the clocks agree.
Outcome Plan(const State& state, std::span<const SegmentRequest> requests, absl::Time now);

// Decides SegmentStore::Raise and changes `space`. INVALID_ARGUMENT: `to` is not a sequence, or too
// far above the floor for `reach`.
absl::StatusOr<BaseRaise> Raise(Space& space, uint64_t to, RaiseReach reach, absl::Time now);

// The result of SegmentStore::Show. `sections` have no lead yet.
SpaceView View(const Space& space, absl::Time now, std::vector<SpaceView::Section> sections);

}  // namespace locus::segment

#endif  // LOCUS_SRC_SEGMENT_PLAN_H_
