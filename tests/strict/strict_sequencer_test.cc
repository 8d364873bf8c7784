// SPDX-License-Identifier: Apache-2.0
#include "locus/strict_sequencer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "src/strict/section.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Verdict = StrictGrant::Verdict;

const absl::Duration kUsable = strict::UsableFor<strict::NoFlaw>(absl::Seconds(10));

class StrictSequencerTest : public ::testing::Test {
 protected:
  StrictSequencerTest() {
    options_.uids = 1000;
    options_.section_size = 100;
    options_.step = 50;
    EXPECT_TRUE(store_->Create(SpaceName(), options_, {.first_ever = true}).ok());
  }

  std::unique_ptr<StrictSequencer> Open(const std::string& name) {
    StrictSequencerOptions options;
    options.options = options_;
    options.name = name;
    options.clock = &clock_;
    options.executor = &executor_;
    options.on_event = [this](const StrictEvent& event) { events_.push_back(event); };
    auto opened = StrictSequencer::Open(store_, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  static void Take(StrictSequencer& sequencer, std::vector<uint32_t> sections) {
    auto reply = sequencer.Take(sections);
    ASSERT_TRUE(reply.ok()) << reply.status();
    for (const StrictGrant& grant : reply->items) EXPECT_EQ(grant.verdict, Verdict::kGranted);
  }
  // Lets time pass, and the background work that is due then happen.
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    executor_.RunDelayed();
  }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::shared_ptr<MemoryStrictStore> store_ = std::make_shared<MemoryStrictStore>(clock_);
  StrictSetOptions options_;
  std::vector<StrictEvent> events_;
};

TEST_F(StrictSequencerTest, EachUid_CountsFromOne) {
  auto a = Open("a");
  Take(*a, {2, 3});
  EXPECT_EQ(*a->TryNext(250), 1u);
  EXPECT_EQ(*a->TryNext(250), 2u);
  EXPECT_EQ(*a->TryNext(251), 1u);
  EXPECT_EQ(*a->TryNext(300), 1u);
  EXPECT_EQ(*a->TryNext(399), 1u);
  EXPECT_THAT(a->Owned(), ElementsAre(2, 3));
}

TEST_F(StrictSequencerTest, LossThatTheStoreNoticed_IsReportedWithTheCallThatShowedIt) {
  auto a = Open("a");
  Take(*a, {2, 3});
  const auto backup = store_->TakeBackup();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(a->TryNext(250).ok());
  Pass(options_.ttl / 3);
  store_->PutBack(*backup);
  events_.clear();
  Pass(options_.ttl / 3);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].kind, StrictEvent::Kind::kLossNoticed);
  EXPECT_EQ(events_[0].status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(events_[0].status.message()),
              HasSubstr("set orders: noticed by a's extend of 2 sections"));
}

TEST_F(StrictSequencerTest, SectionOfAnother_IsAbortedWithItsOwner) {
  auto a = Open("a");
  auto b = Open("b");
  Take(*a, {2});
  EXPECT_EQ(b->Take(std::vector<uint32_t>{2})->items[0].verdict, Verdict::kHeld);
  const absl::Status status = b->TryNext(250).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "set orders, section 2 is not b's; table version 1 says it is a's");
  EXPECT_THAT(std::string(b->TryNext(350).status().message()), HasSubstr("knows of no owner"));
}

TEST_F(StrictSequencerTest, UidOutsideTheSet_IsRefused) {
  auto a = Open("a");
  EXPECT_EQ(a->TryNext(1000).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(a->Take(std::vector<uint32_t>{10}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StrictSequencerTest, NumbersRunLow_AreRaisedAhead) {
  auto a = Open("a");
  Take(*a, {2});
  for (uint64_t number = 1; number <= 1000; ++number) {
    auto next = a->TryNext(250);
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_EQ(*next, number);
    executor_.RunReady();
  }
  EXPECT_EQ(a->Stats().raises, 20u);
  EXPECT_EQ(*a->TryNext(251), 1u) << "others are not touched";
}

TEST_F(StrictSequencerTest, StepUsedUp_IsUnavailableUntilTheStoreAnswers) {
  auto a = Open("a");
  Take(*a, {2});
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(a->TryNext(250).ok());
  EXPECT_EQ(a->TryNext(250).status().code(), absl::StatusCode::kUnavailable);
  executor_.RunReady();
  EXPECT_EQ(*a->TryNext(250), 51u);
}

TEST_F(StrictSequencerTest, Renewed_ContinuesPastTheFirstDeadline) {
  auto a = Open("a");
  Take(*a, {2});
  for (int i = 0; i < 30; ++i) {
    Pass(absl::Seconds(1));
    ASSERT_TRUE(a->TryNext(250).ok());
  }
  EXPECT_GT(a->Stats().left, absl::Seconds(4));
}

TEST_F(StrictSequencerTest, DeadlinePassed_NoNumberIsAnswered) {
  auto a = Open("a");
  auto b = Open("b");
  Take(*a, {2});
  EXPECT_EQ(*a->TryNext(250), 1u);
  clock_.Advance(kUsable - absl::Nanoseconds(1));
  EXPECT_EQ(*a->TryNext(250), 2u);
  clock_.Advance(absl::Nanoseconds(1));
  const absl::Status status = a->TryNext(250).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not renewed in time"));
  clock_.Advance(absl::Seconds(2));
  Take(*b, {2});
  EXPECT_EQ(*b->TryNext(250), 51u);
  executor_.RunReady();
  EXPECT_EQ(a->TryNext(250).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(a->Stats().lost, 1u);
  EXPECT_THAT(a->Owned(), ElementsAre());
  EXPECT_EQ(events_.back().kind, StrictEvent::Kind::kLost);
}

TEST_F(StrictSequencerTest, HandedOver_TheSuccessorContinuesAbove) {
  auto a = Open("a");
  auto b = Open("b");
  Take(*a, {2, 3});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(a->TryNext(250).ok());
  ASSERT_TRUE(a->HandOver(std::vector<uint32_t>{2, 4}, "b").ok());
  EXPECT_EQ(a->TryNext(250).status().message(),
            "set orders, section 2 is not a's; table version 3 says it is b's");
  Take(*b, {2});
  EXPECT_EQ(*b->TryNext(250), 51u);
  EXPECT_EQ(*a->TryNext(350), 1u) << "it keeps the other one";
  ASSERT_TRUE(b->HandOver(std::vector<uint32_t>{2}).ok());
  Take(*a, {2});
  EXPECT_EQ(*a->TryNext(250), 101u);
}

TEST_F(StrictSequencerTest, Batch_GivesEachItsNumberAndRefusesTheOthers) {
  auto a = Open("a");
  Take(*a, {2, 3});
  std::vector<uint64_t> uids(300);
  std::iota(uids.begin(), uids.end(), 200);
  uids[0] = 299;
  uids[150] = 2000;
  std::vector<uint64_t> numbers(300);
  const absl::Status status = a->TryNextBatch(uids, numbers);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (size_t i = 0; i < 300; ++i) {
    const uint64_t expected = i == 99 ? 2 : i == 150 || i >= 200 ? 0 : 1;
    EXPECT_EQ(numbers[i], expected) << i;
  }
  EXPECT_EQ(a->TryNextBatch(std::vector<uint64_t>{500}, numbers).code(),
            absl::StatusCode::kAborted);
  EXPECT_TRUE(a->TryNextBatch(std::vector<uint64_t>{299, 299}, numbers).ok());
  EXPECT_EQ(numbers[0], 3u);
  EXPECT_EQ(numbers[1], 4u);
  EXPECT_EQ(a->TryNextBatch(uids, std::span(numbers).first(10)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(StrictSequencerTest, Restarted_StartsAboveAllThatWereGiven) {
  auto a = Open("a");
  Take(*a, {2});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a->TryNext(250).ok());
  a.reset();
  a = Open("a");  // another instance: it waits like any other owner
  EXPECT_EQ(a->Take(std::vector<uint32_t>{2})->items[0].verdict, Verdict::kHeld);
  clock_.Advance(absl::Seconds(10) + absl::Milliseconds(1));
  Take(*a, {2});
  EXPECT_EQ(*a->TryNext(250), 51u);
}

// Callers and nodes take no table that is older than theirs.
TEST_F(StrictSequencerTest, StorePutBack_TheTableIsNewerThanAllThatWereKnown) {
  clock_.Advance(absl::FromUnixSeconds(1'800'000'000) - clock_.Now());
  auto a = Open("a");
  Take(*a, {2});
  const auto backup = store_->TakeBackup();
  for (int i = 0; i < 100; ++i) {
    Take(*a, {3});
    ASSERT_TRUE(a->HandOver(std::vector<uint32_t>{3}).ok());
  }
  Take(*a, {4});
  const uint64_t known = store_->Show(SpaceName())->table_version;
  EXPECT_EQ(known, 202u);
  store_->PutBack(*backup);
  EXPECT_EQ(store_->Show(SpaceName())->table_version, 1u);
  Pass(absl::Seconds(4));
  EXPECT_EQ(store_->Show(SpaceName())->losses, 1u);
  EXPECT_GT(store_->Show(SpaceName())->table_version, known);
  EXPECT_EQ(a->Stats().table_version, store_->Show(SpaceName())->table_version);
}

// Numbers that owners know survive the store's loss of them.
TEST_F(StrictSequencerTest, StorePutBack_OwnersShowTheLoss) {
  auto a = Open("a");
  Take(*a, {2});
  const auto backup = store_->TakeBackup();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(a->TryNext(250).ok());
    executor_.RunReady();
  }
  store_->PutBack(*backup);
  Pass(absl::Seconds(4));
  EXPECT_EQ(store_->Show(SpaceName())->losses, 1u);
  EXPECT_EQ(*a->TryNext(250), 201u) << "it continues";
  auto b = Open("b");
  EXPECT_EQ(b->Take(std::vector<uint32_t>{5})->items[0].verdict, Verdict::kResting);
}

TEST_F(StrictSequencerTest, OtherOptionsThanStored_AreRefusedAtOpen) {
  StrictSequencerOptions options;
  options.options = options_;
  options.name = "a";
  options.options.step = 51;
  EXPECT_EQ(StrictSequencer::Open(store_, options).status().code(),
            absl::StatusCode::kFailedPrecondition);
  options.options = options_;
  options.name = "";
  EXPECT_EQ(StrictSequencer::Open(store_, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.name = "a";
  options.set = *SpaceName::Parse("other");
  EXPECT_EQ(StrictSequencer::Open(store_, options).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StrictSequencerTest, ForkedChild_IsRefused) {
  auto a = Open("a");
  Take(*a, {2});
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = a->TryNext(250).status().code() == absl::StatusCode::kFailedPrecondition &&
                         a->HandOver(std::vector<uint32_t>{2}).status().code() ==
                             absl::StatusCode::kFailedPrecondition;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(StrictSetOptionsTest, TextKeys_HaveFrozenUids) {
  StrictSetOptions options;
  // XXH64 of "" and "a" with seed 0: EF46DB3751D8E999, D24EC4F1A98C6E5B.
  EXPECT_EQ(options.UidOf(""), 0xEF46DB37u);
  EXPECT_EQ(options.UidOf("a"), 0xD24EC4F1u);
  options.first_uid = 1000;
  options.uids = 10;
  EXPECT_EQ(options.UidOf(""), 1009u);
  EXPECT_EQ(options.UidOf("a"), 1008u);
}

TEST(StrictSetOptionsTest, Check_NamesTheBadOption) {
  StrictSetOptions options;
  EXPECT_TRUE(options.Check().ok());
  EXPECT_EQ(options.sections(), 42950u);
  options.section_size = 63;
  EXPECT_EQ(options.Check().message(), "section_size is 63; it must be 64 to 16777216");
  options = {};
  options.ttl = absl::Seconds(2);
  EXPECT_EQ(options.Check().message(), "ttl is 2s; it must be whole milliseconds, 3 s to 10 min");
  options = {};
  options.uids = uint64_t{1} << 40;
  EXPECT_THAT(std::string(options.Check().message()), HasSubstr("the number of sections"));
}

}  // namespace
}  // namespace locus
