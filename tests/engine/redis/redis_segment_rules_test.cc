// SPDX-License-Identifier: Apache-2.0
// The allocation script decides on the server, in Lua, what segment::Plan decides for every other
// engine. Here a real server decides random requests upon random states, and the plan has to agree.
#include <iostream>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/redis/segments.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {

using internal::RedisSegmentStoreAccess;

namespace {

constexpr char kKey[] = "locus:segments:{orders}";
constexpr int kRounds = 3000;

class RedisSegmentRulesTest : public ::testing::Test {
 protected:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  SpaceOptions RandomOptions() {
    SpaceOptions options;
    options.section_size = uint32_t{1} << Below(17);
    options.floor_epoch = absl::FromUnixMicros(absl::ToUnixMicros(clock_.Now()) -
                                               static_cast<int64_t>(Below(uint64_t{1} << 53)));
    options.floor_epoch = std::max(options.floor_epoch, absl::UnixEpoch());
    options.floor_rate = 1 + Below(uint64_t{1} << Below(21));
    options.max_lead = 4096 * (1 + Below(uint64_t{1} << Below(28)));
    return options;
  }

  // A sequence near one where decisions change.
  uint64_t RandomSequence(const SpaceOptions& options) {
    uint64_t floor = segment_rules::Floor(options, clock_.Now());
    const uint64_t near[] = {0,
                             floor,
                             floor + options.max_lead,
                             floor + options.max_lead / 8 * 7,
                             segment_rules::kEndOfSequences,
                             uint64_t{1} << 47,
                             uint64_t{1} << 53,
                             1'000'000'000};
    int64_t sequence = static_cast<int64_t>(near[Below(std::size(near))]);
    auto distance = static_cast<int64_t>(Below(uint64_t{1} << Below(25)));
    sequence += OneIn(2) ? distance : -distance;
    return static_cast<uint64_t>(
        std::clamp<int64_t>(sequence, 0, static_cast<int64_t>(segment_rules::kEndOfSequences)));
  }

  // Writes a state past the engine.
  void Store(const segment::State& state, const std::string& identity,
             std::span<const SegmentRequest> requests) {
    const SpaceOptions& options = state.space.options;
    std::vector<std::string> words = {
        "HSET",
        kKey,
        "schema",
        "1",
        "options",
        absl::StrCat(options.section_size, " ", absl::ToUnixMicros(options.floor_epoch), " ",
                     options.floor_rate, " ", options.max_lead),
        "identity",
        identity,
        "base",
        absl::StrCat(state.space.base),
        "losses",
        absl::StrCat(state.space.losses)};
    for (size_t i = 0; i < requests.size(); ++i) {
      if (state.heads[i] == 0) continue;
      words.push_back(absl::StrCat(requests[i].section));
      words.push_back(absl::StrCat(state.heads[i], " 1700000000000000"));
    }
    server_.Ask("DEL " + std::string(kKey));
    server_.AskWords(words);
  }

  std::mt19937_64 random_{9};
  RedisServer server_;
  fakes::ManualClock clock_;
  SpaceName space_;
};

TEST_F(RedisSegmentRulesTest, SpacesOfRandomOptions_BeginAsByThePlan) {
  auto store = RedisSegmentStoreAccess::Open(server_.options(), &clock_).value();
  for (int round = 0; round < 300; ++round) {
    server_.Ask("DEL " + std::string(kKey));
    segment::Space space{RandomOptions()};
    ASSERT_TRUE(store->Create(space_, space.options, clock_.Now()).ok()) << round;
    segment::NoteLoss(space, clock_.Now());
    EXPECT_EQ(store->Show(space_, clock_.Now())->base, space.base) << round;
    segment::NoteLoss(space, clock_.Now());
    ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok()) << round;
    EXPECT_EQ(store->Show(space_, clock_.Now())->base, space.base) << round;
    EXPECT_EQ(store->Show(space_, clock_.Now())->losses, space.losses) << round;
  }
}

TEST_F(RedisSegmentRulesTest, RandomStatesAndRequests_AreDecidedAsByThePlan) {
  auto store = RedisSegmentStoreAccess::Open(server_.options(), &clock_).value();
  ASSERT_TRUE(store->Create(space_, SpaceOptions(), clock_.Now()).ok());
  const std::string identity = server_.AskWords({"HGET", kKey, "identity"});
  ASSERT_FALSE(identity.empty());

  int losses = 0, granted = 0, shortened = 0, refused = 0, used_up = 0;
  for (int round = 0; round < kRounds; ++round) {
    clock_.Advance(absl::Microseconds(Below(uint64_t{1} << Below(40))));
    segment::State state;
    state.space.options = RandomOptions();
    state.space.base = RandomSequence(state.space.options);
    state.space.losses = 1 + Below(9);
    state.identity_changed = OneIn(4);
    std::set<uint16_t> sections;
    for (uint64_t n = 1 + Below(4); n > 0; --n) {
      sections.insert(static_cast<uint16_t>(Below(segment_rules::SectionsOf(state.space.options))));
    }
    std::vector<SegmentRequest> requests;
    for (uint16_t section : sections) {
      uint64_t head = RandomSequence(state.space.options) / 64 * 64;
      state.heads.push_back(head);
      uint64_t seen = OneIn(3) ? RandomSequence(state.space.options) : head;
      requests.push_back({section, uint64_t{64} << Below(OneIn(2) ? 10 : 51), OneIn(4) ? 0 : seen});
    }
    Store(state, state.identity_changed ? "another run" : identity, requests);

    segment::Outcome plan = segment::Plan(state, requests, clock_.Now());
    auto reply = store->Allocate(space_, state.space.options, requests, clock_.Now());
    ASSERT_TRUE(reply.ok()) << round << ": " << reply.status();
    EXPECT_EQ(reply->loss_noticed, plan.reply.loss_noticed) << round;
    losses += reply->loss_noticed;
    ASSERT_EQ(reply->grants.size(), requests.size()) << round;
    for (size_t i = 0; i < requests.size(); ++i) {
      const SegmentGrant& got = reply->grants[i];
      const SegmentGrant& planned = plan.reply.grants[i];
      EXPECT_EQ(got.segment.length, planned.segment.length) << round;
      EXPECT_EQ(got.segment.first, planned.segment.first) << round;
      EXPECT_EQ(got.wait, planned.wait) << round;
      EXPECT_EQ(got.lead, planned.lead) << round;
      granted += got.segment.length == requests[i].length;
      shortened += got.segment.length > 0 && got.segment.length < requests[i].length;
      refused += got.segment.length == 0;
      used_up += got.wait == absl::InfiniteDuration();
    }
    SpaceView view = store->Show(space_, clock_.Now()).value();
    EXPECT_EQ(view.base, plan.space.base) << round;
    EXPECT_EQ(view.losses, plan.space.losses) << round;
    for (const segment::Outcome::Head& head : plan.heads) {
      bool stored = false;
      for (const SpaceView::Section& section : view.sections) {
        if (section.section != requests[head.request].section) continue;
        stored = true;
        EXPECT_EQ(section.head, head.after) << round;
      }
      EXPECT_TRUE(stored) << round;
    }
    ASSERT_FALSE(HasFailure()) << "seed 9, round " << round;
  }
  std::cout << losses << " losses, " << granted << " grants in full, " << shortened
            << " shortened, " << refused << " refused, " << used_up << " of them for good\n";
  // Each kind of answer was compared, not one of them only.
  for (int count : {losses, granted, shortened, refused, used_up}) EXPECT_GT(count, kRounds / 100);
}

}  // namespace
}  // namespace locus
