// SPDX-License-Identifier: Apache-2.0
#include "src/counter/sequence_cursor.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/interleaving.h"

namespace locus {

using internal::SequenceCursor;
using internal::SequenceCursorOf;
using internal::SequenceCursorTraits;

namespace {

using Taken = SequenceCursor::Taken;

TEST(SequenceCursorTest, NothingInstalled_HasNothing) {
  std::atomic<uint64_t> word{0};
  SequenceCursor cursor(word, 1);
  Taken taken = cursor.Take(1);
  EXPECT_EQ(taken.count, 0u);
  EXPECT_EQ(taken.generation, 0u);
  EXPECT_EQ(taken.skipped, 0u);
}

TEST(SequenceCursorTest, Segment_IsHandedOutToTheLastNumber) {
  std::atomic<uint64_t> word{0};
  SequenceCursor cursor(word, 5);
  cursor.Install(100, 3);
  EXPECT_EQ(cursor.Take(1).first, 100);
  Taken rest = cursor.Take(10);
  EXPECT_EQ(rest.first, 105);
  EXPECT_EQ(rest.count, 2u);
  Taken none = cursor.Take(1);
  EXPECT_EQ(none.count, 0u);
  EXPECT_EQ(none.generation, 1u);
  EXPECT_EQ(cursor.used(), 3u);
}

TEST(SequenceCursorTest, PollsOfAUsedUpSegment_CostTheNextOneNothing) {
  std::atomic<uint64_t> word{0};
  SequenceCursor cursor(word, 1);
  cursor.Install(1, 2);
  for (int i = 0; i < 1000; ++i) cursor.Take(7);
  cursor.Install(50, 10);
  EXPECT_EQ(cursor.Take(1).first, 50);
}

TEST(SequenceCursorTest, Close_ReturnsExactlyTheNumbersUsed) {
  for (uint64_t used = 0; used <= 12; ++used) {
    std::atomic<uint64_t> word{0};
    SequenceCursor cursor(word, 1);
    cursor.Install(1, 10);
    for (uint64_t i = 0; i < used; ++i) cursor.Take(1);
    EXPECT_EQ(cursor.Close(), std::min<uint64_t>(used, 10));
    Taken none = cursor.Take(1);
    EXPECT_EQ(none.count, 0u);
    EXPECT_EQ(none.generation, 0u);
  }
}

// Offsets of 12 bits and four generations, so that wrapping does not take years.
struct SmallWord : SequenceCursorTraits {
  static constexpr int kGenerationBits = 52;
};
struct FewGenerations : SequenceCursorTraits {
  static constexpr int kGenerationBits = 2;
  static constexpr uint64_t kSlots = 2;
};

TEST(SequenceCursorTest, PollsWithoutEnd_NeverCarryIntoTheGeneration) {
  std::atomic<uint64_t> word{0};
  SequenceCursorOf<SmallWord> cursor(word, 1);
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(cursor.Take(1).generation, 0u) << "nothing installed";
  cursor.Install(1, 100);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(cursor.Take(1).count, 1u);
  for (int i = 0; i < 20000; ++i) {
    auto taken = cursor.Take(1 + i % 30);
    ASSERT_EQ(taken.count, 0u);
    ASSERT_EQ(taken.generation, 1u);
  }
  EXPECT_EQ(cursor.used(), 100u);
  cursor.Install(500, 100);
  EXPECT_EQ(cursor.Take(1).first, 500);
  cursor.Close();
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(cursor.Take(1).generation, 0u) << "closed";
}

TEST(SequenceCursorTest, GenerationsThatComeRound_AreToldApart) {
  std::atomic<uint64_t> word{0};
  SequenceCursorOf<FewGenerations> cursor(word, 1);
  int64_t next = 1;
  for (int i = 0; i < 1000; ++i) {
    cursor.Install(next, 3);
    for (int n = 0; n < 3; ++n) ASSERT_EQ(cursor.Take(1).first, next++);
    auto none = cursor.Take(1);
    ASSERT_EQ(none.count, 0u);
    ASSERT_EQ(none.generation, cursor.generation());
  }
}

// --- Interleavings ---

// Small enough that a slow reader meets slots written anew and generations that came round.
struct Stepped {
  template <typename T>
  using Atomic = SteppedAtomic<T>;
  static constexpr int kGenerationBits = 2;
  static constexpr uint64_t kSlots = 2;
};

struct AllAlike : Stepped {
  static constexpr int kGenerationBits = 1;
};
struct Narrow : Stepped {
  static constexpr int kGenerationBits = 58;  // six bits of offset
};

// A cursor and all that readers got from it. The bodies run one at a time.
template <typename Traits = Stepped>
struct Race {
  SteppedAtomic<uint64_t> word{0};
  SequenceCursorOf<Traits> cursor{word, 1};
  std::vector<int64_t> got;
  uint64_t skipped = 0;

  void Take(uint64_t wanted = 1) {
    auto taken = cursor.Take(wanted);
    for (uint64_t i = 0; i < taken.count; ++i) {
      got.push_back(taken.first + static_cast<int64_t>(i));
    }
    skipped += taken.skipped;
  }
  // The fault if `used` of the numbers from 1 on were used; empty: none.
  void Check(uint64_t used) {
    std::sort(got.begin(), got.end());
    for (size_t i = 1; i < got.size(); ++i) ASSERT_NE(got[i], got[i - 1]) << "twice";
    if (got.empty()) return;
    ASSERT_GE(got.front(), 1);
    ASSERT_LE(got.back(), static_cast<int64_t>(used));
  }
};

TEST(SequenceCursorInterleavings, TwoTakeAndAnotherInstalls_NothingTwiceNothingLost) {
  std::optional<Race<>> race;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        race.emplace();
        race->cursor.Install(1, 2);
        race->Take();
        return {[&] { race->Take(); }, [&] { race->cursor.Install(3, 2); }};
      },
      [&] {
        // The installer replaces a word that it knows to be used up; here the reader may be late.
        while (race->cursor.used() < race->cursor.length()) race->Take();
        race->Check(4);
        EXPECT_EQ(race->skipped, 0u);
        EXPECT_GE(race->got.size(), 3u);
      });
  EXPECT_GT(runs, 100);
}

TEST(SequenceCursorInterleavings, TwoTakeTheLastNumbersWhileTheNextIsInstalled_AllAreHandedOut) {
  std::optional<Race<>> race;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        race.emplace();
        race->cursor.Install(1, 1);
        race->Take();
        return {[&] { race->Take(2); },
                [&] {
                  race->cursor.Install(2, 1);
                  race->Take();
                }};
      },
      [&] {
        race->Take();
        race->Check(2);
        EXPECT_EQ(race->skipped, 0u);
        EXPECT_EQ(race->got, (std::vector<int64_t>{1, 2}));
      },
      /*most_changes=*/3);
  EXPECT_GT(runs, 100);
}

// A reader that stops while generations come round. With one bit all generations look alike in the
// word, and share a slot.
template <typename Traits>
void StandStill(int installs, int most_changes) {
  std::optional<Race<Traits>> race;
  uint64_t most_skipped = 0;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        race.emplace();
        race->cursor.Install(1, 2);
        race->Take();
        return {[&] { race->Take(); },
                [&] {
                  for (int i = 1; i <= installs; ++i) race->cursor.Install(1 + 2 * i, 2);
                }};
      },
      [&] {
        while (race->cursor.used() < race->cursor.length()) race->Take();
        race->Check(static_cast<uint64_t>(2 + 2 * installs));
        most_skipped = std::max(most_skipped, race->skipped);
      },
      most_changes);
  EXPECT_GT(runs, 100);
  EXPECT_EQ(most_skipped, 1u) << "a reader that is too slow loses its number";
}

TEST(SequenceCursorInterleavings, ReaderStopsWhileAllLookAlike_NothingTwice) {
  StandStill<AllAlike>(2, 3);
}

TEST(SequenceCursorInterleavings, ReaderStopsWhileGenerationsComeRound_NothingTwice) {
  StandStill<Stepped>(6, 2);
}

TEST(SequenceCursorInterleavings, CloseWhileTwoTake_ReturnsTheNumbersTaken) {
  std::optional<Race<>> race;
  uint64_t used = 0;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        race.emplace();
        race->cursor.Install(1, 3);
        race->Take();
        return {[&] { race->Take(); }, [&] { race->Take(2); },
                [&] { used = race->cursor.Close(); }};
      },
      [&] {
        race->Take();
        race->Check(used);
        EXPECT_EQ(race->got.size(), used);
      },
      /*most_changes=*/3);
  EXPECT_GT(runs, 100);
}

TEST(SequenceCursorInterleavings, CloseAfterInstall_ReturnsTheNumbersTakenFromTheLastSegment) {
  std::optional<Race<>> race;
  uint64_t used = 0;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        race.emplace();
        race->cursor.Install(1, 1);
        race->Take();
        return {[&] { race->Take(2); },
                [&] {
                  race->cursor.Install(2, 4);
                  used = race->cursor.Close();
                }};
      },
      [&] {
        race->Check(1 + used);
        EXPECT_EQ(race->got.size(), 1 + used);
      },
      /*most_changes=*/3);
  EXPECT_GT(runs, 100);
}

TEST(SequenceCursorInterleavings, FullOffsetsSetBackByTwo_NeverCarry) {
  std::optional<SteppedAtomic<uint64_t>> word;
  std::optional<SequenceCursorOf<Narrow>> cursor;
  int runs = Interleavings::Explore(
      [&]() -> std::vector<std::function<void()>> {
        word.emplace(0);
        cursor.emplace(*word, 1);
        cursor->Install(1, 1);
        for (int i = 0; i < 32; ++i) cursor->Take(1);
        auto poll = [&] {
          for (int i = 0; i < 2; ++i) EXPECT_EQ(cursor->Take(1).generation, 1u);
        };
        return {poll, poll};
      },
      [&] {
        EXPECT_EQ(word->load(std::memory_order_relaxed) >> 6, 1u);
        cursor->Install(9, 1);
        EXPECT_EQ(cursor->Take(1).first, 9);
      },
      /*most_changes=*/2);
  EXPECT_GT(runs, 100);
}

// --- Threads ---

TEST(SequenceCursorThreads, ManyTakeWhileSegmentsAreInstalled_EveryNumberOnce) {
  std::atomic<uint64_t> word{0};
  SequenceCursor cursor(word, 1);
  std::mutex installing;
  int64_t next = 1;
  constexpr int64_t kEnd = 60000;
  auto move_on = [&](uint64_t generation) {
    std::lock_guard lock(installing);
    if (cursor.generation() != generation || next >= kEnd) return;
    int64_t length = 1 + next % 37;
    cursor.Install(next, static_cast<uint64_t>(length));
    next += length;
  };
  std::vector<std::vector<int64_t>> got(4);
  std::atomic<uint64_t> skipped{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] {
      while (true) {
        Taken taken = cursor.Take(1 + t);
        skipped += taken.skipped;
        for (uint64_t i = 0; i < taken.count; ++i) {
          got[t].push_back(taken.first + static_cast<int64_t>(i));
        }
        if (taken.count > 0) continue;
        if (taken.skipped == 0) move_on(taken.generation);
        std::lock_guard lock(installing);
        if (next >= kEnd && cursor.used() == cursor.length()) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const auto& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "a number came twice";
  // A thread that the system keeps waiting while 256 of these short segments pass loses its own.
  EXPECT_LE(all.size(), static_cast<size_t>(next - 1));
  EXPECT_GE(all.size() + skipped, static_cast<size_t>(next - 1)) << skipped << " skipped";
  EXPECT_EQ(all.back(), next - 1);
}

}  // namespace
}  // namespace locus
