// SPDX-License-Identifier: Apache-2.0
#include "tests/segment/segment_store_contract.h"

#include <bit>
#include <thread>
#include <vector>

#include "src/segment/rules.h"

namespace locus {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentStoreContract);

SegmentGrant SegmentStoreContract::Allocate(uint16_t section, uint64_t length, uint64_t seen) {
  SegmentRequest request{section, length, seen};
  absl::StatusOr<SpaceOptions> options = store_->ReadOptions(space_);
  EXPECT_TRUE(options.ok()) << options.status();
  if (!options.ok()) return {};
  absl::StatusOr<SegmentReply> reply = store_->Allocate(space_, *options, {&request, 1}, now());
  EXPECT_TRUE(reply.ok()) << reply.status();
  if (!reply.ok()) return {};
  loss_noticed_ = reply->loss_noticed;
  return reply->grants.at(0);
}

TEST_P(SegmentStoreContract, UnknownSpace_IsNotFound) {
  SegmentRequest request;
  EXPECT_TRUE(absl::IsNotFound(store_->ReadOptions(space_).status()));
  EXPECT_TRUE(
      absl::IsNotFound(store_->Allocate(space_, SpaceOptions(), {&request, 1}, now()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Show(space_, now()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Raise(space_, 1, RaiseReach::kAnywhere, now()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeclareRestored(space_, now())));
}

TEST_P(SegmentStoreContract, CreatedSpace_KeepsItsOptions) {
  SpaceOptions options;
  options.section_size = 1024;
  options.max_lead = 1 << 20;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  EXPECT_EQ(under_test_->Connect()->ReadOptions(space_).value(), options);
  EXPECT_TRUE(store_->Create(space_, options, now()).ok()) << "the same again";
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(space_, SpaceOptions(), now())));
  EXPECT_EQ(store_->ReadOptions(space_).value(), options);
}

// Store sets keep a layout in options, and end it by the highest base.
TEST_P(SegmentStoreContract, OptionsAndBaseAtTheirLimits_AreKeptExactly) {
  SpaceOptions options;
  options.section_size = 1;
  options.floor_epoch = absl::FromUnixSeconds(1'000'000'007);
  options.floor_rate = uint64_t{1} << 20;
  options.max_lead = (uint64_t{1} << 26) - 4096;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  EXPECT_EQ(under_test_->Connect()->ReadOptions(space_).value(), options);
  for (auto change : std::vector<std::function<void(SpaceOptions&)>>{
           [](SpaceOptions& o) { o.floor_epoch += absl::Seconds(1); },
           [](SpaceOptions& o) { --o.floor_rate; }, [](SpaceOptions& o) { o.max_lead += 4096; },
           [](SpaceOptions& o) { o.section_size = 2; }}) {
    SpaceOptions other = options;
    change(other);
    EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(space_, other, now())));
  }
  constexpr uint64_t kHighest = (uint64_t{1} << 56) - 1;
  ASSERT_TRUE(store_->Raise(space_, kHighest, RaiseReach::kAnywhere, now()).ok());
  EXPECT_EQ(store_->Show(space_, now())->base, kHighest);
  SegmentGrant grant = Allocate(65535, 64);
  EXPECT_EQ(grant.segment.length, 0u);
  EXPECT_EQ(grant.wait, absl::InfiniteDuration());
}

TEST_P(SegmentStoreContract, BadOptions_AreRefused) {
  for (auto spoil : std::vector<std::function<void(SpaceOptions&)>>{
           [](SpaceOptions& o) { o.section_size = 0; }, [](SpaceOptions& o) { o.section_size = 3; },
           [](SpaceOptions& o) { o.section_size = 131072; },
           [](SpaceOptions& o) { o.floor_rate = 0; }, [](SpaceOptions& o) { o.max_lead = 4095; },
           [](SpaceOptions& o) { o.floor_epoch = absl::InfinitePast(); }}) {
    SpaceOptions options;
    spoil(options);
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Create(space_, options, now())));
  }
  EXPECT_TRUE(absl::IsNotFound(store_->ReadOptions(space_).status()));
}

TEST_P(SegmentStoreContract, FirstAllocation_StartsAboveAllThatAnEarlierStoreCouldHaveGranted) {
  SpaceOptions options;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  SegmentGrant grant = Allocate(0, 64);
  EXPECT_GE(grant.segment.first, segment_rules::Floor(options, now()) + options.max_lead);
  EXPECT_EQ(grant.segment.length, 64u);
  EXPECT_GE(grant.room, segment_rules::FloorTime(options, int64_t{1 << 24} - 128))
      << "base also lifts the limit";
  EXPECT_EQ(store_->Show(space_, now())->losses, 1u);
}

TEST_P(SegmentStoreContract, Allocations_NeverOverlapWithinASection) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  std::unique_ptr<SegmentStore> other = under_test_->Connect();
  uint64_t end = 0;
  for (int i = 0; i < 50; ++i) {
    SegmentRequest request{7, uint64_t{64} << (i % 5), 0};
    SegmentStore& store = i % 2 == 0 ? *store_ : *other;
    Segment segment =
        store.Allocate(space_, SpaceOptions(), {&request, 1}, now())->grants[0].segment;
    EXPECT_GE(segment.first, end);
    EXPECT_EQ(segment.first % 64, 0u);
    EXPECT_EQ(segment.length, request.length);
    end = segment.end();
    if (i % 10 == 0) Advance(absl::Seconds(1));
  }
}

TEST_P(SegmentStoreContract, ManySectionsInOneAllocation_GetOneGrantEachInOrder) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  std::vector<SegmentRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) {
    requests.push_back({static_cast<uint16_t>(255 - section), uint64_t{64} << (section % 4), 0});
  }
  SegmentReply reply = store_->Allocate(space_, SpaceOptions(), requests, now()).value();
  ASSERT_EQ(reply.grants.size(), 256u);
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(reply.grants[i].segment.length, requests[i].length);
  EXPECT_EQ(store_->Show(space_, now())->sections.size(), 256u);
}

TEST_P(SegmentStoreContract, BadRequest_RefusesTheWholeAllocation) {
  SpaceOptions options;
  options.section_size = 256;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  for (SegmentRequest bad :
       {SegmentRequest{256, 64, 0}, SegmentRequest{1, 63, 0}, SegmentRequest{1, 0, 0},
        SegmentRequest{1, 192, 0}, SegmentRequest{0, 64, 0},
        SegmentRequest{1, 64, (uint64_t{1} << 56) + 1}}) {
    std::vector<SegmentRequest> requests = {{0, 64, 0}, bad};
    EXPECT_TRUE(absl::IsInvalidArgument(
        store_->Allocate(space_, SpaceOptions(), requests, now()).status()));
  }
  EXPECT_TRUE(store_->Show(space_, now())->sections.empty());
}

TEST_P(SegmentStoreContract, FloorAboveHead_LiftsTheNextAllocation) {
  SpaceOptions options;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  Allocate(3, 64);
  Advance(absl::Hours(24));
  SegmentGrant grant = Allocate(3, 64);
  EXPECT_GE(grant.segment.first, segment_rules::Floor(options, now()));
  EXPECT_LT(grant.segment.first, segment_rules::Floor(options, now()) + 64);
}

TEST_P(SegmentStoreContract, Lead_ShortensAllocationsThenStopsThemUntilTheFloorRises) {
  SpaceOptions options;
  options.max_lead = 1 << 16;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  Advance(absl::Hours(1));  // past the jump of creation: top = floor + max_lead
  uint64_t floor = segment_rules::Floor(options, now());
  uint64_t total = 0, end = 0;
  SegmentGrant grant;
  while ((grant = Allocate(0, 1 << 14)).segment.length > 0) {
    EXPECT_TRUE(std::has_single_bit(grant.segment.length / 64));
    if (grant.segment.length > 4096) {
      EXPECT_LE(grant.segment.end(), floor + options.max_lead - options.max_lead / 8);
    }
    total += grant.segment.length;
    end = grant.segment.end();
    const uint64_t room = floor + options.max_lead - end;
    EXPECT_NEAR(absl::ToDoubleSeconds(grant.room), static_cast<double>(room) / 16384, 0.01);
    ASSERT_LE(total, options.max_lead);
  }
  EXPECT_LE(end, floor + options.max_lead);
  EXPECT_GT(end, floor + options.max_lead - 64);
  EXPECT_GT(grant.wait, absl::ZeroDuration());
  EXPECT_LE(grant.wait, absl::Milliseconds(8));
  EXPECT_LT(grant.room, absl::Milliseconds(8));
  Advance(grant.wait + absl::Milliseconds(1));
  EXPECT_EQ(Allocate(0, 1 << 14).segment.length, 64u);
  EXPECT_GT(Allocate(1, 64).segment.length, 0u) << "another section has its own lead";
}

TEST_P(SegmentStoreContract, SeenAboveAllTheStoreKnows_IsALossAndLiftsEverySection) {
  SpaceOptions options;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  uint64_t seen = Allocate(0, 64).segment.end() + 12345 * 64;
  uint64_t base_before = store_->Show(space_, now())->base;
  SegmentGrant grant = Allocate(0, 64, seen);
  EXPECT_TRUE(loss_noticed());
  EXPECT_GE(grant.segment.first, seen);
  SpaceView view = store_->Show(space_, now()).value();
  EXPECT_EQ(view.losses, 2u);
  EXPECT_GE(view.base, base_before + options.max_lead);
  EXPECT_GE(Allocate(9, 64).segment.first, view.base);
  EXPECT_FALSE(loss_noticed());
}

TEST_P(SegmentStoreContract, SeenWithinWhatTheStoreKnows_IsNoLoss) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  uint64_t seen = Allocate(0, 64).segment.end();
  EXPECT_EQ(Allocate(0, 64, seen).segment.first, seen);
  EXPECT_FALSE(loss_noticed());
}

TEST_P(SegmentStoreContract, DeclaredRestore_LiftsBaseByTheLead) {
  SpaceOptions options;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  uint64_t base = store_->Show(space_, now())->base;
  ASSERT_TRUE(store_->DeclareRestored(space_, now()).ok());
  SpaceView view = store_->Show(space_, now()).value();
  EXPECT_GE(view.base, base + options.max_lead);
  EXPECT_EQ(view.losses, 2u);
}

TEST_P(SegmentStoreContract, Raise_LiftsBaseAndNeverLowersIt) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  uint64_t to = uint64_t{1} << 46;
  ASSERT_TRUE(store_->Raise(space_, to + 1, RaiseReach::kAnywhere, now()).ok());
  ASSERT_TRUE(store_->Raise(space_, 5, RaiseReach::kAnywhere, now()).ok());
  EXPECT_EQ(store_->Show(space_, now())->base, to + 1);
  EXPECT_EQ(Allocate(0, 64).segment.first, to + 64) << "rounded up to 64";
  EXPECT_TRUE(absl::IsInvalidArgument(
      store_->Raise(space_, uint64_t{1} << 56, RaiseReach::kAnywhere, now()).status()));
}

TEST_P(SegmentStoreContract, LastSequences_AreAllocatedAndThenUsedUp) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  ASSERT_TRUE(store_->Raise(space_, (uint64_t{1} << 56) - 128, RaiseReach::kAnywhere, now()).ok());
  EXPECT_EQ(Allocate(0, 4096).segment.length, 128u);
  EXPECT_EQ(Allocate(0, 64).wait, absl::InfiniteDuration());
}

TEST_P(SegmentStoreContract, RaiseFarAboveTheFloor_NeedsAnywhere) {
  SpaceOptions options;
  ASSERT_TRUE(store_->Create(space_, options, now()).ok());
  uint64_t base = store_->Show(space_, now())->base;
  uint64_t near = segment_rules::Floor(options, now()) + (uint64_t{1} << 47) / 100;
  // The result of MAX over a column of Snowflake IDs: it would end the narrow IDs of the space.
  uint64_t far = (uint64_t{1} << 47) - 1;
  for (uint64_t to : {near + options.floor_rate, far}) {
    absl::Status refused = store_->Raise(space_, to, RaiseReach::kNearFloor, now()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_NE(refused.message().find(std::to_string(to)), absl::string_view::npos) << refused;
  }
  EXPECT_EQ(store_->Show(space_, now())->base, base);
  BaseRaise raise = store_->Raise(space_, near, RaiseReach::kNearFloor, now()).value();
  EXPECT_EQ(raise.before, base);
  EXPECT_EQ(raise.after, near);
  raise = store_->Raise(space_, far, RaiseReach::kAnywhere, now()).value();
  EXPECT_EQ(raise.before, near);
  EXPECT_EQ(raise.after, far);
  raise = store_->Raise(space_, far, RaiseReach::kNearFloor, now()).value();
  EXPECT_EQ(raise.before, far) << "nothing is given up by a raise to where base is";
  EXPECT_EQ(raise.after, far);
}

TEST_P(SegmentStoreContract, AllocationByOtherOptions_IsRefusedAndChangesNothing) {
  SpaceOptions stored;
  ASSERT_TRUE(store_->Create(space_, stored, now()).ok());
  uint64_t end = Allocate(0, 64).segment.end();
  for (auto change : std::vector<std::function<void(SpaceOptions&)>>{
           [](SpaceOptions& o) { o.section_size = 64; },
           [](SpaceOptions& o) { o.section_size = 0; },
           [](SpaceOptions& o) { o.floor_epoch += absl::Seconds(1); },
           [](SpaceOptions& o) { o.floor_epoch += absl::Nanoseconds(1); },
           [](SpaceOptions& o) { --o.floor_rate; }, [](SpaceOptions& o) { o.max_lead += 4096; }}) {
    SpaceOptions callers = stored;
    change(callers);
    // One section is the engines' quick path, several are not.
    for (size_t count : {1, 3}) {
      std::vector<SegmentRequest> requests;
      for (uint16_t section = 0; section < count; ++section) {
        requests.push_back({section, 64, end + (uint64_t{1} << 40)});
      }
      for (bool knows_the_space : {true, false}) {
        std::unique_ptr<SegmentStore> fresh = under_test_->Connect();
        SegmentStore& store = knows_the_space ? *store_ : *fresh;
        absl::Status refused = store.Allocate(space_, callers, requests, now()).status();
        EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      }
    }
  }
  EXPECT_EQ(store_->Show(space_, now())->losses, 1u) << "`seen` of another space is no loss";
  EXPECT_EQ(store_->Show(space_, now())->sections.size(), 1u);
  EXPECT_EQ(Allocate(0, 64).segment.first, end);
}

// The space is lost with its data, and an operator creates it again with smaller sections: vnode
// 100 was in section 0, and now is in section 1. Processes that still have the old options must not
// allocate section 1 for other vnodes.
TEST_P(SegmentStoreContract, SpaceCreatedAgainWithOtherOptions_RefusesCallersWithTheOldOnes) {
  SpaceOptions old_options, new_options;
  new_options.section_size = 64;
  ASSERT_TRUE(store_->Create(space_, old_options, now()).ok());
  uint64_t seen = 0;
  for (uint16_t section = 0; section < 2; ++section) {
    seen = std::max(seen, Allocate(section, 1 << 16).segment.end());
  }
  Advance(absl::Hours(1));
  under_test_->LoseSpaces();
  std::unique_ptr<SegmentStore> other = under_test_->Connect();
  ASSERT_TRUE(other->Create(space_, new_options, now()).ok());

  for (uint64_t known : {uint64_t{0}, seen}) {
    for (size_t count : {1, 2}) {
      std::vector<SegmentRequest> requests;
      for (uint16_t section = 0; section < count; ++section)
        requests.push_back({section, 64, known});
      absl::Status refused = store_->Allocate(space_, old_options, requests, now()).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_NE(refused.message().find("section_size 64"), absl::string_view::npos) << refused;
    }
  }
  SegmentRequest request{1, 64, 0};
  SegmentReply reply = other->Allocate(space_, new_options, {&request, 1}, now()).value();
  EXPECT_GE(reply.grants[0].segment.first, seen);
  reply = store_->Allocate(space_, new_options, {&request, 1}, now()).value();
  EXPECT_GE(reply.grants[0].segment.first, seen) << "by the handle that knew the old space";
}

TEST_P(SegmentStoreContract, CallersClockBehind_GetsNothingAndCreatesNothing) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  Allocate(0, 64);
  absl::Time wrong = now() - absl::Seconds(61);
  SegmentRequest request;
  absl::Status refused = store_->Allocate(space_, SpaceOptions(), {&request, 1}, wrong).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(
      store_->Allocate(space_, SpaceOptions(), {&request, 1}, now() - absl::Seconds(59)).ok());
  SpaceName other = SpaceName::Parse("other").value();
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(other, SpaceOptions(), wrong)));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadOptions(other).status()));
}

TEST_P(SegmentStoreContract, CallersClockAhead_IsRefusedWhereTheStoreHasItsOwn) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  SegmentRequest request;
  absl::Status status =
      store_->Allocate(space_, SpaceOptions(), {&request, 1}, now() + absl::Seconds(61)).status();
  EXPECT_EQ(absl::IsFailedPrecondition(status), under_test_->has_own_clock()) << status;
}

TEST_P(SegmentStoreContract, ClockBeforeTheEpoch_IsRefused) {
  SpaceOptions options;
  options.floor_epoch = now() + absl::Hours(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Create(space_, options, now())));
}

TEST_P(SegmentStoreContract, Spaces_AreIndependent) {
  SpaceName other = SpaceName::Parse("other").value();
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  Allocate(0, 1 << 20);
  Advance(absl::Seconds(10));
  ASSERT_TRUE(store_->Create(other, SpaceOptions(), now()).ok());
  EXPECT_TRUE(store_->Show(other, now())->sections.empty());
  ASSERT_TRUE(store_->Raise(other, uint64_t{1} << 45, RaiseReach::kAnywhere, now()).ok());
  EXPECT_LT(Allocate(0, 64).segment.first, uint64_t{1} << 45);
}

TEST_P(SegmentStoreContract, Show_ReportsHeadsAndTimes) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  Segment segment = Allocate(5, 128).segment;
  SpaceView view = store_->Show(space_, now()).value();
  ASSERT_EQ(view.sections.size(), 1u);
  EXPECT_EQ(view.sections[0].section, 5);
  EXPECT_EQ(view.sections[0].head, segment.end());
  EXPECT_EQ(view.sections[0].granted_at, now());
  EXPECT_GT(view.sections[0].lead, absl::Seconds(1000));
}

TEST_P(SegmentStoreContract, ConcurrentHandles_AllocateDisjointSegments) {
  ASSERT_TRUE(store_->Create(space_, SpaceOptions(), now()).ok());
  constexpr int kThreads = 4, kAllocations = 25;
  std::vector<std::vector<Segment>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &mine = got[t]] {
      std::unique_ptr<SegmentStore> store = under_test_->Connect();
      for (int i = 0; i < kAllocations;) {
        SegmentRequest request{1, 64, 0};
        auto reply = store->Allocate(space_, SpaceOptions(), {&request, 1}, now());
        if (absl::IsUnavailable(reply.status())) continue;
        ASSERT_TRUE(reply.ok()) << reply.status();
        mine.push_back(reply->grants[0].segment);
        ++i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Segment> all;
  for (auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.first < b.first; });
  ASSERT_EQ(all.size(), size_t{kThreads * kAllocations});
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].first, all[i - 1].end());
}

}  // namespace locus
