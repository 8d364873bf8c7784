// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_LEASE_MACHINE_LEASE_MACHINE_SIMULATION_H_
#define LOCUS_TESTS_LEASE_MACHINE_LEASE_MACHINE_SIMULATION_H_

#include <cstdint>
#include <string>

#include "src/lease_machine/flaw.h"
#include "tests/lease_machine/replicas.h"

namespace locus::lease_machine {

struct Covered {
  uint64_t granted = 0, renewed = 0, released = 0, expired = 0, refused = 0, unhealthy = 0;
  uint64_t repeated = 0;   // answers that a request got once more
  uint64_t forgotten = 0;  // requests that were refused because they had been forgotten
  uint64_t shows = 0, ids = 0, late_ids = 0;  // made by a holder that had lost its lease
  uint64_t leaders = 0, crashes = 0, installed = 0, restored = 0, jumps = 0;
  uint64_t steady = 0;  // runs in which no lease may end before its time
  uint64_t calls = 0;   // in histories that were checked
};

// One run: one, three or five nodes, and holders that renew, release, crash, are paused beyond
// their ttl, send again, and go on making IDs up to the ceiling that they know. Empty: nothing went
// wrong.
//   - the times of IDs under one token all lie below those under the next one of the worker ID
//   - by machine time, a worker ID never has two holders; nothing that ended is renewed
//   - a request is granted once, and gets that answer however often it is sent; what is ABORTED
//     stays so
//   - all nodes are equal after each entry
//   - what clients saw of each worker ID is linearizable
//   - in steady runs, whatever the nodes' wall clocks do: no lease ends before its time
std::string Simulate(uint64_t seed, Flaw machine_flaw, ShellFlaw shell_flaw, Covered& covered);

}  // namespace locus::lease_machine

#endif  // LOCUS_TESTS_LEASE_MACHINE_LEASE_MACHINE_SIMULATION_H_
