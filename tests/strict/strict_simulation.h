// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STRICT_STRICT_SIMULATION_H_
#define LOCUS_TESTS_STRICT_STRICT_SIMULATION_H_

#include <cstdint>

#include "apps/proof/strict/history.h"
#include "src/strict/flaw.h"

namespace locus::strict {

struct SimulationPlan {
  Flaw flaw = Flaw::kNone;
  // How far clocks run from true time at most. Owners' and the store's.
  double drift = 1e-3;
  // The store is put back to an older state, and its identity does not show it.
  bool silent_rewinds = false;
};

// Runs one seed: three owners of one name each that share two sections of one store, and callers
// that ask any of them. The simulation owns time, network, clocks and the store: messages are
// delayed, lost, executed after the asker gave up; owners are killed, cut off, and paused between
// any two steps of a call, also beyond the end of their ownership; the store stalls, its clock is
// set forward by 1 s within a ttl and back by any time, and it is put back to an older state under
// another identity; sections are handed over, and their memory is freed, while calls are under way.
Flaws SimulateStrict(uint64_t seed, const SimulationPlan& plan);

// How much the runs so far have covered.
struct StrictCoverage {
  uint64_t numbers = 0;
  uint64_t takes = 0;
  uint64_t takes_of_ended = 0;  // from an owner that had not given the section up
  uint64_t given_up = 0;        // ended ownerships, by the store
  uint64_t hand_overs = 0;
  uint64_t raises = 0;
  uint64_t let_go = 0;  // memory of the keys of a section
  uint64_t lost = 0;    // owners that learned of it
  uint64_t late = 0;    // numbers that were taken and not answered, because the ownership had ended
  uint64_t kills = 0;
  uint64_t pauses = 0;  // longer than a ttl
  uint64_t cuts = 0;
  uint64_t stalls = 0;  // of the store
  uint64_t rewinds = 0;
};
const StrictCoverage& CoverageOfStrict();

}  // namespace locus::strict

#endif  // LOCUS_TESTS_STRICT_STRICT_SIMULATION_H_
