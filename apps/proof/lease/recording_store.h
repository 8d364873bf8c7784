// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_RECORDING_STORE_H_
#define LOCUS_APPS_PROOF_LEASE_RECORDING_STORE_H_

#include <memory>

#include "apps/proof/lease/records.h"
#include "locus/engine/locusd.h"

namespace locus::proof {

// Records each call before it is made, and its answer before the caller has it. Create is not
// recorded.
// Thread safety: as WorkerLeaseStore; calls are made one after the other.
std::unique_ptr<WorkerLeaseStore> Recording(std::unique_ptr<LocusdWorkerLeaseStore> store,
                                            std::shared_ptr<CallLog> log);

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_RECORDING_STORE_H_
