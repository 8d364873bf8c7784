// SPDX-License-Identifier: Apache-2.0
// An owner of sections that reach their last numbers.
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/strict_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/strict/ending_store.h"

namespace locus {
namespace {

using strict::kMostNumber;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = StrictEvent::Kind;

// Of 100 uids each: 0 is used up, 1 has five numbers left, 2 is an ordinary one.
class StrictUsedUpTest : public ::testing::Test {
 protected:
  StrictUsedUpTest() {
    set_.uids = 1000;
    set_.section_size = 100;
    set_.step = 4;
    store_ = std::make_shared<strict::EndingStore>(
        set_, std::map<uint32_t, uint64_t>{{0, kMostNumber}, {1, kMostNumber - 5}, {2, 0}}, clock_);
    a_ = Open("a");
    const auto taken = a_->Take(std::vector<uint32_t>{0, 1, 2});
    EXPECT_TRUE(taken.ok()) << taken.status();
  }
  std::unique_ptr<StrictSequencer> Open(const char* name) {
    StrictSequencerOptions options;
    options.options = set_;
    options.name = name;
    options.clock = &clock_;
    options.executor = &executor_;
    options.on_event = [this](const StrictEvent& event) {
      if (event.kind != Kind::kUsedUp) return;
      EXPECT_EQ(event.status.code(), absl::StatusCode::kOutOfRange);
      EXPECT_GT(event.token, 0u);
      used_up_.push_back(event.section);
    };
    auto opened = StrictSequencer::Open(store_, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  StrictSetOptions set_;
  std::shared_ptr<strict::EndingStore> store_;
  std::vector<uint32_t> used_up_;
  std::unique_ptr<StrictSequencer> a_;
};

TEST_F(StrictUsedUpTest, CallersOfThatSection_GetOutOfRange_AndOthersNumbers) {
  EXPECT_THAT(a_->Owned(), ElementsAre(0, 1, 2));
  const absl::Status status = a_->TryNext(7).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("section 0: its numbers, up to 9223372036854775807, are used up"));
  EXPECT_EQ(*a_->TryNext(207), 1u);
  std::vector<uint64_t> numbers(3);
  EXPECT_EQ(a_->TryNextBatch(std::vector<uint64_t>{207, 7, 208}, numbers).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_THAT(numbers, ElementsAre(2, 0, 1));
  EXPECT_EQ(a_->Next(7, std::chrono::steady_clock::now() + std::chrono::hours(1)).status().code(),
            absl::StatusCode::kOutOfRange)
      << "at once";
}

TEST_F(StrictUsedUpTest, TheLastNumbers_AreGivenOut_AndNoMoreAreAskedFor) {
  for (uint64_t left = 4; left > 1; --left) EXPECT_EQ(*a_->TryNext(107), kMostNumber - left);
  EXPECT_THAT(used_up_, ElementsAre(0)) << "when it was taken";
  executor_.RunReady();  // raises it to the end
  EXPECT_THAT(used_up_, ElementsAre(0, 1));
  EXPECT_EQ(*a_->TryNext(107), kMostNumber - 1);
  EXPECT_EQ(*a_->TryNext(107), kMostNumber);
  executor_.RunReady();
  const uint64_t extends = a_->Stats().extends;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a_->TryNext(107).status().code(), absl::StatusCode::kOutOfRange);
    executor_.RunReady();
  }
  EXPECT_EQ(a_->Stats().extends, extends);
  EXPECT_EQ(*a_->TryNext(108), kMostNumber - 4) << "another key of it";
  // All sections are renewed, and the event comes only once.
  for (int i = 0; i < 12; ++i) {
    clock_.Advance(set_.ttl / 3);
    executor_.RunDelayed();
  }
  EXPECT_THAT(a_->Owned(), ElementsAre(0, 1, 2));
  EXPECT_EQ(a_->Stats().lost, 0u);
  EXPECT_THAT(used_up_, ElementsAre(0, 1));
  EXPECT_EQ(*a_->TryNext(207), 1u);
}

TEST_F(StrictUsedUpTest, HandedOver_TheNextOwnerAlsoReportsIt) {
  EXPECT_EQ(*a_->TryNext(107), kMostNumber - 4);
  ASSERT_TRUE(a_->HandOver(std::vector<uint32_t>{0, 1, 2}, "b").ok());
  auto b = Open("b");
  ASSERT_TRUE(b->Take(std::vector<uint32_t>{0, 1, 2}).ok());
  EXPECT_EQ(b->TryNext(7).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(*b->TryNext(107), kMostNumber) << "above what was stored for a";
  EXPECT_EQ(b->TryNext(107).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(*b->TryNext(207), 5u);
}

}  // namespace
}  // namespace locus
