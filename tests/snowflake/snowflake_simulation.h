// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SNOWFLAKE_SNOWFLAKE_SIMULATION_H_
#define LOCUS_TESTS_SNOWFLAKE_SNOWFLAKE_SIMULATION_H_

#include <cstdint>
#include <string>

namespace locus {

// A fault of a simulated run, to show that the invariants would notice.
enum class SnowflakeFault {
  kNone,
  // In the policy.
  kGoOnFromNow,        // after the clock was set back, continues from its time
  kNeverRefuse,        // continues from the last time however far the clock was set back
  kWaitAtOnce,         // waits for the clock where it may continue
  kNoCarry,            // a used-up millisecond starts over with sequence 0
  kCarryAhead,         // a used-up millisecond continues in the next one before that has come
  kRunPastTheEnd,      // a run takes what was asked for, not what the millisecond has left
  kIgnoreCeiling,      // no compare with the ceiling
  kAwaitAboveCeiling,  // waits for a millisecond that is above the ceiling
  kTimePastItsField,   // continues when the bits of time are used up
  // In the word.
  kClockBeforeWord,  // reads the clock, then the word
  kPlainStore,       // takes slots by a store, not by CAS
  // In what uses it.
  kFloorNotTaken,      // begins at its floor, not after it
  kLowerBeforeClose,   // a release lowers the stored ceiling, then closes the word
  kRaiseBeforeStored,  // a renewal raises the ceiling, then stores it
};
inline constexpr SnowflakeFault kLastSnowflakeFault = SnowflakeFault::kRaiseBeforeStored;
const char* NameOf(SnowflakeFault fault);

// Runs one seed: processes that make IDs as two workers, by the real word and policy. The
// simulation owns time and the stored leases. Whenever a caller reads the clock, before and after
// the reading, and while it sleeps, others act: threads of the same process and other processes
// make IDs, time passes, clocks are set, leases are renewed (some answers are lost), released,
// expire and go to new processes, while old ones continue as if nothing had happened. Checked of
// every call:
//
//   its answer is what a naive twin says of the word it read and of its reading of the clock
//   no ID of a worker repeats, even across processes; IDs of a process rise
//   an ID's time is above the floor, at most the stored ceiling, and never ahead of all readings
//   nothing is made after Close, and Close returns the last time used
//
// Returns what was violated; empty: nothing.
std::string SimulateSnowflakes(uint64_t seed, SnowflakeFault fault);

// How much the runs so far have covered, so that a test can detect a simulation that does nothing.
struct SnowflakeCoverage {
  uint64_t ids = 0;
  uint64_t disturbed = 0;   // clock readings during which others acted
  uint64_t went_on = 0;     // runs taken while the clock was set back a little
  uint64_t waits = 0;       // sleeps for a millisecond or for a clock that was set back
  uint64_t clock_back = 0;  // calls refused, by what the message would say
  uint64_t above_ceiling = 0;
  uint64_t time_used_up = 0;
  uint64_t closed = 0;
  uint64_t handovers = 0;     // leases granted to the next process
  uint64_t late_holders = 0;  // runs taken by a process whose lease had gone to the next
};
const SnowflakeCoverage& SnowflakesCovered();

}  // namespace locus

#endif  // LOCUS_TESTS_SNOWFLAKE_SNOWFLAKE_SIMULATION_H_
