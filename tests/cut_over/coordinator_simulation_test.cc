// SPDX-License-Identifier: Apache-2.0
// The coordinator's decisions in a simulated world: nothing breaks what must hold, and a move ends
// once the world is calm.
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "migration/cut_over/coordinator.h"

namespace locus::internal {
namespace {

using Kind = Decision::Kind;

constexpr uint32_t kWhole = 10000;

// A world that the decisions act on: fences, streams that may be slow, a table that others publish,
// operators who change their minds, coordinators that die and forget.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    source_ = Owned(Side::kSource, 0, kWhole);
    target_ = Owned(Side::kTarget, 0, kWhole);
    source_.step = target_.step = 1;
  }

  void Round(bool calm) {
    if (calm) gate_ok_ = table_answers_ = true;
    if (!calm) Disturb();
    if (calm || Chance(3)) Deliver();
    in_step_ += absl::Milliseconds(Pick(calm ? 200 : 2000));
    at_share_ += absl::Seconds(Pick(30));
    Act(Decide(See()), calm);
    Check();
  }

  bool At(uint32_t share) const {
    const Situation now = SituationOf(source_, target_, kWhole);
    return now.kind == Situation::Kind::kAgreed && now.share == share && table_share_ == share;
  }
  void Wish(uint32_t goal) { wish_ = {true, goal, 2500, absl::Seconds(10), "", Ending::kNone}; }
  Phase phase() const { return phase_; }
  uint32_t steps() const { return steps_; }

 private:
  uint64_t Pick(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t n) { return Pick(n) == 0; }

  void Disturb() {
    if (Chance(20)) wish_.goal = static_cast<uint32_t>(Pick(5) * 2500);
    if (Chance(30)) wish_.hold = Chance(2) ? "" : "by hand";
    if (Chance(50)) in_step_ = at_share_ = absl::ZeroDuration();  // a new coordinator
    if (Chance(40)) gate_ok_ = Chance(2);
    if (Chance(60)) table_answers_ = Chance(2);
  }

  // The applier of the recipient reaches the donor's last token.
  void Deliver() {
    if (auto row = TakeOver(Side::kTarget, target_, source_, kWhole)) target_ = *row;
    if (auto row = TakeOver(Side::kSource, source_, target_, kWhole)) source_ = *row;
  }

  MoveSight See() {
    MoveSight sight;
    sight.phase = phase_;
    sight.wish = wish_;
    sight.fences = SituationOf(source_, target_, kWhole);
    sight.step = std::max(source_.step, target_.step);
    sight.in_step = in_step_;
    sight.at_share = at_share_;
    sight.forth = sight.back = {true, absl::Milliseconds(1), "", ""};
    sight.copied = sight.compared = true;
    if (table_answers_) {
      sight.published = MoveSight::Published{true, false, true, table_share_, table_step_};
    }
    sight.gates = {{"a gate", "", "", gate_ok_, false, false}};
    return sight;
  }

  void Act(const Decision& decision, bool calm) {
    // It may die before it acts.
    if (!calm && Chance(5)) return;
    auto set = [&](Side side, const std::optional<BandFence>& row) {
      if (!row) return;
      (side == Side::kSource ? source_ : target_) = *row;
      in_step_ = absl::ZeroDuration();
      ++steps_;
    };
    const Situation now = SituationOf(source_, target_, kWhole);
    switch (decision.kind) {
      case Kind::kEnter:
        phase_ = decision.phase;
        break;
      case Kind::kLetGo:
        ASSERT_TRUE(wish_.hold.empty());
        at_share_ = absl::ZeroDuration();
        set(decision.share > now.share ? Side::kSource : Side::kTarget,
            LetGo(source_, target_, decision.share, ++nonce_, kWhole));
        break;
      case Kind::kRefuse:
        set(Other(now.donor), Refuse(source_, target_, kWhole));
        break;
      case Kind::kRestore:
        set(now.donor, Restore(source_, target_, kWhole));
        break;
      case Kind::kLevel:
        set(Other(now.donor), Level(source_, target_, kWhole));
        break;
      case Kind::kPublish:
        ASSERT_EQ(now.kind, Situation::Kind::kAgreed);
        ASSERT_EQ(decision.share, now.share);
        table_share_ = decision.share;
        table_step_ = std::max(source_.step, target_.step);
        break;
      case Kind::kHold:
        wish_.hold = decision.why;
        break;
      default:
        break;
    }
  }

  void Check() {
    ASSERT_NE(SituationOf(source_, target_, kWhole).kind, Situation::Kind::kImpossible);
    ASSERT_GE(source_.own_lo, target_.own_hi) << "both own a band";
    ASSERT_GE(source_.step, last_source_);
    ASSERT_GE(target_.step, last_target_);
    last_source_ = source_.step;
    last_target_ = target_.step;
  }

  std::mt19937_64 random_;
  Phase phase_ = Phase::kReady;
  struct Wish wish_;
  BandFence source_, target_;
  absl::Duration in_step_, at_share_;
  uint32_t table_share_ = 0;
  uint64_t table_step_ = 1, nonce_ = 0, last_source_ = 0, last_target_ = 0;
  uint32_t steps_ = 0;
  bool gate_ok_ = true, table_answers_ = true;
};

TEST(CoordinatorSimulationTest, AnyDisturbance_KeepsTheInvariantsAndReachesTheGoalWhenItEnds) {
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World world(seed);
    for (int i = 0; i < 400; ++i) world.Round(false);
    const uint32_t goal = static_cast<uint32_t>(seed % 5) * 2500;
    int rounds = 0;
    for (; rounds < 400 && !world.At(goal); ++rounds) {
      world.Wish(goal);
      world.Round(true);
    }
    ASSERT_TRUE(world.At(goal));
    if (HasFatalFailure()) return;
    steps += world.steps();
  }
  EXPECT_GT(steps, 5000u);
}

}  // namespace
}  // namespace locus::internal
