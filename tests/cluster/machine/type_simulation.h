// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_TYPE_SIMULATION_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_TYPE_SIMULATION_H_

#include <cstdint>
#include <string>

#include "tests/cluster/machine/cluster_simulation.h"

namespace locus::cluster_machine {

struct TypesCovered : ClusterCovered {
  uint64_t created = 0, altered = 0, dropped = 0, refused = 0, reads = 0;  // answered
};

// One run: one, three or five nodes, and clients that create, alter, drop and read sequence types,
// send again, give up, crash and begin another session. Returns the first violation; empty: none.
//   - the history of each type, as clients saw it, is linearizable: a client that reads after an
//     alteration was acknowledged, or read by another client, sees it or a later one, so no client
//     continues with an older version; a version is altered or dropped once
//   - a change is made once, and gets that answer however often it is sent
//   - all nodes are equal after each entry
std::string SimulateTypes(uint64_t seed, const Flaws& flaws, TypesCovered& covered);

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_TYPE_SIMULATION_H_
