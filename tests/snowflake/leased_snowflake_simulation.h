// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SNOWFLAKE_LEASED_SNOWFLAKE_SIMULATION_H_
#define LOCUS_TESTS_SNOWFLAKE_LEASED_SNOWFLAKE_SIMULATION_H_

#include <cstdint>
#include <string>

namespace locus {

// A fault of a simulated run, to show that the invariants would notice.
enum class LeaseFault {
  kNone,
  // In the holder.
  kUseBeforeStored,     // raises the generator's ceiling when a renewal is sent
  kReleaseBeforeClose,  // gives the ID back, then closes the generator
  kFloorIgnored,        // the generator begins wherever its clock is
  kLateAnswerRevives,   // an answer after the deadline makes a lost lease a held one
  kDeadlineFromAnswer,  // the deadline counts from when the answer came
  kLossNotRemembered,   // a loss that the store reports is reported to the program at every look
  // In the store.
  kExtendAnyToken,   // renews without comparing tokens
  kReleaseAnyToken,  // releases without comparing tokens
  kTakeAfterTtl,     // an ID is free once its ttl is over, whatever its ceiling
};
inline constexpr LeaseFault kLastLeaseFault = LeaseFault::kTakeAfterTtl;

// Runs one seed: processes take worker IDs of one store, make IDs by the real word and policy, and
// renew by the real decisions (src/worker/renewal.h); the store decides by the real rules
// (src/worker/worker_rules.h). The simulation owns time and network. Messages are delayed,
// reordered and lost in both directions; clocks drift and are set by up to an hour; processes are
// stopped beyond their ttl, also between the reading of the clock and the use of an ID; they crash,
// release and start again; the store restarts, and in some runs it is put back to an older state or
// forgets everything, with or without noticing. Calm times, in which everything works, come in
// between. Checked:
//
//   the times of a worker ID under one grant all lie below those under the next one, so that no
//   (worker, time, sequence) repeats; excepted are grants that a store made after it was put back
//   and before it noticed
//   an ID's time is above the floor and at most the stored ceiling
//   while a holder's deadline has not passed no other holder is granted its ID, as long as the
//   store keeps its state and its clock makes no step longer than WorkerLease::kLargestStep
//   a process learns of a loss once, and nothing is made afterwards
//   no lease is lost while everything works
//
// Returns what was violated; empty: nothing.
std::string SimulateLeases(uint64_t seed, LeaseFault fault);

// How much the runs so far have covered, so that a test can detect a simulation that does nothing.
struct LeaseCoverage {
  uint64_t ids = 0;
  uint64_t grants = 0;
  uint64_t handovers = 0;  // grants of an ID that another process had before
  uint64_t repeated = 0;   // acquires that found the ID that a lost answer had granted
  uint64_t renewals = 0;   // that were answered in time
  uint64_t late_answers = 0;
  uint64_t expired = 0;  // losses by the deadline
  uint64_t aborted = 0;  // losses reported by the store
  uint64_t releases = 0;
  uint64_t late_ids = 0;  // IDs made while another process had the worker
  uint64_t calm = 0;      // renewals in calm times
  uint64_t rewinds = 0;   // the store was put back to an older state, or forgot everything
  uint64_t noticed = 0;   // of these, the losses that a renewal showed
  uint64_t excepted = 0;  // IDs that repeat or do not rise, because the store had not noticed
};
const LeaseCoverage& LeasesCovered();

}  // namespace locus

#endif  // LOCUS_TESTS_SNOWFLAKE_LEASED_SNOWFLAKE_SIMULATION_H_
