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

// One run: one, three or five nodes, and clients that create, alter, drop and read types of
// sequences, send again, give up, crash and begin another session. Empty: nothing went wrong.
//   - what clients saw of each type is linearizable: who reads after an alteration was
//     acknowledged, or after somebody read it, sees it or a later one, so that nobody goes on by an
//     older type; a version is altered or dropped once
//   - a change is made once, and gets that answer however often it is sent
//   - all nodes are equal after each entry
std::string SimulateTypes(uint64_t seed, const Flaws& flaws, TypesCovered& covered);

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_TYPE_SIMULATION_H_
