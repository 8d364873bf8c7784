// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_HISTORIES_H_
#define LOCUS_APPS_PROOF_LEASE_HISTORIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/proof/lease/records.h"
#include "apps/proof/linear/lease_model.h"

namespace locus::proof {

// By worker ID, what all clients called and saw of it in one space.
using Histories = std::map<uint64_t, linear::LeaseHistory>;

// The histories of all workers that any call may concern. Calls that were refused without reading
// the worker are left out. A call without an answer may have been carried out at any time after it
// was called, even after it has returned; the same holds for each request of a renewal without an
// answer. An acquire without an answer whose nonce was never seen at a worker counts there only if
// there is evidence of one: a token without a known holder, or a refused release. It is unknown
// which acquire it was, so they share a nonce.
Histories HistoriesOf(const std::vector<RecordedCall>& calls, const std::string& space);

// One line for each worker whose history is not linearizable, or not known to be.
std::vector<std::string> NotLinearizable(const Histories& histories);

// A copy in which one view shows what an earlier view had shown of the worker, before a grant that
// had been answered when the call began: a stale read. nullopt: there is no view after a change.
// Which one of them: by `choice`.
std::optional<linear::LeaseHistory> WithStaleRead(const linear::LeaseHistory& history,
                                                  uint64_t choice);

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_HISTORIES_H_
