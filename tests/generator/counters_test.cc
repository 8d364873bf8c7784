// SPDX-License-Identifier: Apache-2.0
#include "src/segment/counters.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace locus {

using internal::Counters;
using internal::SegmentWord;

namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 56;

SegmentWord Word(uint64_t first, uint64_t length) { return SegmentWord({first, length}); }

TEST(SegmentWordTest, EverySegment_SurvivesPacking) {
  for (uint64_t first = 64; first < kNoLimit; first *= 2) {
    for (uint64_t length = 64; length < kNoLimit; length *= 2) {
      SegmentWord word({first, length});
      EXPECT_EQ(word.first(), first);
      EXPECT_EQ(word.length(), length);
      EXPECT_FALSE(word.empty());
    }
  }
}

TEST(CountersTest, NoSegment_HandsOutNothing) {
  Counters counters(256, kNoLimit);
  for (int gene = 0; gene < 65536; ++gene) {
    ASSERT_EQ(counters.Take(static_cast<uint16_t>(gene)), Counters::kNone);
  }
}

TEST(CountersTest, EveryVnodeOfASection_MayUseTheWholeSegment) {
  Counters counters(256, kNoLimit);
  ASSERT_TRUE(counters.Publish(1, SegmentWord(), Word(6400, 64), absl::ZeroDuration()));
  for (uint16_t gene : std::vector<uint16_t>{256, 300, 511}) {
    for (uint64_t n = 0; n < 64; ++n) EXPECT_EQ(counters.Take(gene), 6400 + n);
    EXPECT_EQ(counters.Take(gene), Counters::kNone);
  }
  EXPECT_EQ(counters.Take(255), Counters::kNone);
  EXPECT_EQ(counters.Take(512), Counters::kNone);
}

TEST(CountersTest, MoveOn_TakesTheEarliestNextSegment) {
  Counters counters(256, kNoLimit);
  SegmentWord first = Word(640, 64);
  ASSERT_TRUE(counters.Publish(0, SegmentWord(), first, absl::ZeroDuration()));
  ASSERT_TRUE(counters.Store(0, Word(6400, 64)));
  ASSERT_TRUE(counters.Store(0, Word(1280, 128)));
  EXPECT_TRUE(counters.MoveOn(0, first, absl::ZeroDuration()));
  EXPECT_EQ(counters.Current(0), Word(1280, 128));
  EXPECT_TRUE(counters.MoveOn(0, Word(1280, 128), absl::ZeroDuration()));
  EXPECT_EQ(counters.Current(0), Word(6400, 64));
  EXPECT_FALSE(counters.MoveOn(0, Word(6400, 64), absl::ZeroDuration()));
}

TEST(CountersTest, SegmentTakenTooLate_IsPutBackOrGivenUpButNeverGoesBackwards) {
  Counters counters(256, kNoLimit);
  SegmentWord first = Word(640, 64);
  ASSERT_TRUE(counters.Publish(0, SegmentWord(), first, absl::ZeroDuration()));
  ASSERT_TRUE(counters.Store(0, Word(1280, 64)));
  Counters::Next slow = *counters.PeekNext(0);
  ASSERT_TRUE(counters.TakeNext(0, slow));
  ASSERT_TRUE(counters.Store(0, Word(2560, 64)));
  ASSERT_TRUE(counters.MoveOn(0, first, absl::ZeroDuration()));
  EXPECT_FALSE(counters.Publish(0, first, slow.segment, absl::ZeroDuration()));
  counters.PutBack(0, slow.segment);
  EXPECT_EQ(counters.Current(0), Word(2560, 64));
  EXPECT_EQ(counters.NextCount(0), 0);
  EXPECT_EQ(counters.overtaken(), 1u);
}

// An empty segment shows nothing about the segment that was in use before.
TEST(CountersTest, SegmentTakenTooLate_IsGivenUpAlsoWhenItsOvertakerWasDropped) {
  Counters counters(256, kNoLimit);
  ASSERT_TRUE(counters.Publish(0, SegmentWord(), Word(2560, 64), absl::ZeroDuration()));
  ASSERT_TRUE(counters.Drop(0, Word(2560, 64)));
  counters.PutBack(0, Word(1280, 64));
  EXPECT_EQ(counters.NextCount(0), 0);
}

TEST(CountersTest, EarlierSegment_IsNeverPublishedOverALaterOne) {
  Counters counters(256, kNoLimit);
  ASSERT_TRUE(counters.Publish(0, SegmentWord(), Word(2560, 64), absl::ZeroDuration()));
  EXPECT_FALSE(counters.Publish(0, Word(2560, 64), Word(1280, 64), absl::ZeroDuration()));
  EXPECT_EQ(counters.Current(0), Word(2560, 64));
}

TEST(CountersTest, Limit_EndsAVnodeInTheMiddleOfASegment) {
  Counters counters(256, 640 + 10);
  ASSERT_TRUE(counters.Publish(0, SegmentWord(), Word(640, 64), absl::ZeroDuration()));
  for (int n = 0; n < 10; ++n) EXPECT_FALSE(counters.Take(0) == Counters::kNone);
  EXPECT_EQ(counters.Take(0), Counters::kNone);
  EXPECT_TRUE(counters.PastLimit(0));
  EXPECT_FALSE(counters.PastLimit(1));
}

TEST(CountersTest, ThreadsOnOneVnode_ShareSegmentsWithoutARepeatOrAGap) {
  Counters counters(256, kNoLimit);
  constexpr uint64_t kSegments = 200, kLength = 64;
  std::atomic<uint64_t> stored{0};
  std::vector<std::vector<uint64_t>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      while (mine.empty() || stored < kSegments || counters.NextCount(0) > 0 ||
             !counters.UsedUp(7, counters.Current(0))) {
        uint64_t sequence = counters.Take(7);
        if (sequence != Counters::kNone) {
          mine.push_back(sequence);
          continue;
        }
        SegmentWord segment = counters.Current(0);
        if (counters.UsedUp(7, segment)) counters.MoveOn(0, segment, absl::ZeroDuration());
        if (stored >= kSegments && counters.NextCount(0) == 0 && mine.empty()) break;
      }
    });
  }
  while (stored < kSegments) {
    if (counters.Store(0, Word(kLength * (stored + 1), kLength))) ++stored;
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (auto& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.size() + kLength * counters.overtaken(), kSegments * kLength);
}

TEST(CountersTest, Given_CountsWhatWasTakenFromEverySegment) {
  Counters counters(256, kNoLimit);
  EXPECT_EQ(counters.Given(), 0u);
  SegmentWord first = Word(6400, 64);
  ASSERT_TRUE(counters.Publish(1, SegmentWord(), first, absl::ZeroDuration()));
  for (int i = 0; i < 10; ++i) counters.Take(256);
  for (int i = 0; i < 64; ++i) counters.Take(257);
  EXPECT_EQ(counters.Given(), 74u);
  ASSERT_TRUE(counters.Publish(1, first, Word(64000, 128), absl::ZeroDuration()));
  EXPECT_EQ(counters.Given(), 74u);
  counters.Take(256);
  EXPECT_EQ(counters.Given(), 75u);
  ASSERT_TRUE(counters.Drop(1, Word(64000, 128)));
  EXPECT_EQ(counters.Given(), 75u);
}

// Callers inline this part; it may only take what Take would.
TEST(HotCountersTest, TakesInsideTheSegmentAndNowhereElse) {
  Counters counters(256, kNoLimit);
  internal::HotCounters hot = counters.hot();
  uint64_t sequence;
  EXPECT_FALSE(hot.TryTake(256, sequence)) << "no segment";
  ASSERT_TRUE(counters.Publish(1, SegmentWord(), Word(6400, 64), absl::ZeroDuration()));
  EXPECT_FALSE(hot.TryTake(256, sequence)) << "the cursor is below the segment";
  EXPECT_EQ(counters.Take(256), 6400u);
  for (uint64_t i = 1; i < 64; ++i) {
    ASSERT_TRUE(hot.TryTake(256, sequence));
    EXPECT_EQ(sequence, 6400 + i);
  }
  EXPECT_FALSE(hot.TryTake(256, sequence)) << "the cursor is at the segment's end";
  EXPECT_EQ(counters.Take(256), Counters::kNone);

  Counters wide(256, kNoLimit);
  internal::HotCounters of_wide = wide.hot();
  uint64_t last_narrow = OrderId::kMaxNarrowSequence;
  ASSERT_TRUE(
      wide.Publish(0, SegmentWord(), Word(last_narrow + 1 - 64, 128), absl::ZeroDuration()));
  wide.Take(0);
  while (of_wide.TryTake(0, sequence)) last_narrow = sequence;
  EXPECT_EQ(last_narrow, OrderId::kMaxNarrowSequence) << "a wide ID is not a usual one";
  EXPECT_EQ(wide.Take(0), OrderId::kMaxNarrowSequence + 1);
}

TEST(HotCountersTest, TheZeroOfAForkedChild_IsNoSegmentForAnyCursor) {
  EXPECT_EQ(internal::HotCounters::Read(0), SegmentWord());
  for (SegmentWord word :
       {SegmentWord(), Word(0, 64), Word(6400, 64), Word(uint64_t{1} << 55, 128)}) {
    EXPECT_EQ(internal::HotCounters::Read(internal::HotCounters::Stored(word)), word);
    EXPECT_NE(internal::HotCounters::Stored(word), 0u);
  }
}

}  // namespace
}  // namespace locus
