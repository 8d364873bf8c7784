// SPDX-License-Identifier: Apache-2.0
#include "locus/segment_sequence.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "locus/engine/memory.h"
#include "locus/testing/faulty_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/counter/segment_sequence_fixture.h"

namespace locus {
namespace {

constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

std::chrono::steady_clock::time_point Past() { return std::chrono::steady_clock::now(); }

TEST_F(SegmentSequenceTest, CounterThatStartsHigh_IsUsedFromItsStartToItsLimit) {
  SequencerOptions options;
  options.start = 995;
  options.max_value = 1000;
  Begin(options);
  auto sequence = Make();
  EXPECT_THAT(Take(*sequence, 6), ::testing::ElementsAre(995, 996, 997, 998, 999, 1000));
  EXPECT_TRUE(absl::IsOutOfRange(TryTake(*sequence).status()));
}

TEST_F(SegmentSequenceTest, FirstCall_IsUnavailableWithoutAMessageAndSetsOffLoading) {
  auto sequence = Make();
  executor_.RunReady();
  EXPECT_EQ(store_->calls(), 0) << "nothing is taken before the first use";
  absl::Status status = sequence->TryNext().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(status.message().empty());
  EXPECT_GE(executor_.RunReady(), 1);
  EXPECT_EQ(sequence->TryNext().value(), 1);
}

TEST_F(SegmentSequenceTest, Numbers_BeginAtOneAndLeaveNoneOut) {
  auto sequence = Make();
  for (int64_t n = 1; n <= 20000; ++n) ASSERT_EQ(Take(*sequence), n);
}

TEST_F(SegmentSequenceTest, StepOfTheSequencer_IsTheStepOfTheNumbers) {
  SequencerOptions options;
  options.step = 7;
  Begin(options);
  auto sequence = Make();
  for (int64_t n = 1; n <= 5000; ++n) ASSERT_EQ(Take(*sequence), 7 * n);
  SequenceBlock block = sequence->TryNextBlock(3).value();
  EXPECT_EQ(block.first, 7 * 5001);
  EXPECT_EQ(block.step, 7);
  EXPECT_EQ(block.last(), block.first + 7 * (block.count - 1));
}

TEST_F(SegmentSequenceTest, SegmentsInDemand_GrowEightfoldAtMostAndAreFewer) {
  auto sequence = Make();
  Take(*sequence, 100000);
  EXPECT_LT(sequence->Stats().segments, 12u);
  EXPECT_GT(sequence->Stats().segments, 4u) << "64, 64, 512, 4096, ...";
  EXPECT_GT(sequence->Stats().autonomy, absl::ZeroDuration());
}

TEST_F(SegmentSequenceTest, QuietKey_TakesShortSegments) {
  options_.min_length = 2;
  options_.horizon = absl::Seconds(1);
  auto sequence = Make();
  for (int i = 0; i < 50; ++i) {
    Take(*sequence);
    PassTime(absl::Seconds(5));
  }
  EXPECT_LE(LastOfKey(), 54) << "no more than two segments of two are ahead";
}

TEST_F(SegmentSequenceTest, MaxLength_BoundsTheSegments) {
  options_.min_length = 1;
  options_.max_length = 16;
  auto sequence = Make();
  for (int64_t n = 1; n <= 3000; ++n) {
    ASSERT_EQ(Take(*sequence), n);
    ASSERT_LE(LastOfKey(), n + 32);
  }
}

TEST_F(SegmentSequenceTest, Blocks_AreRunsThatLeaveNoneOut) {
  auto sequence = Make();
  std::mt19937_64 random(5);
  int64_t next = 1;
  while (next < 100000) {
    int64_t wanted = 1 + static_cast<int64_t>(random() % 300);
    absl::StatusOr<SequenceBlock> block = sequence->TryNextBlock(wanted);
    if (absl::IsUnavailable(block.status())) {
      PassTime();
      continue;
    }
    ASSERT_TRUE(block.ok()) << block.status();
    ASSERT_EQ(block->first, next);
    ASSERT_GE(block->count, 1);
    ASSERT_LE(block->count, wanted);
    next = block->last() + 1;
    if (random() % 3 == 0) {
      ASSERT_EQ(Take(*sequence), next++);
    }
  }
  for (int64_t bad : {int64_t{0}, int64_t{-1}, SegmentSequence::kLongestBlock + 1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(sequence->TryNextBlock(bad).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequence->NextBlock(bad, Past()).status()));
  }
}

// --- The limit ---

SequencerOptions Limited(int64_t max_value, SequencerOptions::AtMax at_max, int64_t step = 1) {
  SequencerOptions options;
  options.step = step;
  options.max_value = max_value;
  options.at_max = at_max;
  return options;
}

TEST_F(SegmentSequenceTest, Limit_IsReachedToTheLastNumberThenOutOfRange) {
  Begin(Limited(1000, SequencerOptions::AtMax::kError));
  auto sequence = Make();
  for (int64_t n = 1; n <= 1000; ++n) ASSERT_EQ(Take(*sequence), n);
  absl::Status status = TryTake(*sequence).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_TRUE(status.message().empty());
  status = sequence->Next(Past()).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_NE(status.message().find("1000"), absl::string_view::npos) << status;
}

TEST_F(SegmentSequenceTest, LimitReachedByOthersMeanwhile_AllThatIsLeftIsFoundBySmallerSegments) {
  Begin(Limited(1000, SequencerOptions::AtMax::kError));
  auto sequence = Make();
  EXPECT_EQ(Take(*sequence, 64).back(), 64);
  PassTime();
  int64_t ahead = LastOfKey();
  ASSERT_TRUE(keys_->NextBatch("k", 1000 - ahead - 3).ok());
  std::vector<int64_t> rest;
  while (true) {
    absl::StatusOr<int64_t> number = TryTake(*sequence);
    if (!number.ok()) {
      EXPECT_TRUE(absl::IsOutOfRange(number.status())) << number.status();
      break;
    }
    rest.push_back(*number);
  }
  ASSERT_GE(rest.size(), 3u);
  EXPECT_EQ(rest.back(), 1000);
}

TEST_F(SegmentSequenceTest, AtTheLimit_NumbersThatOthersReturnAreFoundWithinSeconds) {
  Begin(Limited(1000, SequencerOptions::AtMax::kError));
  auto sequence = Make();
  Take(*sequence, 64);
  PassTime();
  const auto of_others = keys_->NextBatch("k", 1000 - LastOfKey());
  ASSERT_TRUE(of_others.ok());
  while (TryTake(*sequence).ok()) {
  }
  ASSERT_TRUE(absl::IsOutOfRange(TryTake(*sequence).status()));
  int calls = store_->calls();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsOutOfRange(sequence->TryNext().status()));
    executor_.RunReady();
  }
  EXPECT_EQ(store_->calls(), calls) << "polls do not become calls";
  ASSERT_TRUE(*keys_->Return("k", *of_others, of_others->count - 10));
  PassTime(absl::Seconds(20));
  EXPECT_EQ(Take(*sequence), 991);
}

TEST_F(SegmentSequenceTest, Wrap_StartsAgainAfterTheLastNumber) {
  Begin(Limited(1000, SequencerOptions::AtMax::kWrap));
  auto sequence = Make();
  for (int round = 0; round < 5; ++round) {
    for (int64_t n = 1; n <= 1000; ++n) ASSERT_EQ(Take(*sequence), n) << "in round " << round;
  }
}

TEST_F(SegmentSequenceTest, SequencerWithFewNumbers_IsNeverAskedForMore) {
  Begin(Limited(30, SequencerOptions::AtMax::kWrap, 10));
  auto sequence = Make();
  EXPECT_EQ(Take(*sequence, 7), (std::vector<int64_t>{10, 20, 30, 10, 20, 30, 10}));
}

TEST_F(SegmentSequenceTest, HighestNumber_IsGivenOut) {
  options_.thread_block = 10;
  for (int64_t thread_block : {0, 10}) {
    options_.thread_block = thread_block;
    ASSERT_TRUE(keys_->Set("k", kHighest - 5).ok());
    auto sequence = Make();
    EXPECT_EQ(Take(*sequence, 5).back(), kHighest);
    EXPECT_TRUE(absl::IsOutOfRange(TryTake(*sequence).status()));
  }
}

// --- The end ---

TEST_F(SegmentSequenceTest, StoreDown_NumbersContinueThenAreUnavailableAndRecover) {
  auto sequence = Make();
  Take(*sequence, 64);
  PassTime();
  int64_t ahead = LastOfKey();
  store_->FailWith(absl::UnavailableError("the store is down"));
  for (int64_t n = 65; n <= ahead; ++n) ASSERT_EQ(sequence->TryNext().value(), n);
  int calls = store_->calls();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(sequence->TryNext().status()));
    executor_.RunReady();
  }
  EXPECT_LE(store_->calls(), calls + 2) << "polls do not become calls";
  EXPECT_EQ(sequence->Stats().last_store_error.message(), "the store is down");
  absl::Status status = sequence->Next(Past()).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_EQ(status.message(), "the store is down");
  store_->Heal();
  PassTime(absl::Seconds(10));
  EXPECT_EQ(Take(*sequence), ahead + 1);
}

TEST_F(SegmentSequenceTest, StoreRefuses_CallersHearFailedPreconditionUntilItIsRepaired) {
  auto sequence = Make();
  for (absl::Status refusal :
       {absl::FailedPreconditionError("read-only"), absl::DataLossError("no number")}) {
    store_->FailWith(refusal);
    while (absl::IsUnavailable(sequence->TryNext().status())) PassTime(absl::Seconds(6));
    EXPECT_TRUE(absl::IsFailedPrecondition(sequence->TryNext().status()));
    absl::Status status = sequence->Next(Past()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_EQ(status.message(), refusal.message());
    store_->Heal();
    PassTime(absl::Seconds(10));
    while (sequence->TryNext().ok()) {
    }
  }
}

TEST_F(SegmentSequenceTest, FirstNumbersOfACounter_AreReportedAsItsBeginning) {
  SequencerOptions from;
  from.start = 1000;
  Begin(from);
  std::vector<bool> begun;
  options_.on_event = [&begun](const SegmentSequenceEvent& event) { begun.push_back(event.begun); };
  EXPECT_EQ(Take(*Make("new")), 1000);
  ASSERT_FALSE(begun.empty());
  EXPECT_TRUE(begun.front());
  begun.clear();
  ASSERT_TRUE(keys_->Set("known", 5000).ok());
  auto known = Make("known");
  Take(*known, 500);
  ASSERT_TRUE(known->Close().ok());
  EXPECT_GT(begun.size(), 1u);
  EXPECT_EQ(std::count(begun.begin(), begun.end(), true), 0);
}

// As after an emptied or restored store.
TEST_F(SegmentSequenceTest, CounterThatWentBack_IsRefusedUntilItIsSetAboveTheTakenNumbers) {
  auto sequence = Make();
  Take(*sequence, 64);
  PassTime();
  const int64_t taken = LastOfKey();
  ASSERT_TRUE(keys_->Set("k", 7).ok());
  for (int64_t n = 65; n <= taken; ++n) ASSERT_EQ(sequence->TryNext().value(), n) << "in memory";
  auto refused = [&] {
    while (absl::IsUnavailable(sequence->TryNext().status())) PassTime(absl::Seconds(6));
    return absl::IsFailedPrecondition(sequence->TryNext().status());
  };
  EXPECT_TRUE(refused());
  const absl::Status why = sequence->Stats().last_store_error;
  EXPECT_TRUE(absl::IsDataLoss(why)) << why;
  EXPECT_NE(why.message().find("\"k\" was at 7, although " + std::to_string(taken)),
            absl::string_view::npos)
      << why;
  // It is asked again, and nothing more is taken from it.
  const int64_t after = LastOfKey();
  PassTime(absl::Minutes(5));
  EXPECT_TRUE(refused());
  EXPECT_EQ(LastOfKey(), after);
  ASSERT_TRUE(keys_->Set("k", taken - 1).ok());
  PassTime(absl::Minutes(1));
  EXPECT_TRUE(refused());
  EXPECT_EQ(LastOfKey(), taken - 1);
  ASSERT_TRUE(keys_->Set("k", 1000 + taken).ok());
  PassTime(absl::Minutes(1));
  EXPECT_EQ(Take(*sequence), 1001 + taken);
}

TEST_F(SegmentSequenceTest, LostAnswers_SkipNumbersButNeverRepeat) {
  options_.max_length = 64;
  auto sequence = Make();
  std::vector<int64_t> got;
  for (int i = 0; i < 5000; ++i) {
    if (i % 100 == 0) store_->LoseAnswersWith(absl::UnavailableError("timeout"));
    absl::StatusOr<int64_t> number = sequence->TryNext();
    if (number.ok()) got.push_back(*number);
    executor_.RunReady();
    store_->Heal();
    PassTime(absl::Milliseconds(100));
  }
  EXPECT_GT(got.size(), 3000u);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
  EXPECT_EQ(std::adjacent_find(got.begin(), got.end()), got.end());
}

// --- Several of them ---

// The naive twin: one number a call, straight from the sequencer.
TEST_F(SegmentSequenceTest, BesideTheNaiveTwin_OnRandomHistories_NoNumberComesTwice) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    Begin({});
    options_.min_length = 1 + static_cast<int64_t>(random() % 40);
    options_.max_length = options_.min_length + static_cast<int64_t>(random() % 1000);
    options_.thread_block = random() % 2 == 0 ? 0 : 1 + static_cast<int64_t>(random() % 20);
    std::vector<std::unique_ptr<SegmentSequence>> all(3);
    for (auto& one : all) one = Make();
    std::set<int64_t> seen;
    std::map<size_t, int64_t> last;
    auto note = [&](int64_t number) { return seen.insert(number).second; };
    for (int step = 0; step < 2000; ++step) {
      size_t i = random() % all.size();
      switch (random() % 40) {
        case 0:
          all[i].reset();
          all[i] = Make();
          last.erase(i);
          break;
        case 1:
          store_->LoseAnswersWith(absl::UnavailableError("lost"));
          executor_.RunReady();
          store_->Heal();
          break;
        case 2:
          ASSERT_TRUE(note(keys_->Next("k").value())) << "seed " << seed;
          break;
        case 3: {
          auto block = all[i]->TryNextBlock(1 + static_cast<int64_t>(random() % 50));
          if (!block.ok()) break;
          for (int64_t n = block->first; n <= block->last(); ++n) {
            ASSERT_TRUE(note(n)) << n << ", seed " << seed;
          }
          break;
        }
        default: {
          int64_t number = Take(*all[i]);
          ASSERT_TRUE(note(number)) << number << ", seed " << seed;
          ASSERT_GT(number, last[i]) << "seed " << seed;
          last[i] = number;
        }
      }
      if (random() % 20 == 0) PassTime(absl::Milliseconds(random() % 5000));
    }
  }
}

TEST_F(SegmentSequenceTest, Keys_AreIndependent) {
  auto one = Make("one"), other = Make("other");
  EXPECT_EQ(Take(*one, 3).back(), 3);
  EXPECT_EQ(Take(*other, 2).back(), 2);
  EXPECT_EQ(Take(*one), 4);
}

// More sequences than a thread has places for.
TEST_F(SegmentSequenceTest, ManySequencesWithThreadBlocks_KeepTheirPlaces) {
  options_.thread_block = 5;
  std::vector<std::unique_ptr<SegmentSequence>> all;
  for (int i = 0; i < 40; ++i) all.push_back(Make("key" + std::to_string(i)));
  for (int64_t n = 1; n <= 200; ++n) {
    for (auto& sequence : all) ASSERT_EQ(Take(*sequence), n);
    if (n % 50 == 0) {
      for (size_t i = 0; i < all.size(); i += 3) {
        all[i].reset();
        all[i] = Make("new" + std::to_string(n) + "," + std::to_string(i));
        for (int64_t m = 1; m <= n; ++m) ASSERT_EQ(Take(*all[i]), m);
      }
    }
  }
}

TEST_F(SegmentSequenceTest, ClosedWithAThreadBlockInHand_RefusesItsRestToo) {
  options_.thread_block = 50;
  auto sequence = Make();
  EXPECT_EQ(Take(*sequence), 1);
  ASSERT_TRUE(sequence->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(sequence->TryNext().status()));
  EXPECT_EQ(LastOfKey(), 50) << "a gap: the thread's numbers";
}

// --- What cannot be ---

// A user's own engine, which returns impossible numbers.
class LyingSequencer : public Sequencer {
 public:
  explicit LyingSequencer(const SequencerOptions& options) : Sequencer(options) {}
  Taken answer;

 private:
  absl::StatusOr<Taken> Take(const std::string&, int64_t) override { return answer; }
  absl::Status Store(const std::string&, int64_t) override { return absl::OkStatus(); }
  absl::StatusOr<bool> StoreNew(const std::string&, int64_t) override { return true; }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string&) override { return std::nullopt; }
  absl::StatusOr<bool> PutBack(const std::string&, const Taken&, int64_t) override { return true; }
};

TEST_F(SegmentSequenceTest, NumbersThatCannotBe_AreNotUsed) {
  for (int64_t last : {int64_t{0}, int64_t{63}, int64_t{-5}, int64_t{1001}, kHighest}) {
    auto lying = std::make_shared<LyingSequencer>(Limited(1000, SequencerOptions::AtMax::kError));
    lying->answer.last = last;
    auto sequence = SegmentSequence::Create(lying, "k", options_).value();
    EXPECT_FALSE(sequence->TryNext().ok());
    executor_.RunReady();
    EXPECT_TRUE(absl::IsFailedPrecondition(sequence->TryNext().status())) << last;
  }
}

TEST_F(SegmentSequenceTest, BadOptions_AreRefused) {
  auto refused = [&](auto change) {
    SegmentSequence::Options options = options_;
    change(options);
    return absl::IsInvalidArgument(SegmentSequence::Create(store_, "k", options).status());
  };
  using Options = SegmentSequence::Options;
  EXPECT_TRUE(refused([](Options& o) { o.horizon = absl::Milliseconds(1); }));
  EXPECT_TRUE(refused([](Options& o) { o.horizon = absl::Hours(25); }));
  EXPECT_TRUE(refused([](Options& o) { o.min_length = 0; }));
  EXPECT_TRUE(refused([](Options& o) { o.min_length = o.max_length + 1; }));
  EXPECT_TRUE(refused([](Options& o) { o.max_length = (int64_t{1} << 32) + 1; }));
  EXPECT_TRUE(refused([](Options& o) { o.thread_block = -1; }));
  EXPECT_TRUE(refused([](Options& o) { o.thread_block = (int64_t{1} << 20) + 1; }));
  EXPECT_TRUE(refused([](Options& o) { o.clock = nullptr; }));
  EXPECT_TRUE(absl::IsInvalidArgument(SegmentSequence::Create(nullptr, "k", options_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SegmentSequence::Create(store_, "", options_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      SegmentSequence::Create(store_, std::string(513, 'k'), options_).status()));
}

TEST_F(SegmentSequenceTest, DestroyedWithTasksPending_TheyDoNothing) {
  auto sequence = Make();
  EXPECT_FALSE(sequence->TryNext().ok());
  sequence.reset();
  executor_.RunReady();
  EXPECT_EQ(store_->calls(), 0);
}

TEST_F(SegmentSequenceTest, Stats_CountTheNumbersHandedOut) {
  auto sequence = Make();
  EXPECT_EQ(sequence->Stats().numbers, 0u);
  Take(*sequence, 1000);
  SegmentSequenceStats stats = sequence->Stats();
  EXPECT_EQ(stats.numbers, 1000u);
  EXPECT_GT(stats.segments, 2u);
  EXPECT_EQ(stats.store_latency.total(), stats.store_calls);
  ASSERT_TRUE(sequence->Close().ok());
  EXPECT_EQ(sequence->Stats().numbers, 1000u);
}

TEST_F(SegmentSequenceTest, NextWithATimeout_WaitsForTheSequencerOrSaysWhy) {
  options_.executor = nullptr;
  auto sequence = SegmentSequence::Create(store_, "k").value();
  EXPECT_EQ(sequence->Next(absl::Seconds(20)).value(), 1);
  EXPECT_EQ(sequence->NextBlock(2, absl::Seconds(20)).value().first, 2);
  auto other = SegmentSequence::Create(store_, "other").value();
  store_->FailWith(absl::UnavailableError("down"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(other->Next(absl::ZeroDuration()).status()));
}

}  // namespace
}  // namespace locus
