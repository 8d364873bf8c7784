// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/vet.h"

#include "src/base/os/check.h"

namespace locus::etcd {

absl::StatusOr<Soundness> Vet(Connection& connection, const Life& record, const TxnAnswer& answer,
                              Memory& memory, TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection.Now(deadline));
  Soundness soundness = Judge(record, answer.header, answer.origin.link, *answer.origin.greeting,
                              now.earliest, memory);
  if (soundness != Soundness::kUnclear) return soundness;
  LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection.Status(deadline));
  soundness = JudgeAgain(record, answer.header, answer.origin.link, status, now.earliest, memory);
  if (soundness != Soundness::kUnclear) return soundness;
  return absl::UnavailableError(connection.place() +
                                ": another member answered during the check for a restore");
}

}  // namespace locus::etcd
