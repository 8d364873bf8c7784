// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_FLAW_H_
#define LOCUS_SRC_STRICT_FLAW_H_

#include <cstdint>

// Mistakes in the ownership of sections. The simulation makes each of them, to show that it
// notices. Rules and sections are templates of a type that says which flaw they have: NoFlaw, known
// at compile time, everywhere else.

namespace locus::strict {

enum class Flaw : uint8_t {
  kNone,
  // Of the owner.
  kNoDeadlineCheck,     // numbers are answered past the deadline
  kCheckBeforeAdvance,  // the deadline is looked at, and the number taken afterwards
  kGrantNotCompared,    // a number taken under an earlier grant is answered under a later one
  kAbandonedGrantUsed,  // the late answer to a take that was given up, and sent again, counts
  kReleaseBeforeClose,  // a hand-over is stored while the owner still answers
  kUseBeforeStored,     // numbers are used before the raise that covers them was answered
  kDeadlineFromAnswer,  // counted from when the answer came, not from when it was asked for
  kNoDriftAllowance,    // the owner's clock is taken to run as the store's does
  kLetGoStartsLow,      // keys whose memory was let go begin where the section was granted
  kLetGoWhileOpen,      // memory is let go under calls that are under way
  kLetGoAfterUse,       // the raise is used before the memory is let go, which it is to be above
  // Of the store.
  kAnyTokenExtends,           // a lease is renewed, and max_seq raised, whatever the token
  kEndedOwnershipRenewed,     // as long as the token is the owner's
  kTakenBeforeItsEnd,         // a successor does not wait
  kEndedByTheLatest,          // it waits until the lease may have ended, not until it must have
  kOwnershipFromTheEarliest,  // a lease ends a ttl after the earliest time that it may be
  kStartBelowMaxSeq,          // the successor begins where the owner may still be
  kGrantStoresNoRaise,        // the first step is used without being stored
  kGivenUpBeforeItsEnd,       // the owner of a lease that has not ended is forgotten
  kRaiseLowers,               // max_seq is what was asked for, also when that is lower
  kNoRestAfterLoss,           // sections are granted at once
  kNoMarginAfterLoss,         // max_seq stays what the store remembers
};

struct NoFlaw {
  static constexpr bool Has(Flaw) { return false; }
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_FLAW_H_
