// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_REDIS_CEILING_SIMULATION_H_
#define LOCUS_TESTS_ENGINE_REDIS_CEILING_SIMULATION_H_

#include <cstdint>
#include <string>

namespace locus {

// The flaw of a simulated run, to show that the invariants would notice it.
enum class CeilingFault {
  kNone,
  kRaiseAfterUse,       // Redis passes the ceiling, which is raised afterwards
  kTrustAfterFailover,  // what is held counts on whichever master
  kReadThenWriteRaise,  // a raise reads the ceiling and then writes it, without a compare
  kInstallIntoAnyLife,  // a block that was drawn before a loss begins the life after it
  kInstallOverwrites,   // the last block to arrive is the one in use
  kInstallAgain,        // a block whose answer got lost is installed once more
  kTermOfConnection,    // the term is asked for when a connection is made, not in each script
};

// Runs one seed: processes that share one key on two Redis servers and one durable sequencer. The
// simulation owns the network and the servers: messages are delayed, reordered, lost, executed
// after the asker gave up; a replica lags, takes over, loses the role again; a master keeps serving
// beside its successor for a while; servers restart empty or from an old dump, and are flushed. No
// number may be given out twice; while there is one master at a time, each must be above all given
// out before. Returns the violation; empty: none.
std::string SimulateCeiling(uint64_t seed, CeilingFault fault);

// How much the runs so far have covered.
struct CeilingCoverage {
  uint64_t numbers = 0;
  uint64_t blocks = 0;
  uint64_t lives = 0;
  uint64_t late_blocks = 0;      // refused, since another came before or the life was over
  uint64_t late_executions = 0;  // of requests that had been given up
  uint64_t failovers = 0;
  uint64_t splits = 0;  // of them, with the old master going on
  uint64_t restarts = 0;
  uint64_t flushes = 0;
};
const CeilingCoverage& CoverageOfCeilings();

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_REDIS_CEILING_SIMULATION_H_
