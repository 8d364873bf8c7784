// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_
#define LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_

#include <cstdint>
#include <string>

namespace locus {

// A model of a move: two shards, two appliers, a copier, writers that go to either shard as if
// their tables were of any age, and coordinators that read both fence rows one after the other and
// act on what they read, however old, or never again. A replica of either shard may fall behind at
// any moment, and be promoted at any later one. Every order of all their actions is visited. What
// is decided is decided by the functions of the product: JudgeFence, SituationOf and its steps,
// JudgeIncoming and the versions of triggers.

// What a protocol without one of its rules would do.
enum class Mutant {
  kNone,
  kFenceReadWithoutLock,     // the fence changes while a writer that read it has not committed
  kTokenBeforeDrain,         // the token is written while writers are under way, the fence later
  kPositionReadEarly,        // no token: the target opens at a position that was read before
  kRefusedWithoutCondition,  // a step is taken back without WHERE step = n - 1
  kTokenWithoutStep,         // the recipient obeys a token of any age
  kCopyBeforePosition,       // the stream begins where the log stood after the first copied row
  kNewestWins,               // the copy and the stream write every row, by arrival
  kReplaceByOne,             // REPLACE gets the version after the row's, as the tombstone does
  kPostsLow,                 // deletions do not raise their posts: no INSERT sees the tombstone
  kAppliedTwiceBlindly,   // a change is counted, not compared: version + 1 each time it is applied
  kCheckpointApart,       // the checkpoint is committed before what it covers
  kNoLoopFilter,          // what the peer's applier wrote is taken for what clients wrote
  kCandidateIgnored,      // the stream applies what a candidate does not have
  kCopyIgnoresCandidate,  // the copy does
  kTakenBackUnconfirmed,  // the donor restores its band before the candidates have the refusal
  kBoundByOldLook,        // a promoted server is bound by a look at the other fence from before
};

struct ModelLimits {
  int writes = 3;      // of all writers together
  int handovers = 2;   // steps begun; each may be taken back
  int promotions = 0;  // 0, or 1: of a replica of either shard
  // Whether that replica is named as a candidate. Otherwise its promotion loses what it lacks, and
  // all that is promised is that no order is accepted twice.
  bool candidate = true;
  bool copied = false;  // all rows were copied before: the stream is all there is
};

struct ModelResult {
  uint64_t states = 0;
  uint64_t promoted = 0;  // of them, behind a promotion
  std::string violation;  // empty: none; otherwise the rule broken and the actions that led there
};

// Visits every reachable state.
ModelResult Explore(Mutant mutant, const ModelLimits& limits);

}  // namespace locus

#endif  // LOCUS_TESTS_CUT_OVER_HANDOVER_MODEL_H_
