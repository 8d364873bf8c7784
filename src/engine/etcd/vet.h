// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_VET_H_
#define LOCUS_SRC_ENGINE_ETCD_VET_H_

#include "absl/status/statusor.h"
#include "src/engine/etcd/allocation_plan.h"
#include "src/engine/etcd/connection.h"

namespace locus::etcd {

// Whether `answer`, with which `record` came, is of the cluster that the record was written to:
// kSound or kLost, never kUnclear. Asks the member for its status if needed. UNAVAILABLE: another
// member answered that request.
absl::StatusOr<Soundness> Vet(Connection& connection, const Life& record, const TxnAnswer& answer,
                              Memory& memory, TimePoint deadline);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_VET_H_
