// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_INVARIANT_H_
#define LOCUS_APPS_PROOF_LEASE_INVARIANT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/proof/lease/records.h"

namespace locus::proof {

// Collects the IDs and the leases of all clients of one space, and says what is wrong with them.
// IDs are of SnowflakeDefaultLayout and kSnowflakeEpoch. For each of them:
//
//   no other ID of any client is equal to it
//   its client was granted its worker, under the token that it says
//   its time is above the floor of that grant, and at most the highest ceiling that the client was
//   answered
//   its time is below all times under later tokens of its worker
//
// And for each worker: two clients never have one token; the floor of a token is at least the
// ceiling of the token before, or what its release lowered that to.
//
// Thread safety: none. Cost: a sort of the runs, some 50 bytes each.
class Invariant {
 public:
  // `client`: of one process, never used for another one.
  void Add(uint32_t client, const std::vector<RecordedCall>& calls, const std::string& space);
  void Add(uint32_t client, std::span<const IdRun> runs);

  // Of all IDs added so far.
  uint64_t ids() const { return ids_; }
  uint64_t leases() const { return leases_.size(); }
  // One line for each thing that is wrong; the first 20.
  std::vector<std::string> Violations() const;

 private:
  static constexpr int64_t kNone = INT64_MIN;
  struct Lease {
    uint32_t client = 0;
    int64_t floor = 0;                // milliseconds since 1970
    int64_t ceiling = 0;              // the highest that was answered
    std::optional<int64_t> released;  // asked for, whatever was answered; the last time used
  };
  struct Run {
    IdRun run;
    uint32_t client = 0;
  };
  using Key = std::pair<uint64_t, uint64_t>;  // worker, token
  class Findings;

  void CheckLeases(Findings& findings) const;
  void CheckRepetitions(const std::vector<Run>& sorted, Findings& findings) const;
  void CheckTimes(const std::vector<Run>& sorted, Findings& findings) const;
  const std::pair<const Key, Lease>* LeaseOf(const Run& run) const;

  uint64_t ids_ = 0;
  std::vector<Run> runs_;
  std::map<Key, Lease> leases_;
  std::vector<std::string> wrong_;  // found when it was added
};

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_INVARIANT_H_
