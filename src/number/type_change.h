// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_TYPE_CHANGE_H_
#define LOCUS_SRC_NUMBER_TYPE_CHANGE_H_

#include "absl/status/status.h"
#include "locus/sequence_type.h"

namespace locus::internal {

// OK: no number that is written by `after` was written by `before`, of the same counters, as
// SequenceTypeStore says. FAILED_PRECONDITION: it may have been; the message says why. Requires
// Check() of `after`; the periods are the same. A pattern of `before` that this build cannot read
// may have written anything.
absl::Status CheckRepeatsNothing(const SequenceType& before, const SequenceType& after);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_TYPE_CHANGE_H_
