// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_VERDICT_H_
#define LOCUS_APPS_PROOF_LEASE_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace locus::proof {

// The flaws in the clients' records, and the amount that was checked.
struct Verdict {
  uint64_t ids = 0;
  uint64_t leases = 0;
  uint64_t calls = 0;        // in the histories
  uint64_t stale_reads = 0;  // histories that were spoilt by one, all of which were found
  uint64_t torn = 0;         // nodes that died of a torn write
  uint64_t failures = 0;     // nodes that ended because of their disks
  std::vector<std::string> wrong;
};
// Each ID and each lease (Invariant). `outs`: of all clients that must not share IDs.
void JudgeIds(const std::vector<std::string>& outs, Verdict& verdict);
// The histories of calls. `outs`: of all clients of a cluster.
void JudgeHistories(const std::vector<std::string>& outs, uint64_t seed, Verdict& verdict);

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_VERDICT_H_
