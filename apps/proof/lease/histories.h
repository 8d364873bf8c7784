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

// Of all workers that any call may be about. What was refused without a look at the worker is left
// out; what got no answer may have been carried out at any time after it was called, also after
// the call has returned; and so may each request of a renewal that got none. An acquire without an
// answer whose nonce nobody ever saw at a worker counts there only if something shows that there
// was one: a token of nobody, or a release that was refused. Which one it was cannot be told, so
// they share a nonce.
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
