// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/handover.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "migration/cut_over/version_rule.h"

namespace locus {
namespace {

using internal::ApplyVerdict;
using internal::BandFence;
using internal::JudgeIncoming;
using internal::RowState;
using internal::Side;
using internal::Situation;
using internal::SituationOf;
using Kind = Situation::Kind;

constexpr uint32_t kCohorts = 10000;

struct Fences {
  BandFence source, target;

  Situation situation() const { return SituationOf(source, target, kCohorts); }
  BandFence& of(Side side) { return side == Side::kSource ? source : target; }
};

Fences At(uint32_t share, uint64_t step) {
  Fences fences{internal::Owned(Side::kSource, share, kCohorts),
                internal::Owned(Side::kTarget, share, kCohorts)};
  fences.source.step = fences.target.step = step;
  return fences;
}

TEST(HandoverTest, StepsForthAndBack_GoThroughTheirSituations) {
  uint64_t nonce = 0;
  for (uint32_t from : {0u, 1u, 500u, 9999u, 10000u}) {
    for (uint32_t to : {0u, 1u, 500u, 9999u, 10000u}) {
      Fences fences = At(from, 7);
      auto let_go = LetGo(fences.source, fences.target, to, ++nonce, kCohorts);
      ASSERT_EQ(let_go.has_value(), from != to);
      if (!let_go) continue;
      const Side donor = to > from ? Side::kSource : Side::kTarget;
      fences.of(donor) = *let_go;
      EXPECT_EQ(fences.situation().kind, Kind::kOnItsWay) << from << " " << to;
      EXPECT_EQ(fences.situation().donor, donor);
      EXPECT_EQ(fences.situation().share, from);
      EXPECT_EQ(fences.situation().next, to);
      // Nothing else may begin meanwhile.
      EXPECT_FALSE(LetGo(fences.source, fences.target, 42, ++nonce, kCohorts));
      auto taken = TakeOver(Other(donor), fences.of(Other(donor)), *let_go, kCohorts);
      ASSERT_TRUE(taken);
      fences.of(Other(donor)) = *taken;
      EXPECT_EQ(fences.situation().kind, Kind::kAgreed);
      EXPECT_EQ(fences.situation().share, to);
      EXPECT_FALSE(TakeOver(Other(donor), *taken, *let_go, kCohorts)) << "a second time";
      EXPECT_FALSE(Refuse(fences.source, fences.target, kCohorts)) << "too late";
    }
  }
}

TEST(HandoverTest, TakenBack_IsAsBeforeAndTheTokenIsVoid) {
  for (uint32_t to : {0u, 9000u}) {
    Fences fences = At(500, 7);
    const Side donor = to > 500 ? Side::kSource : Side::kTarget;
    const BandFence token = *LetGo(fences.source, fences.target, to, 99, kCohorts);
    fences.of(donor) = token;
    fences.of(Other(donor)) = *Refuse(fences.source, fences.target, kCohorts);
    EXPECT_EQ(fences.situation().kind, Kind::kRefused);
    EXPECT_FALSE(TakeOver(Other(donor), fences.of(Other(donor)), token, kCohorts));
    fences.of(donor) = *Restore(fences.source, fences.target, kCohorts);
    EXPECT_EQ(fences.situation().kind, Kind::kRestored);
    EXPECT_FALSE(TakeOver(Other(donor), fences.of(Other(donor)), fences.of(donor), kCohorts));
    fences.of(Other(donor)) = *Level(fences.source, fences.target, kCohorts);
    EXPECT_EQ(fences.situation().kind, Kind::kAgreed);
    EXPECT_EQ(fences.situation().share, 500u);
    EXPECT_EQ(fences.source.step, 9u);
    EXPECT_EQ(fences.target.step, 9u);
    // And the next step works.
    EXPECT_TRUE(LetGo(fences.source, fences.target, to, 100, kCohorts));
  }
}

TEST(HandoverTest, RowsThatNoProtocolMakes_AreImpossible) {
  auto is_impossible = [](const Fences& fences) {
    return fences.situation().kind == Kind::kImpossible;
  };
  Fences fences = At(500, 7);
  fences.target.own_hi = 501;
  EXPECT_TRUE(is_impossible(fences)) << "both own a cohort";
  fences = At(500, 7);
  fences.target.own_hi = 499;
  EXPECT_TRUE(is_impossible(fences)) << "a gap without a token";
  fences = At(500, 7);
  fences.source.own_hi = 9000;
  EXPECT_TRUE(is_impossible(fences)) << "no band of the source";
  fences = At(500, 7);
  fences.target.own_lo = 1;
  EXPECT_TRUE(is_impossible(fences)) << "no band of the target";
  fences = At(500, 7);
  fences.source.step = 9;
  EXPECT_TRUE(is_impossible(fences)) << "two steps apart";
  fences = At(0, 7);
  fences.target.own_hi = fences.source.own_lo = 10001;
  EXPECT_TRUE(is_impossible(fences)) << "more than there are";
}

// Copy and stream may bring the states of a row in any order, each any number of times.
TEST(VersionRuleTest, AnyOrderOfArrival_EndsWithTheNewest) {
  std::vector<RowState> states = {{1, false}, {2, false}, {3, true}, {4, false}};
  std::sort(states.begin(), states.end(),
            [](RowState a, RowState b) { return a.version < b.version; });
  do {
    for (size_t again = 0; again < states.size(); ++again) {
      RowState local;
      std::vector<RowState> arriving = states;
      arriving.push_back(states[again]);
      for (RowState incoming : arriving) {
        const ApplyVerdict verdict = JudgeIncoming(incoming, local, /*same_row=*/true);
        ASSERT_NE(verdict, ApplyVerdict::kConflict);
        if (verdict == ApplyVerdict::kWrite) local = incoming;
      }
      EXPECT_EQ(local, (RowState{4, false}));
    }
  } while (std::next_permutation(states.begin(), states.end(),
                                 [](RowState a, RowState b) { return a.version < b.version; }));
}

TEST(VersionRuleTest, OneVersionTwoContents_IsAConflict) {
  EXPECT_EQ(JudgeIncoming({5, false}, {5, false}, true), ApplyVerdict::kSkip);
  EXPECT_EQ(JudgeIncoming({5, false}, {5, false}, false), ApplyVerdict::kConflict);
  EXPECT_EQ(JudgeIncoming({5, true}, {5, true}, false), ApplyVerdict::kSkip);
  EXPECT_EQ(JudgeIncoming({5, true}, {5, false}, true), ApplyVerdict::kConflict);
  EXPECT_EQ(JudgeIncoming({5, false}, {5, true}, true), ApplyVerdict::kConflict);
  EXPECT_EQ(JudgeIncoming({4, false}, {5, true}, true), ApplyVerdict::kSkip);
}

TEST(VersionRuleTest, VersionsOfTriggers_OnlyRise) {
  EXPECT_EQ(internal::VersionOfUpdate({7, false}, 0), 8u);
  EXPECT_EQ(internal::VersionOfUpdate({7, false}, 20), 20u);
  EXPECT_EQ(internal::VersionOfDelete({7, false}), 8u);
  EXPECT_EQ(internal::VersionOfInsert({}, 0), 1u);
  EXPECT_EQ(internal::VersionOfInsert({8, true}, 1), 9u) << "above the tombstone";
  // REPLACE: the tombstone that its own deletion leaves is 8.
  EXPECT_EQ(internal::VersionOfInsert({7, false}, 1), 9u);
}

}  // namespace
}  // namespace locus
