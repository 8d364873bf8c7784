// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus::segment {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'795'000'000);

uint64_t FloorNow() { return segment_rules::Floor(SpaceOptions(), kNow); }

// A space whose base the floor passed long ago, asked for sections with these heads.
State StateOf(std::vector<uint64_t> heads) {
  State state;
  state.space.base = 64 * 1000;
  state.space.losses = 3;
  state.heads = std::move(heads);
  return state;
}

TEST(SegmentPlanTest, NothingLost_GrantsAndLeavesTheSpaceAsItWas) {
  const uint64_t head = segment_rules::kUnit * (FloorNow() / 64 + 500);
  std::vector<SegmentRequest> requests = {{7, 4096, 0}, {2, 64, head}};
  Outcome outcome = Plan(StateOf({0, head}), requests, kNow);
  EXPECT_FALSE(outcome.reply.loss_noticed);
  EXPECT_FALSE(outcome.base_raised);
  EXPECT_EQ(outcome.reply.granted_at, kNow);
  EXPECT_EQ(outcome.space.base, 64000u);
  EXPECT_EQ(outcome.space.losses, 3u);
  ASSERT_EQ(outcome.reply.grants.size(), 2u);
  EXPECT_EQ(outcome.reply.grants[1].segment, (Segment{head, 64}));
  ASSERT_EQ(outcome.heads.size(), 2u);
  EXPECT_EQ(outcome.heads[0].before, 0u);
  EXPECT_EQ(outcome.heads[0].after, outcome.reply.grants[0].segment.end());
  EXPECT_EQ(outcome.heads[1].request, 1u);
  EXPECT_EQ(outcome.heads[1].after, head + 64);
}

TEST(SegmentPlanTest, HighestSeenOfAllRequests_RaisesBaseOnceAndLiftsThemAll) {
  const uint64_t high = uint64_t{1} << 45;
  std::vector<SegmentRequest> requests = {{0, 64, 0}, {1, 64, high + 640}, {2, 64, high}};
  Outcome outcome = Plan(StateOf({64, 64, 64}), requests, kNow);
  EXPECT_TRUE(outcome.reply.loss_noticed);
  EXPECT_EQ(outcome.space.losses, 4u);
  EXPECT_EQ(outcome.space.base, high + 640);
  for (const SegmentGrant& grant : outcome.reply.grants) EXPECT_EQ(grant.segment.first, high + 640);
}

TEST(SegmentPlanTest, SeenBelowItsOwnHead_IsNoLossWhateverOtherSectionsHave) {
  std::vector<SegmentRequest> requests = {{0, 64, uint64_t{1} << 45}, {1, 64, 0}};
  EXPECT_FALSE(Plan(StateOf({uint64_t{1} << 45, 0}), requests, kNow).reply.loss_noticed);
  EXPECT_TRUE(Plan(StateOf({0, uint64_t{1} << 45}), requests, kNow).reply.loss_noticed);
}

TEST(SegmentPlanTest, ChangedIdentity_RaisesBaseAboveAllThatCanHaveBeenAllocated) {
  State state = StateOf({0});
  state.identity_changed = true;
  SegmentRequest request{0, 64, 0};
  Outcome outcome = Plan(state, {&request, 1}, kNow);
  EXPECT_TRUE(outcome.reply.loss_noticed);
  EXPECT_EQ(outcome.space.losses, 4u);
  EXPECT_EQ(outcome.space.base, segment_rules::Floor(SpaceOptions(), kNow + absl::Seconds(120)) +
                                    SpaceOptions().max_lead);
  EXPECT_GE(outcome.reply.grants[0].segment.first, outcome.space.base);
}

TEST(SegmentPlanTest, PerhapsPutBack_RaisesBaseAndCountsOnlyALossThatShows) {
  const uint64_t head = segment_rules::kUnit * (FloorNow() / 64 + 500);
  for (uint64_t seen : {head, head + 64}) {
    State state = StateOf({head});
    state.maybe_put_back = true;
    SegmentRequest request{0, 64, seen};
    Outcome outcome = Plan(state, {&request, 1}, kNow);
    const bool shows = seen > head;
    EXPECT_TRUE(outcome.base_raised);
    EXPECT_EQ(outcome.reply.loss_noticed, shows);
    EXPECT_EQ(outcome.space.losses, shows ? 4u : 3u);
    EXPECT_EQ(outcome.space.base, segment_rules::Floor(SpaceOptions(), kNow + absl::Seconds(120)) +
                                      SpaceOptions().max_lead);
    EXPECT_GE(outcome.reply.grants[0].segment.first, outcome.space.base);
  }
}

TEST(SegmentPlanTest, SectionWithoutRoom_IsNotWritten) {
  const uint64_t full = 64 * (FloorNow() / 64) + SpaceOptions().max_lead;
  std::vector<SegmentRequest> requests = {{0, 64, 0}, {1, 64, 0}};
  Outcome outcome = Plan(StateOf({full, 0}), requests, kNow);
  EXPECT_EQ(outcome.reply.grants[0].segment.length, 0u);
  EXPECT_GT(outcome.reply.grants[0].wait, absl::ZeroDuration());
  ASSERT_EQ(outcome.heads.size(), 1u);
  EXPECT_EQ(outcome.heads[0].request, 1u);
}

// A chain of allocations on one section, with losses between: nothing overlaps.
TEST(SegmentPlanTest, RandomHistories_NeverOverlap) {
  std::mt19937_64 random(3);
  for (int history = 0; history < 200; ++history) {
    State state = StateOf({0});
    absl::Time now = kNow;
    NoteLoss(state.space, now);
    uint64_t end = 0;
    for (int i = 0; i < 100; ++i) {
      now += absl::Milliseconds(static_cast<int64_t>(random() % 5000));
      state.identity_changed = random() % 20 == 0;
      if (state.identity_changed) state.heads[0] = 0;  // lost, and noticed
      uint64_t seen = random() % 3 == 0 ? end : 0;
      SegmentRequest request{0, uint64_t{64} << random() % 18, seen};
      Outcome outcome = Plan(state, {&request, 1}, now);
      ASSERT_GE(outcome.space.base, state.space.base);
      const Segment& segment = outcome.reply.grants[0].segment;
      if (segment.length > 0) {
        ASSERT_GE(segment.first, end) << "history " << history << ", allocation " << i;
        end = segment.end();
      }
      state.space = outcome.space;
      for (const Outcome::Head& head : outcome.heads) state.heads[0] = head.after;
    }
  }
}

TEST(SegmentPlanTest, OtherOptions_AreNotAdmitted) {
  SegmentRequest request;
  SpaceOptions stored, callers;
  EXPECT_TRUE(Admit(SpaceName(), stored, callers, {&request, 1}).ok());
  callers.section_size = 64;
  absl::Status refused = Admit(SpaceName(), stored, callers, {&request, 1});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  for (const char* said : {"space orders", "section_size 256", "section_size 64", "restart"}) {
    EXPECT_NE(refused.message().find(said), absl::string_view::npos) << refused;
  }
  request.length = 63;
  EXPECT_TRUE(absl::IsInvalidArgument(Admit(SpaceName(), stored, stored, {&request, 1})));
}

TEST(SegmentPlanTest, View_CountsTheLeadFromTheFloor) {
  Space space{SpaceOptions(), 64000, 3};
  SpaceView view = View(space, kNow, {{5, FloorNow() + 16384 * 10, absl::ZeroDuration(), kNow}});
  EXPECT_EQ(view.base, 64000u);
  EXPECT_EQ(view.losses, 3u);
  EXPECT_EQ(view.sections[0].lead, absl::Seconds(10));
}

}  // namespace
}  // namespace locus::segment
