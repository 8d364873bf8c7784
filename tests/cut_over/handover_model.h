// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_
#define LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_

#include <cstdint>
#include <string>

namespace locus {

// A model of a move: two shards, two appliers, a copier, writers that go to either shard as if
// their tables were of any age, and coordinators that read both fence rows one after the other and
// act on what they read, however old, or never again. Every order of all their actions is visited.
// What is decided is decided by the functions of the product: JudgeFence, SituationOf and its
// steps, JudgeIncoming and the versions of triggers.

// What a protocol without one of its rules would do.
enum class Mutant {
  kNone,
  kFenceReadWithoutLock,     // the fence changes while a writer that read it has not committed
  kRefusedWithoutCondition,  // a step is taken back without WHERE step = n - 1
  kTokenWithoutStep,         // the recipient obeys a token of any age
  kCopyBeforePosition,       // the stream begins where the log stood after the first copied row
  kNewestWins,               // the copy and the stream write whatever comes, by arrival
  kReplaceByOne,             // REPLACE gets the version after the row's, as the tombstone does
  kAppliedTwiceBlindly,  // a change is counted, not compared: version + 1 each time it is applied
};

struct ModelLimits {
  int writes = 3;     // of all writers together
  int handovers = 2;  // steps begun; each may be taken back
};

struct ModelResult {
  uint64_t states = 0;
  std::string violation;  // empty: none; otherwise the rule broken and the actions that led there
};

// Visits every reachable state.
ModelResult Explore(Mutant mutant, const ModelLimits& limits);

}  // namespace locus

#endif  // LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_
