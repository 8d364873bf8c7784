// SPDX-License-Identifier: Apache-2.0
// The numbers that the end of a sequence gives back, and those that it leaves out.
#include <random>

#include "tests/counter/segment_sequence_fixture.h"

namespace locus {
namespace {

std::chrono::steady_clock::time_point Past() { return std::chrono::steady_clock::now(); }

TEST_F(SegmentSequenceTest, CleanShutdownAndRestart_ContinuesExactly) {
  std::mt19937_64 random(7);
  int64_t next = 1;
  for (int life = 0; life < 300; ++life) {
    auto sequence = Make();
    for (uint64_t n = random() % 200; n > 0; --n) ASSERT_EQ(Take(*sequence), next++);
    if (random() % 2 == 0) PassTime();
    if (random() % 2 == 0) {
      absl::StatusOr<int64_t> returned = sequence->Close();
      ASSERT_TRUE(returned.ok()) << returned.status();
    }
    sequence.reset();
    if (next > 1) {
      ASSERT_EQ(LastOfKey(), next - 1) << "in life " << life;
    }
  }
}

TEST_F(SegmentSequenceTest, Close_ReportsHowManyWereReturned) {
  auto sequence = Make();
  Take(*sequence, 10);
  PassTime();
  int64_t taken = LastOfKey();
  EXPECT_GT(taken, 64) << "there is a next segment";
  EXPECT_EQ(sequence->Close().value(), taken - 10) << "of both segments at once";
  EXPECT_EQ(LastOfKey(), 10);
  EXPECT_EQ(sequence->Close().value(), 0) << "once";
}

TEST_F(SegmentSequenceTest, Closed_RefusesEveryCall) {
  auto sequence = Make();
  Take(*sequence, 10);
  ASSERT_TRUE(sequence->Close().ok());
  int calls = store_->calls();
  EXPECT_TRUE(absl::IsFailedPrecondition(sequence->TryNext().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(sequence->TryNextBlock(5).status()));
  absl::Status status = sequence->Next(Past()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("closed"), absl::string_view::npos) << status;
  PassTime(absl::Minutes(20));
  EXPECT_EQ(store_->calls(), calls);
}

TEST_F(SegmentSequenceTest, NeverUsed_TakesAndReturnsNothing) {
  EXPECT_EQ(Make()->Close().value(), 0);
  Make().reset();
  EXPECT_EQ(store_->calls(), 0);
  EXPECT_TRUE(absl::IsNotFound(keys_->Get("k").status()));
}

TEST_F(SegmentSequenceTest, AnotherProcessDrewSince_NothingIsReturned) {
  auto sequence = Make();
  Take(*sequence, 10);
  PassTime();
  int64_t taken = LastOfKey();
  ASSERT_EQ(keys_->Next("k").value(), taken + 1);
  EXPECT_EQ(sequence->Close().value(), 0);
  EXPECT_EQ(LastOfKey(), taken + 1);
}

TEST_F(SegmentSequenceTest, AnotherProcessDrewBetweenTheTwoSegments_TheLaterOneIsReturned) {
  auto sequence = Make();
  Take(*sequence, 64);
  PassTime();
  int64_t end_of_second = LastOfKey();
  store_->FailWith(absl::UnavailableError("down"));
  ASSERT_EQ(sequence->TryNext().value(), 65);
  PassTime();
  ASSERT_EQ(keys_->Next("k").value(), end_of_second + 1);
  store_->Heal();
  PassTime(absl::Seconds(20));
  ASSERT_GT(LastOfKey(), end_of_second + 1) << "a third one is there";
  int64_t length_of_third = LastOfKey() - end_of_second - 1;
  EXPECT_EQ(sequence->Close().value(), length_of_third);
  EXPECT_EQ(LastOfKey(), end_of_second + 1);
}

TEST_F(SegmentSequenceTest, ReturnUnusedOff_LeavesAGapWithoutACall) {
  options_.return_unused = false;
  auto sequence = Make();
  Take(*sequence, 10);
  PassTime();
  int calls = store_->calls();
  EXPECT_EQ(sequence->Close().value(), 0);
  EXPECT_EQ(store_->calls(), calls);
}

TEST_F(SegmentSequenceTest, StoreDownAtTheEnd_CloseFailsAndTheNumbersAreAGap) {
  auto sequence = Make();
  Take(*sequence, 10);
  PassTime();
  store_->FailWith(absl::UnavailableError("down"));
  EXPECT_TRUE(absl::IsUnavailable(sequence->Close().status()));
  EXPECT_EQ(sequence->Stats().last_store_error.message(), "down");
  store_->Heal();
  auto again = Make();
  EXPECT_GT(Take(*again), 64);
}

// --- The store fails ---

}  // namespace
}  // namespace locus
