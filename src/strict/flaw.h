// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_FLAW_H_
#define LOCUS_SRC_STRICT_FLAW_H_

#include <cstdint>

// Mistakes in the ownership of sections. The simulation makes each of them, to show that it
// notices. Rules and sections are templates over a type that names their flaw. All other code uses
// NoFlaw, which is known at compile time.

namespace locus::strict {

enum class Flaw : uint8_t {
  kNone,
  // Of the owner.
  kNoDeadlineCheck,     // numbers are answered past the deadline
  kCheckBeforeAdvance,  // the deadline is checked before the number is taken
  kGrantNotCompared,    // a number taken under an earlier grant is answered under a later one
  kAbandonedGrantUsed,  // the late answer to a take that was given up and sent again is used
  kReleaseBeforeClose,  // a hand-over is stored while the owner still answers
  kUseBeforeStored,     // numbers are used before the raise that covers them was answered
  kDeadlineFromAnswer,  // the deadline counts from the answer, not from the request
  kNoDriftAllowance,    // the owner's clock is assumed to run exactly as the store's
  kLetGoStartsLow,      // keys whose memory was freed begin where the section was granted
  kLetGoWhileOpen,      // memory is freed under calls that are under way
  kLetGoAfterUse,  // the raise is used before the memory is freed, although it must be above all
                   // freed numbers
  // Of the store.
  kAnyTokenExtends,           // an ownership is renewed, and max_seq raised, under any token
  kEndedOwnershipRenewed,     // the same, as long as the token is the owner's
  kTakenBeforeItsEnd,         // a successor does not wait
  kEndedByTheLatest,          // it waits until the ownership may have ended, not until it must have
  kOwnershipFromTheEarliest,  // an ownership ends a ttl after the earliest possible time of the
                              // call
  kStartBelowMaxSeq,          // the successor begins at numbers that the owner may still use
  kGrantStoresNoRaise,        // the first step is used without being stored
  kGivenUpBeforeItsEnd,       // an owner is forgotten before its ownership has ended
  kRaiseLowers,               // max_seq becomes the requested value, even if that is lower
  kNoRestAfterLoss,           // sections are granted at once
  kNoMarginAfterLoss,         // max_seq stays the value that the store remembers
};

struct NoFlaw {
  static constexpr bool Has(Flaw) { return false; }
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_FLAW_H_
