// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_GENERATOR_GENERATOR_SIMULATION_H_
#define LOCUS_TESTS_GENERATOR_GENERATOR_SIMULATION_H_

#include <cstdint>
#include <string>

namespace locus {

// A fault of a simulated run, to show that the invariants would notice.
enum class Fault {
  kNone,
  kTakeNextByPlainStore,  // a caller takes the next segment by a plain store, not by CAS
  kRateAcrossSwap,        // the rate counts what the floor jumped over
  kForgetBase,            // the store notices a loss but does not keep the raised base
  kGiveBack,              // a generator returns the unused tail of its segment
};

// Runs one seed: a few generators with two callers each on one store. The simulation owns time,
// network and store: messages are delayed, reordered, lost, answered after the asker gave up;
// processes crash; clocks jump and differ; the store fails, is rewound (noticed or silently),
// created anew, declared restored. After every event the invariants of DESIGN §3 are checked.
// Returns what was violated; empty: nothing.
std::string Simulate(uint64_t seed, Fault fault);

// How much the runs so far have covered, so that a test can detect a simulation that does nothing.
struct SimulationCoverage {
  uint64_t ids = 0;
  uint64_t allocations = 0;
  uint64_t late_answers = 0;  // granted after the asker gave up
  uint64_t losses_noticed = 0;
  uint64_t silent_rewinds = 0;
  uint64_t uncovered_segments = 0;
  uint64_t crashes = 0;
  uint64_t refused_clocks = 0;
  uint64_t segments_dropped = 0;
};
const SimulationCoverage& Coverage();

}  // namespace locus

#endif  // LOCUS_TESTS_GENERATOR_GENERATOR_SIMULATION_H_
