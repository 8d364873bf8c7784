// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/segment_sequence.h"
#include "locus/testing/faulty_sequencer.h"
#include "tests/support/child_process.h"
#include "tests/support/no_more_threads.h"

namespace locus {
namespace {

using fakes::FaultySequencer;

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}
std::chrono::steady_clock::time_point In(int milliseconds) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

int InChild(const std::function<int()>& body) { return ChildProcess(body).Wait(); }

// With a thread of its own and a system clock.
class SequenceThreadTest : public ::testing::Test {
 protected:
  std::unique_ptr<SegmentSequence> Make() {
    return SegmentSequence::Create(store_, "k", options_).value();
  }
  // `count` threads run `body`, which adds numbers to its vector.
  static std::vector<std::vector<int64_t>> OnThreads(
      size_t count, const std::function<void(std::vector<int64_t>&)>& body) {
    std::vector<std::vector<int64_t>> got(count);
    std::vector<std::thread> threads;
    for (auto& mine : got) threads.emplace_back([&] { body(mine); });
    for (std::thread& thread : threads) thread.join();
    return got;
  }
  // All numbers, sorted; checks that the numbers of each thread rise and that none comes twice.
  static std::vector<int64_t> Sorted(const std::vector<std::vector<int64_t>>& got) {
    std::vector<int64_t> all;
    for (const auto& mine : got) {
      EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    return all;
  }

  std::unique_ptr<MemorySequencer> keys_ = MemorySequencer::Create({}).value();
  std::shared_ptr<FaultySequencer> store_ =
      std::make_shared<FaultySequencer>(keys_->Share({}).value());
  SegmentSequence::Options options_;
};

TEST_F(SequenceThreadTest, Next_WaitsForTheStore) {
  auto sequence = Make();
  EXPECT_EQ(sequence->Next(Soon()).value(), 1);
  EXPECT_GE(sequence->Stats().waits, 1u);
  EXPECT_EQ(sequence->NextBlock(10, Soon())->first, 2);
}

TEST_F(SequenceThreadTest, NoThreadToBeHadAtFirst_TheNextCallTriesAgain) {
  auto sequence = Make();
  {
    NoMoreThreads none;
    EXPECT_TRUE(absl::IsUnavailable(sequence->TryNext().status()));
  }
  absl::StatusOr<int64_t> number = sequence->Next(In(2000));
  EXPECT_EQ(number.value_or(0), 1) << number.status();
}

TEST_F(SequenceThreadTest, Next_AtItsDeadlineNamesTheStoresError) {
  auto sequence = Make();
  store_->FailWith(absl::UnavailableError("connection refused"));
  absl::Status status;
  do {
    status = sequence->Next(In(5)).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  } while (status.message() != "connection refused");
  store_->Heal();
  EXPECT_EQ(sequence->Next(Soon()).value(), 1);
}

TEST_F(SequenceThreadTest, ManyThreads_EveryNumberOnceAndNoneLeftOut) {
  options_.min_length = 3;
  options_.max_length = 500;
  auto sequence = Make();
  auto got = OnThreads(4, [&](std::vector<int64_t>& mine) {
    for (int i = 0; i < 20000; ++i) {
      auto number = sequence->Next(Soon());
      ASSERT_TRUE(number.ok()) << number.status();
      mine.push_back(*number);
    }
  });
  std::vector<int64_t> all = Sorted(got);
  ASSERT_EQ(all.size(), 80000u);
  EXPECT_EQ(all.back(), 80000) << "none is left out";
  EXPECT_EQ(sequence->Stats().skipped, 0u);
  EXPECT_GT(sequence->Close().value(), 0);
  EXPECT_EQ(keys_->Get("k").value(), 80000) << "and the key continues there";
}

TEST_F(SequenceThreadTest, ManyThreadsWithLateAnswers_NoNumberTwice) {
  options_.max_length = 200;
  auto sequence = Make();
  std::atomic<bool> done{false};
  std::thread troublemaker([&] {
    while (!done) {
      store_->HoldAnswers();
      std::this_thread::yield();
      store_->Stall();
      std::this_thread::yield();
      store_->Heal();
      std::this_thread::yield();
    }
  });
  auto got = OnThreads(3, [&](std::vector<int64_t>& mine) {
    while (mine.size() < 10000) {
      if (mine.size() % 7 == 0) {
        auto block = sequence->NextBlock(5, Soon());
        ASSERT_TRUE(block.ok()) << block.status();
        for (int64_t n = block->first; n <= block->last(); ++n) mine.push_back(n);
        continue;
      }
      auto number = sequence->Next(Soon());
      ASSERT_TRUE(number.ok()) << number.status();
      mine.push_back(*number);
    }
  });
  done = true;
  troublemaker.join();
  std::vector<int64_t> all = Sorted(got);
  EXPECT_EQ(all.back(), static_cast<int64_t>(all.size())) << "none is left out";
}

// Closes while threads draw, again and again: each sequence continues where the one before ended.
TEST_F(SequenceThreadTest, ClosedWhileThreadsDraw_TheNextLifeContinuesExactly) {
  options_.max_length = 1000;
  std::vector<int64_t> all;
  for (int life = 0; life < 60; ++life) {
    auto sequence = Make();
    std::atomic<int> drawn{0};
    std::thread closer([&] {
      while (drawn < life * 53) std::this_thread::yield();
      EXPECT_TRUE(sequence->Close().ok());
    });
    auto got = OnThreads(2, [&](std::vector<int64_t>& mine) {
      while (true) {
        auto number = sequence->Next(Soon());
        if (absl::IsFailedPrecondition(number.status())) return;
        ASSERT_TRUE(number.ok()) << number.status();
        ++drawn;
        mine.push_back(*number);
      }
    });
    closer.join();
    for (const auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int64_t>(i) + 1);
  EXPECT_EQ(keys_->Get("k").value(), all.back());
}

TEST_F(SequenceThreadTest, ClosedWhileOthersWait_TheyHearOfItAtOnce) {
  auto sequence = Make();
  store_->FailWith(absl::UnavailableError("down"));
  std::thread waiter([&] {
    absl::Status status = sequence->Next(Soon()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  });
  while (sequence->Stats().waits == 0) std::this_thread::yield();
  EXPECT_EQ(sequence->Close().value(), 0);
  waiter.join();
}

TEST_F(SequenceThreadTest, ClosedWhileACallIsUnderWay_ItsNumbersAreReturned) {
  auto sequence = Make();
  store_->HoldAnswers();
  EXPECT_FALSE(sequence->TryNext().ok());
  while (store_->blocked() == 0) std::this_thread::yield();
  EXPECT_EQ(keys_->Get("k").value(), 64);
  std::thread healer([&] {
    // A segment that arrived before Close would be followed by a second one.
    while (!absl::IsFailedPrecondition(sequence->TryNext().status())) std::this_thread::yield();
    store_->Heal();
  });
  EXPECT_EQ(sequence->Close().value(), 64);
  healer.join();
  EXPECT_EQ(keys_->Get("k").value(), 0);
}

TEST_F(SequenceThreadTest, DestroyedWhileTheStoreStalls_WaitsForTheCall) {
  auto sequence = Make();
  store_->Stall();
  EXPECT_FALSE(sequence->TryNext().ok());
  while (store_->blocked() == 0) std::this_thread::yield();
  std::thread healer([&] { store_->Heal(); });
  sequence.reset();
  healer.join();
}

TEST_F(SequenceThreadTest, TwoSequencesOfOneKey_ShareNoNumber) {
  options_.max_length = 100;
  auto one = Make(), other = Make();
  std::atomic<int> turn{0};
  auto got = OnThreads(4, [&](std::vector<int64_t>& mine) {
    SegmentSequence& sequence = turn++ % 2 == 0 ? *one : *other;
    while (mine.size() < 5000) mine.push_back(sequence.Next(Soon()).value());
  });
  Sorted(got);
}

// --- Blocks of threads ---

TEST_F(SequenceThreadTest, ThreadBlocks_NumbersRiseWithinAThreadAndNoneComesTwice) {
  options_.thread_block = 16;
  options_.max_length = 1000;
  auto sequence = Make();
  auto got = OnThreads(4, [&](std::vector<int64_t>& mine) {
    while (mine.size() < 20000) mine.push_back(sequence->Next(Soon()).value());
  });
  std::vector<int64_t> all = Sorted(got);
  EXPECT_LE(all.back(), 80000 + 4 * 16) << "no more is left out than threads had";
}

TEST_F(SequenceThreadTest, ThreadsThatEnd_LeaveTheirRestToLaterOnes) {
  options_.thread_block = 100;
  auto sequence = Make();
  std::vector<int64_t> all;
  for (int i = 0; i < 200; ++i) {
    std::thread([&] {
      for (int n = 0; n < 7; ++n) all.push_back(sequence->Next(Soon()).value());
    }).join();
  }
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int64_t>(i) + 1);
}

TEST_F(SequenceThreadTest, RestBelowTheNumbersOfAThread_IsNotTakenByIt) {
  options_.thread_block = 10;
  auto sequence = Make();
  std::thread early([&] { EXPECT_EQ(sequence->Next(Soon()).value(), 1); });
  early.join();
  std::atomic<int> stage{0};
  std::thread late([&] {
    int64_t last = 0;
    EXPECT_EQ(last = sequence->Next(Soon()).value(), 2) << "what the early one left";
    for (int n = 0; n < 40; ++n) {
      int64_t number = sequence->Next(Soon()).value();
      EXPECT_GT(number, last);
      last = number;
    }
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    for (int n = 0; n < 40; ++n) {
      int64_t number = sequence->Next(Soon()).value();
      EXPECT_GT(number, last);
      last = number;
    }
  });
  while (stage != 1) std::this_thread::yield();
  std::thread([&] { EXPECT_GT(sequence->Next(Soon()).value(), 40); }).join();
  stage = 2;
  late.join();
}

TEST_F(SequenceThreadTest, ThreadsThatOutliveSequences_DoNoHarm) {
  options_.thread_block = 10;
  std::atomic<int> life{0};
  std::atomic<SegmentSequence*> shared{nullptr};
  std::thread survivor([&] {
    for (int seen = 1; seen <= 50; ++seen) {
      while (life < seen) std::this_thread::yield();
      EXPECT_TRUE(shared.load()->Next(Soon()).ok());
      life = -seen;
    }
  });
  for (int i = 1; i <= 50; ++i) {
    auto sequence = Make();
    shared = sequence.get();
    life = i;
    while (life != -i) std::this_thread::yield();
  }
  survivor.join();
}

// --- Fork ---

TEST_F(SequenceThreadTest, ForkedChild_IsRefusedEverywhereAndMayDestroy) {
  for (int64_t thread_block : {0, 50}) {
    options_.thread_block = thread_block;
    auto sequence = Make();
    int64_t before = sequence->Next(Soon()).value();
    EXPECT_EQ(InChild([&] {
                if (!absl::IsFailedPrecondition(sequence->TryNext().status())) return 1;
                if (!absl::IsFailedPrecondition(sequence->Next(Soon()).status())) return 2;
                if (!absl::IsFailedPrecondition(sequence->TryNextBlock(5).status())) return 3;
                if (!absl::IsFailedPrecondition(sequence->NextBlock(5, Soon()).status())) return 4;
                if (!absl::IsFailedPrecondition(sequence->Close().status())) return 5;
                sequence->Stats();
                sequence.reset();
                return 0;
              }),
              0);
    EXPECT_EQ(sequence->Next(Soon()).value(), before + 1) << "the parent continues";
  }
}

TEST_F(SequenceThreadTest, ForkedWhileTheLoaderWaits_ChildDestroysAtOnce) {
  auto sequence = Make();
  store_->Stall();
  EXPECT_FALSE(sequence->TryNext().ok());
  while (store_->blocked() == 0) std::this_thread::yield();
  EXPECT_EQ(InChild([&] {
              sequence.reset();
              return 0;
            }),
            0);
  store_->Heal();
  EXPECT_TRUE(sequence->Next(Soon()).ok());
}

}  // namespace
}  // namespace locus
