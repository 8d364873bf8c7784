// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_HANDOVER_H_
#define LOCUS_MIGRATION_CUT_OVER_HANDOVER_H_

#include <cstdint>
#include <optional>
#include <string>

// How a band of cohorts goes from one shard to the other. All of these are decisions on two fence
// rows; each change of a row is written with WHERE step = <the step that was read>, so that of two
// runners that decide on the same rows only one succeeds. Nothing else is remembered: after a crash
// at any point the rows say what comes next.
//
// With both rows at step n - 1 and the share p, a step to p' is
//
//   1. the donor gives the band up: its own band shrinks, its step becomes n, and it carries a
//   token. The change
//      is a row event in the donor's binary log, behind every write that it allowed.
//   2. the applier of the recipient reaches the token: its band grows and its step becomes n.
//
// or, if 2 does not come in time, the step is taken back:
//
//   2'. the recipient refuses: its step becomes n, its band stays. The token is void from then on.
//   3'. the donor restores its band; its step becomes n + 1.
//   4'. the recipient's step becomes n + 1.

namespace locus::internal {

enum class Side { kSource, kTarget };
constexpr Side Other(Side side) { return side == Side::kSource ? Side::kTarget : Side::kSource; }

// The fence row of a moved range on one shard.
struct BandFence {
  uint32_t own_lo = 0;
  uint32_t own_hi = 0;
  uint64_t step = 0;
  // Where the shard has given a band up: how many cohorts the target shall own, and a random number
  // that no other handover has. 0: the last change gave nothing up.
  uint32_t token_share = 0;
  uint64_t token_nonce = 0;

  friend bool operator==(const BandFence&, const BandFence&) = default;
};

// The cohorts that one side owns where the target has `share` of the `cohorts`: the target owns
// those below it.
BandFence Owned(Side side, uint32_t share, uint32_t cohorts);

// The situation of a move, from the rows of both shards. Rows that were read one after the other
// may show a state that never existed. A decision from such rows then fails on its WHERE step.
struct Situation {
  enum class Kind {
    kAgreed,      // both rows have one step and share the cohorts at `share`
    kOnItsWay,    // `donor` has given the band up, the recipient has not reached the token
    kRefused,     // the recipient has refused: the donor has to restore its band
    kRestored,    // the donor has: the recipient has to follow with its step
    kImpossible,  // no protocol leads there: the rows were changed by hand, or read in between
  };
  Kind kind = Kind::kImpossible;
  uint32_t share = 0;          // agreed; otherwise the share before the step
  uint32_t next = 0;           // on its way, refused: the share after it
  Side donor = Side::kSource;  // not when agreed
};
Situation SituationOf(const BandFence& source, const BandFence& target, uint32_t cohorts);

// For people: what both rows accept, and why that is impossible, or at which share and step they
// are.
std::string Described(const BandFence& source, const BandFence& target);

// The row that replaces the donor's in step 1. nullopt: not agreed, or nothing to do.
std::optional<BandFence> LetGo(const BandFence& source, const BandFence& target, uint32_t share,
                               uint64_t nonce, uint32_t cohorts);
// The row that replaces the recipient's when its applier reaches a fence event of the donor's log.
// nullopt: the event is void (taken back, older), or no token for this side.
std::optional<BandFence> TakeOver(Side recipient, const BandFence& row, const BandFence& event,
                                  uint32_t cohorts);
// Step 2'. nullopt: nothing is on its way; where the recipient has taken over, the step succeeded.
std::optional<BandFence> Refuse(const BandFence& source, const BandFence& target, uint32_t cohorts);
// Step 3'; nullopt: nothing was refused.
std::optional<BandFence> Restore(const BandFence& source, const BandFence& target,
                                 uint32_t cohorts);
// Step 4'; nullopt: nothing was restored.
std::optional<BandFence> Level(const BandFence& source, const BandFence& target, uint32_t cohorts);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_HANDOVER_H_
