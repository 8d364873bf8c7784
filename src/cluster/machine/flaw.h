// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_FLAW_H_
#define LOCUS_SRC_CLUSTER_MACHINE_FLAW_H_

#include <cstdint>

// Mistakes that the machine could make. Tests build it once more with LOCUS_CLUSTER_MACHINE_FLAWS
// and make each of them, to show that the simulation notices. Elsewhere Has is false at compile
// time.

namespace locus::cluster_machine {

enum class Flaw : uint8_t {
  kNone,
  kExtendsWithoutToken,     // a renewal of another token extends the lease
  kForgetsAnswers,          // a repeated request is carried out again
  kAnswersNotInSnapshot,    // a restored machine has forgotten them
  kTimeFalls,               // with a command whose time is earlier
  kForgetsCeiling,          // an ID that is granted again begins where the clock is
  kLeaderUsesItsWallClock,  // from its first command on
  kFollowsLateCommands,     // a clock is set back by how late its node applies a command
  kOneClockSetsTheTime,     // the leader's own wall clock counts, whatever the others have
  kBeginsWithoutAMajority,  // a new leader, of the others' clocks
  kForgetsSerials,          // an older request of a session is carried out after a later one
  kForgetsRefusals,         // of changes that found something else than they named
  kBelievesEveryClaim,      // of renewals and releases
  kLeapsCount,              // a leap of the time is time that has passed
  // Of sequence types.
  kChangesTypesOfAnyVersion,
  kTypesNotInSnapshot,
};

#ifdef LOCUS_CLUSTER_MACHINE_FLAWS
inline thread_local Flaw flaw = Flaw::kNone;
inline bool Has(Flaw one) { return flaw == one; }
#else
constexpr bool Has(Flaw) { return false; }
#endif

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_FLAW_H_
