// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/round_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(10);
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

StrictSetView Sections(uint32_t count) {
  StrictSetView view;
  view.options.section_size = 64;
  view.options.uids = uint64_t{count} * 64;
  view.now = kNow;
  return view;
}

void Own(StrictSetView& view, uint32_t first, uint32_t end, const std::string& name,
         absl::Duration left = kLong, uint64_t instance = 1) {
  for (uint32_t section = first; section < end; ++section) {
    StrictSectionView of;
    of.section = section;
    of.owner = StrictOwner{name, name + ":1", instance};
    of.ends_at = view.now + left;
    view.sections.push_back(of);
  }
}

void Release(StrictSetView& view, uint32_t section, const std::string& successor) {
  StrictSectionView of;
  of.section = section;
  of.successor = successor;
  of.ends_at = view.now + kHandOverRest;
  view.sections.push_back(of);
}

RoundInput Of(const StrictSetView& view, std::vector<std::string> others) {
  RoundInput input;
  input.self = {"me", "me:1", 100};
  input.instance = 1;
  for (const std::string& name : others) input.others.push_back({name, name + ":1", 100});
  input.view = &view;
  return input;
}

TEST(RoundPlanTest, NoOtherNode_TakesAllThatIsFree) {
  StrictSetView view = Sections(4);
  Own(view, 1, 2, "dead", -absl::Milliseconds(1));
  const RoundPlan plan = PlanRound(Of(view, {}));
  EXPECT_THAT(plan.take, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plan.give, IsEmpty());
  EXPECT_EQ(plan.next_end, absl::InfiniteDuration());
}

TEST(RoundPlanTest, TwoNodes_TakeDifferentHalves) {
  const StrictSetView view = Sections(10);
  const RoundPlan mine = PlanRound(Of(view, {"you"}));
  RoundInput input = Of(view, {"me"});
  input.self.name = "you";
  const RoundPlan yours = PlanRound(input);
  EXPECT_THAT(mine.take, SizeIs(5));
  std::vector<uint32_t> all = mine.take;
  all.insert(all.end(), yours.take.begin(), yours.take.end());
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(RoundPlanTest, SectionsThatWereFree_AreTakenByAnyNode) {
  const StrictSetView view = Sections(10);
  RoundInput input = Of(view, {"you"});
  input.free_before = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(PlanRound(input).take, SizeIs(10));
}

TEST(RoundPlanTest, ADeadOwnersOwnership_IsWaitedFor) {
  StrictSetView view = Sections(2);
  Own(view, 0, 1, "dead", absl::Seconds(3));
  const RoundPlan plan = PlanRound(Of(view, {}));
  EXPECT_THAT(plan.take, ElementsAre(1));
  EXPECT_EQ(plan.next_end, absl::Seconds(3));
}

TEST(RoundPlanTest, SectionsFromBeforeTheRestart_AreWaitedFor) {
  StrictSetView view = Sections(1);
  Own(view, 0, 1, "me", absl::Seconds(3), /*instance=*/7);
  const RoundPlan plan = PlanRound(Of(view, {"you"}));
  EXPECT_THAT(plan.take, IsEmpty());
  EXPECT_THAT(plan.give, IsEmpty());
  EXPECT_EQ(plan.next_end, absl::Seconds(3));
}

TEST(RoundPlanTest, SectionsOwnedOnlyByTheTable_AreTakenAgain) {
  StrictSetView view = Sections(3);
  Own(view, 0, 2, "me");
  Own(view, 2, 3, "me", kLong, /*instance=*/7);
  RoundInput input = Of(view, {});
  EXPECT_THAT(PlanRound(input).take, IsEmpty()) << "a hand-over is under way";
  input.owned = {0};
  EXPECT_THAT(PlanRound(input).take, ElementsAre(1));
  input.owned = {0, 1};
  EXPECT_THAT(PlanRound(input).take, IsEmpty());
}

TEST(RoundPlanTest, StoreThatRests_IsAskedWhenItGrantsAgain) {
  StrictSetView view = Sections(10);
  Own(view, 0, 5, "me");
  view.rest_until = view.now + absl::Seconds(5);
  view.losses = 1;
  const RoundPlan plan = PlanRound(Of(view, {"you"}));
  EXPECT_EQ(plan.next_end, absl::Seconds(5));
  EXPECT_THAT(plan.free, IsEmpty());
  EXPECT_THAT(plan.take, IsEmpty());
  EXPECT_THAT(plan.give, IsEmpty()) << "nobody could take it";
  view.now = view.rest_until;
  EXPECT_THAT(PlanRound(Of(view, {})).take, SizeIs(5));
}

TEST(RoundPlanTest, ANewNode_IsGivenItsHalf) {
  StrictSetView view = Sections(10);
  Own(view, 0, 10, "me");
  const RoundPlan plan = PlanRound(Of(view, {"you"}));
  EXPECT_THAT(plan.take, IsEmpty());
  ASSERT_THAT(plan.give, SizeIs(1));
  EXPECT_THAT(plan.give.at("you"), SizeIs(5));
  RoundInput input = Of(view, {"you"});
  input.by_load = false;
  EXPECT_THAT(PlanRound(input).give, IsEmpty());
}

TEST(RoundPlanTest, AHotSection_LeavesTheOthersToTheOtherNode) {
  StrictSetView view = Sections(10);
  Own(view, 0, 5, "me");
  Own(view, 5, 10, "you");
  RoundInput input = Of(view, {"you"});
  input.loads = {{0, 1000}, {1, 200}, {2, 200}, {3, 200}, {4, 200}};
  const RoundPlan plan = PlanRound(input);
  ASSERT_THAT(plan.give, SizeIs(1));
  uint64_t given = 0;
  for (const uint32_t section : plan.give.at("you")) given += input.loads[section];
  EXPECT_GE(given, 800u);
  EXPECT_LE(given, 1000u);
}

TEST(RoundPlanTest, HandedOverSections_AreForTheirSuccessorAndThenForAll) {
  StrictSetView view = Sections(1);
  Release(view, 0, "you");
  EXPECT_THAT(PlanRound(Of(view, {"you"})).take, IsEmpty());
  EXPECT_THAT(PlanRound(Of(view, {})).take, ElementsAre(0)) << "its successor is dead";
  // The successor did not come while the section was kept for it.
  view.now += kHandOverRest + absl::Milliseconds(1);
  RoundInput later = Of(view, {"you"});
  EXPECT_THAT(PlanRound(later).free, ElementsAre(0));
  later.free_before = PlanRound(later).free;
  EXPECT_THAT(PlanRound(later).take, ElementsAre(0));
  StrictSetView to_me = Sections(1);
  Release(to_me, 0, "me");
  EXPECT_THAT(PlanRound(Of(to_me, {})).take, ElementsAre(0));
}

TEST(RoundPlanTest, ANodeThatTakesNone_TakesAndGivesNone) {
  StrictSetView view = Sections(4);
  Own(view, 0, 2, "me");
  RoundInput input = Of(view, {"you"});
  input.self.weight = 0;
  input.free_before = {2, 3};
  const RoundPlan plan = PlanRound(input);
  EXPECT_THAT(plan.take, IsEmpty());
  EXPECT_THAT(plan.give, IsEmpty());
}

TEST(RoundPlanTest, FixedSections_AreTakenAndKept) {
  StrictSetView view = Sections(4);
  Own(view, 1, 2, "you");
  Own(view, 2, 3, "me");
  RoundInput input = Of(view, {"you"});
  input.fixed = {0, 1};
  const RoundPlan plan = PlanRound(input);
  EXPECT_THAT(plan.take, ElementsAre(0));
  EXPECT_THAT(plan.give, IsEmpty());
}

TEST(RoundPlanTest, FixedSectionsOfANodeOfTheSpread_AreAskedFor) {
  StrictSetView view = Sections(6);
  Own(view, 0, 2, "you");
  Own(view, 2, 4, "they");
  Own(view, 4, 6, "me");
  RoundInput input = Of(view, {"they", "you"});
  input.fixed = {1, 2, 4};
  input.others[0].weight = 0;  // it may also have fixed them, and would ask for them in turn
  const RoundPlan plan = PlanRound(input);
  ASSERT_THAT(plan.ask, SizeIs(1));
  EXPECT_THAT(plan.ask.at("you"), ElementsAre(1));
  EXPECT_THAT(plan.take, IsEmpty());
  input.by_load = false;
  EXPECT_THAT(PlanRound(input).ask, IsEmpty()) << "no section that has an owner moves now";
  input.by_load = true;
  input.self.weight = 0;
  EXPECT_THAT(PlanRound(input).ask, IsEmpty()) << "it was told to take none";
}

TEST(RoundPlanTest, Farewell_GivesAllToThoseThatTakeSome) {
  StrictSetView view = Sections(9);
  Own(view, 0, 3, "me");
  Own(view, 3, 6, "you");
  Own(view, 6, 9, "they");
  RoundInput input = Of(view, {"they", "you", "away"});
  input.others[2].weight = 0;
  const auto give = PlanFarewell(input, {0, 1, 2});
  size_t sections = 0;
  for (const auto& [name, of] : give) {
    EXPECT_THAT(name, ::testing::AnyOf("they", "you"));
    sections += of.size();
  }
  EXPECT_EQ(sections, 3u);
  EXPECT_THAT(PlanFarewell(Of(view, {}), {0}), IsEmpty());
}

}  // namespace
}  // namespace locus::locusd
