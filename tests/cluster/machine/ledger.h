// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_LEDGER_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/cluster/machine/command.h"

namespace locus::cluster_machine {

// Believes the facts and nothing else, and says which of them cannot be; and whether IDs repeat.
// One space.
class Ledger {
 public:
  // `steady`: leases never end before their time, by true time.
  explicit Ledger(bool steady) : steady_(steady) {}

  // `proposed`: of the fact's command, the true time in ms. Empty: it can be.
  std::string Note(const Fact& fact, int64_t proposed);
  // Call it for an ID of this time made under this token. Empty: all times of IDs under one token
  // are below those under the next one.
  std::string Use(uint64_t worker, uint64_t token, absl::Time time);

 private:
  struct Lease {
    uint64_t token = 0;
    absl::Time ceiling = absl::InfinitePast();  // no other holder gets the ID before it has passed
    bool held = false;
    bool unhealthy = false;
    absl::Time raised_at;        // by the machine
    int64_t raised_at_true = 0;  // when that was proposed
  };
  struct Span {
    absl::Time first = absl::InfiniteFuture();
    absl::Time last = absl::InfinitePast();
  };

  std::string NoteExpiry(const Fact& fact, int64_t proposed, Lease& lease);

  const bool steady_;
  absl::Time now_ = absl::InfinitePast();
  std::map<uint64_t, Lease> leases_;
  std::map<uint64_t, std::map<uint64_t, Span>> uses_;  // by worker, by token
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_LEDGER_H_
