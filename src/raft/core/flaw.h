// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_CORE_FLAW_H_
#define LOCUS_SRC_RAFT_CORE_FLAW_H_

#include <cstdint>

#include "src/base/os/check.h"

// Mistakes that implementations of Raft have shipped, or could. Tests build the core once more with
// LOCUS_RAFT_FLAWS and make each of them, to show that the simulation notices. Elsewhere Has is
// false at compile time.

namespace locus::raft {

enum class Flaw : uint8_t {
  kNone,
  kVoteClearedAtStepDown,       // also within the term
  kEarlierTermsCountedByIndex,  // entries of earlier terms are committed by counting
  kQuorumOfOldMembers,          // until the new ones are committed
  kMembersKeptAtTruncation,     // not rolled back with the log
  kOldSnapshotInstalled,        // also one that is older than what was applied
  kSnapshotDropsTheLog,         // also entries behind it that were acknowledged
  kReadsWithoutMajority,        // a deposed leader serves them
  kPreVoteCounted,              // as a vote
  kMembersBeforeOwnEntry,       // change although nothing of the leader's term is committed
  kTwoChangesOfMembers,         // change although the change before is not committed
  kVoteForShorterLog,           // granted whatever the candidate's log is
  kOwnEntriesCountedEarly,      // a leader counts itself before its write is durable
};

#ifdef LOCUS_RAFT_FLAWS
inline thread_local Flaw flaw = Flaw::kNone;
inline bool Has(Flaw one) { return flaw == one; }
// A flawed core contradicts itself; the simulation continues.
struct Contradiction {
  const char* what;
};
#define LOCUS_RAFT_CHECK(condition)                                   \
  do {                                                                \
    if (!(condition)) throw ::locus::raft::Contradiction{#condition}; \
  } while (false)
#else
constexpr bool Has(Flaw) { return false; }
#define LOCUS_RAFT_CHECK(condition) LOCUS_CHECK(condition)
#endif

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_CORE_FLAW_H_
