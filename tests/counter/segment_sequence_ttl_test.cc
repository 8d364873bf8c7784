// SPDX-License-Identifier: Apache-2.0
// A counter that is forgotten while a process holds numbers of it.
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/counter/segment_sequence_fixture.h"

namespace locus {
namespace {

constexpr absl::Duration kTtl = absl::Minutes(10);

class SegmentSequenceTtlTest : public SegmentSequenceTest {
 protected:
  SegmentSequenceTtlTest() {
    SequencerOptions options;
    options.ttl = kTtl;
    keys_ = MemorySequencer::Create(options, clock_).value();
    store_ = std::make_shared<fakes::FaultySequencer>(keys_->Share(options).value());
  }
};

TEST_F(SegmentSequenceTtlTest, HalfOfTheTtl_EndsTheHeldNumbers) {
  auto sequence = Make();
  EXPECT_EQ(Take(*sequence, 3), (std::vector<int64_t>{1, 2, 3}));
  clock_.Advance(kTtl / 2 - absl::Seconds(1));
  EXPECT_EQ(sequence->TryNext().value(), 4);
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(absl::IsUnavailable(sequence->TryNext().status()));
  EXPECT_TRUE(absl::IsUnavailable(sequence->TryNextBlock(5).status()));
  const int64_t next = Take(*sequence);
  EXPECT_EQ(next % 64, 1) << "the first of another segment: " << next;
  EXPECT_GT(next, 64);
}

TEST_F(SegmentSequenceTtlTest, ForgottenCounter_ItsNumbersBelongToTheProcessThatBeganItAgain) {
  auto one = Make(), other = Make();
  EXPECT_EQ(Take(*one), 1);
  clock_.Advance(kTtl + absl::Seconds(1));
  EXPECT_EQ(Take(*other), 1) << "it began again";
  std::set<int64_t> numbers = {1};
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(numbers.insert(Take(*one)).second);
    EXPECT_TRUE(numbers.insert(Take(*other)).second);
  }
}

TEST_F(SegmentSequenceTtlTest, CounterInSteadyUse_LosesNoNumber) {
  auto sequence = Make();
  int64_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t number = Take(*sequence);
    EXPECT_EQ(number, last + 1);
    last = number;
    PassTime(absl::Milliseconds(100));
  }
  EXPECT_EQ(sequence->Stats().numbers, 2000u);
}

TEST_F(SegmentSequenceTtlTest, NumbersGivenUp_AreNotCountedAsHandedOut) {
  auto sequence = Make();
  Take(*sequence, 3);
  clock_.Advance(kTtl);
  Take(*sequence, 2);
  const SegmentSequenceStats stats = sequence->Stats();
  EXPECT_GE(stats.numbers, 5u);
  EXPECT_LE(stats.numbers, 5u + stats.skipped);
}

TEST_F(SegmentSequenceTtlTest, Close_ReturnsNothingAfterHalfOfTheTtl) {
  auto sequence = Make();
  Take(*sequence);
  const int64_t before = LastOfKey();
  clock_.Advance(kTtl / 2);
  EXPECT_EQ(sequence->Close().value(), 0);
  EXPECT_EQ(LastOfKey(), before);
}

TEST_F(SegmentSequenceTtlTest, ThreadBlocks_DoNotOutliveTheirSegment) {
  options_.thread_block = 8;
  auto sequence = Make();
  EXPECT_EQ(Take(*sequence, 2), (std::vector<int64_t>{1, 2}));
  clock_.Advance(kTtl);
  EXPECT_TRUE(absl::IsUnavailable(sequence->TryNext().status()));
}

// Measures time by another clock's wall time, like an engine on the same host.
class WallClock : public Clock {
 public:
  explicit WallClock(Clock& of) : of_(of) {}
  absl::Time Now() override { return of_.Now(); }
  absl::Duration SinceBoot() override { return of_.Now() - absl::UnixEpoch(); }

 private:
  Clock& of_;
};

// The wall clock jumps ahead: the engine forgets the counter while numbers of it are held.
TEST_F(SegmentSequenceTtlTest, WallClockThatJumpsAhead_EndsTheHeldNumbers) {
  WallClock of_engine(clock_);
  SequencerOptions options;
  options.ttl = kTtl;
  keys_ = MemorySequencer::Create(options, of_engine).value();
  store_ = std::make_shared<fakes::FaultySequencer>(keys_->Share(options).value());
  auto one = Make(), other = Make();
  std::set<int64_t> numbers = {Take(*one)};
  clock_.Advance(kTtl / 2 - absl::Seconds(10));
  clock_.Jump(kTtl / 2 + absl::Seconds(20));
  const int64_t anew = Take(*other);
  EXPECT_EQ(anew, 1) << "it began again";
  numbers.insert(anew);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(numbers.insert(Take(*one)).second);
    EXPECT_TRUE(numbers.insert(Take(*other)).second);
  }
  clock_.Jump(kTtl);
  EXPECT_EQ(one->Close().value(), 0) << "the counter is another one";
}

// Reports that counters are forgotten, and keeps them: the counter has one life.
class Keeping : public Sequencer {
 public:
  explicit Keeping(absl::Duration ttl) : Sequencer(OptionsWith(ttl)) {}

 private:
  static SequencerOptions OptionsWith(absl::Duration ttl) {
    SequencerOptions options;
    options.ttl = ttl;
    return options;
  }
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    absl::StatusOr<SequenceBatch> batch = inner_->NextBatch(name, span);
    if (!batch.ok()) return batch.status();
    return Taken{batch->last(), batch->version};
  }
  absl::StatusOr<bool> PutBack(const std::string&, const Taken&, int64_t) override { return false; }
  absl::Status Store(const std::string&, int64_t) override { return absl::OkStatus(); }
  absl::StatusOr<bool> StoreNew(const std::string&, int64_t) override { return false; }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string&) override { return std::nullopt; }

  const std::unique_ptr<MemorySequencer> inner_ = MemorySequencer::Create({}).value();
};

TEST(SegmentSequenceTtlThreadsTest, SegmentsThatEndWhileThreadsDraw_GiveNoNumberTwice) {
  SegmentSequence::Options options;
  options.min_length = 1000;
  auto sequence =
      SegmentSequence::Create(std::make_shared<Keeping>(absl::Milliseconds(40)), "k", options)
          .value();
  const absl::Time until = absl::Now() + absl::Seconds(60);
  std::vector<std::vector<int64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& numbers : drawn) {
    threads.emplace_back([&] {
      // Until enough segments ended while threads drew.
      while (sequence->Stats().skipped < 20 && absl::Now() < until) {
        for (int i = 0; i < 5; ++i) {
          const absl::StatusOr<int64_t> number = sequence->Next(absl::Seconds(60));
          if (number.ok()) numbers.push_back(*number);
        }
        absl::SleepFor(absl::Milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(sequence->Stats().skipped, 20u);
  std::set<int64_t> all;
  size_t count = 0;
  for (const auto& numbers : drawn) {
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_EQ(all.size(), count);
}

}  // namespace
}  // namespace locus
