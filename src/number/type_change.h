// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_TYPE_CHANGE_H_
#define LOCUS_SRC_NUMBER_TYPE_CHANGE_H_

#include "absl/status/status.h"
#include "locus/sequence_type.h"

namespace locus::internal {

// OK: with the same counters, `after` writes no number that `before` wrote, as SequenceTypeStore
// requires. FAILED_PRECONDITION: it may; the message says why. Requires Check() of `after`; the
// periods are the same. A pattern of `before` that this build cannot read may have written
// anything.
absl::Status CheckRepeatsNothing(const SequenceType& before, const SequenceType& after);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_TYPE_CHANGE_H_
