// SPDX-License-Identifier: Apache-2.0
// An owner of strict sequences at the limit of its memory.
#include <atomic>
#include <chrono>
#include <thread>

#include "apps/proof/strict/history.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/strict_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "src/strict/section.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLimit = StrictSequencerOptions::kLeastMemory;
constexpr uint64_t kInAPage = 512;
constexpr uint64_t kPages = kLimit / (kInAPage * 8);

// A page for each of their uids that this test draws: twice the limit, in four sections.
StrictSetOptions Sparse() {
  StrictSetOptions set;
  set.section_size = static_cast<uint32_t>(kPages / 2 * kInAPage);
  set.uids = 4 * set.section_size;
  set.step = 100;
  return set;
}

std::unique_ptr<StrictSequencer> Open(std::shared_ptr<StrictStore> store,
                                      StrictSequencerOptions options) {
  options.options = Sparse();
  options.name = "a";
  options.most_memory = kLimit;
  auto sequencer = StrictSequencer::Open(std::move(store), options).value();
  EXPECT_TRUE(sequencer->Take(std::vector<uint32_t>{0, 1, 2, 3}).ok());
  return sequencer;
}

TEST(StrictMemoryTest, AtTheLimit_TheSectionOpenedFirstContinuesAboveTheStoredNumber) {
  fakes::ManualClock clock;
  fakes::ManualExecutor executor;
  auto store = std::make_shared<MemoryStrictStore>(clock);
  ASSERT_TRUE(store->Create(SpaceName(), Sparse(), {.first_ever = true}).ok());
  StrictSequencerOptions options;
  options.clock = &clock;
  options.executor = &executor;
  const auto a = Open(store, options);
  EXPECT_EQ(a->Stats().memory_bytes, 0u);
  for (uint64_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(*a->TryNext(page * kInAPage), 1u) << page;
  }
  EXPECT_EQ(a->Stats().memory_bytes, kLimit);
  EXPECT_EQ(*a->TryNext(0), 2u) << "keys that have memory continue";
  EXPECT_EQ(*a->TryNext(1), 1u) << "and so do those beside them";
  const absl::Status status = a->TryNext(kPages * kInAPage).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("section 2: keys have all the memory that they may have, 1048576 bytes"));
  std::vector<uint64_t> numbers(3);
  EXPECT_EQ(a->TryNextBatch(std::vector<uint64_t>{0, kPages * kInAPage, 1}, numbers).message(),
            status.message());
  EXPECT_THAT(numbers, ::testing::ElementsAre(3, 0, 2));

  executor.RunReady();
  EXPECT_EQ(a->Stats().let_go, 1u);
  EXPECT_EQ(a->Stats().memory_bytes, kLimit / 2);
  EXPECT_EQ(*a->TryNext(kPages * kInAPage), 1u);
  EXPECT_EQ(*a->TryNext(0), 101u) << "above all that section 0 ever answered";
  EXPECT_EQ(*a->TryNext(kInAPage + 7), 101u) << "and so a key that had none";
  EXPECT_EQ(*a->TryNext(kPages / 2 * kInAPage), 2u) << "section 1 was opened later";
  EXPECT_EQ(store->Show(SpaceName())->sections[0].max_seq, 200u);

  ASSERT_TRUE(a->HandOver(std::vector<uint32_t>{0, 1, 2, 3}).ok());
  EXPECT_EQ(a->Stats().memory_bytes, 0u);
}

TEST(StrictMemoryTest, OwnershipThatEnds_FreesNoMemory) {
  fakes::ManualClock clock;
  fakes::ManualExecutor executor;
  auto store = std::make_shared<MemoryStrictStore>(clock);
  ASSERT_TRUE(store->Create(SpaceName(), Sparse(), {.first_ever = true}).ok());
  StrictSequencerOptions options;
  options.clock = &clock;
  options.executor = &executor;
  const auto a = Open(store, options);
  for (uint64_t page = 0; page <= kPages; ++page) (void)a->TryNext(page * kInAPage);
  clock.Advance(Sparse().ttl + absl::Milliseconds(1));
  executor.RunReady();
  EXPECT_EQ(a->Stats().let_go, 0u);
  EXPECT_EQ(a->Stats().lost, 4u);
  EXPECT_EQ(a->Stats().memory_bytes, 0u);
}

TEST(StrictMemoryTest, BadLimit_IsRefusedByName) {
  auto store = std::make_shared<MemoryStrictStore>();
  ASSERT_TRUE(store->Create(SpaceName(), Sparse(), {.first_ever = true}).ok());
  StrictSequencerOptions options;
  options.options = Sparse();
  options.name = "a";
  options.most_memory = 4096;
  EXPECT_EQ(StrictSequencer::Open(store, options).status().message(),
            "most_memory is 4096; it must be 1048576 to 70368744177664 bytes");
}

// More keys than fit into the limit, drawn by several threads while sections free memory.
TEST(StrictMemoryTest, TwiceAsManyKeysAsFit_RiseStrictlyUnderLoad) {
  constexpr int kThreads = 3;
  constexpr size_t kCalls = 6'000;
  auto store = std::make_shared<MemoryStrictStore>();
  ASSERT_TRUE(store->Create(SpaceName(), Sparse(), {.first_ever = true}).ok());
  const auto a = Open(store, {});
  const auto now_ns = [] {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  };
  std::vector<strict::Drawn> histories[kThreads];
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(3);
      for (size_t i = 0; i < kCalls; ++i) {
        const uint64_t uid = (i + static_cast<uint64_t>(thread)) % (2 * kPages) * kInAPage;
        const int64_t called = now_ns();
        const auto number = a->Next(uid, give_up);
        ASSERT_TRUE(number.ok()) << number.status();
        histories[thread].push_back({uid, *number, called, now_ns()});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StrictSequencerStats stats = a->Stats();
  EXPECT_GT(stats.let_go, 20u);
  EXPECT_LE(stats.memory_bytes, kLimit);
  std::vector<strict::Drawn> all;
  for (const auto& history : histories) all.insert(all.end(), history.begin(), history.end());
  EXPECT_EQ(all.size(), kThreads * kCalls);
  const strict::Flaws flaws = strict::CheckHistory(all);
  EXPECT_EQ(flaws.order, "");
  EXPECT_EQ(flaws.repeated, "");
}

}  // namespace
}  // namespace locus
