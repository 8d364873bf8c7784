// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_MACHINE_SIMULATION_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_MACHINE_SIMULATION_H_

#include <cstdint>
#include <string>

#include "tests/cluster/machine/cluster_simulation.h"

namespace locus::cluster_machine {

struct Covered : ClusterCovered {
  uint64_t granted = 0, renewed = 0, released = 0, expired = 0, refused = 0, unhealthy = 0;
  uint64_t forged = 0;  // requests without the nonce, or with a token that was never granted
  uint64_t shows = 0, ids = 0, late_ids = 0;  // made by a holder that had lost its lease
  uint64_t steady = 0;                        // runs in which no lease may end before its time
  uint64_t calls = 0;                         // in histories that were checked
};

// One run: one, three or five nodes, and holders that renew, release, crash, are paused beyond
// their ttl, send again, and keep making IDs up to the ceiling that they know. Returns the first
// violation; empty: none.
//   - the times of IDs under one token all lie below those under the next one of the worker ID
//   - by machine time, a worker ID never has two holders; no lease that ended is renewed
//   - a request is granted once, and gets that answer however often it is sent; an ABORTED request
//     stays so
//   - all nodes are equal after each entry
//   - the history of each worker ID, as clients saw it, is linearizable
//   - in steady runs, whatever the nodes' wall clocks do: no lease ends before its time
std::string Simulate(uint64_t seed, const Flaws& flaws, Covered& covered);

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_MACHINE_SIMULATION_H_
