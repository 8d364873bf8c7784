// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_STORE_SIMULATION_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_STORE_SIMULATION_H_

#include <cstdint>
#include <string>

#include "tests/cluster/machine/cluster_simulation.h"

namespace locus::cluster_machine {

struct StoreCovered : ClusterCovered {
  uint64_t numbers = 0, segments = 0, sets = 0, put_back = 0;        // answered
  uint64_t granted = 0, taken_over = 0, extended = 0, released = 0;  // sections
  uint64_t drawn = 0;                                                // strict numbers
  uint64_t begun_again = 0;                                          // a counter with a ttl
};

// One run: one, three or five nodes, and clients of counters, of order IDs and of strict sequences
// that send again, give up, crash and begin another session. Empty: nothing went wrong.
//   - each number and each sequence is answered once, and a call that began after another one had
//     ended gets more than that; Set raises, and what was put back may come again
//   - so do the strict numbers of a section, which its owner draws by itself until its deadline,
//     and the tokens of its grants, also where nodes restart and a wrong clock sets the time ahead
//   - a counter with a ttl is begun again, but no number is taken that another client holds: for
//     half of the ttl after it asked, by true time, whatever the cluster's time does
//   - a request is carried out once, and gets that answer however often it is sent
//   - all nodes are equal after each entry
std::string SimulateStore(uint64_t seed, const Flaws& flaws, StoreCovered& covered);

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_STORE_SIMULATION_H_
