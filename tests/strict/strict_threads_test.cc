// SPDX-License-Identifier: Apache-2.0
// Threads that draw while sections go back and forth between two owners of one process.
#include <atomic>
#include <chrono>
#include <thread>

#include "apps/proof/strict/history.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/strict_sequencer.h"

namespace locus {
namespace {

constexpr int kThreads = 3;
constexpr uint64_t kUids = 4;
constexpr size_t kCalls = 30'000;
constexpr int kHandOvers = 150;

int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::unique_ptr<StrictSequencer> Open(const std::shared_ptr<StrictStore>& store,
                                      const StrictSetOptions& set, const std::string& name) {
  StrictSequencerOptions options;
  options.options = set;
  options.name = name;
  return StrictSequencer::Open(store, options).value();
}

TEST(StrictThreadsTest, HandOversUnderLoad_NumbersRiseStrictly) {
  StrictSetOptions set;
  set.uids = 128;
  set.section_size = 64;
  set.step = 500;
  auto store = std::make_shared<MemoryStrictStore>();
  ASSERT_TRUE(store->Create(SpaceName(), set, {.first_ever = true}).ok());
  std::unique_ptr<StrictSequencer> owners[] = {Open(store, set, "a"), Open(store, set, "b")};
  ASSERT_TRUE(owners[0]->Take(std::vector<uint32_t>{0, 1}).ok());

  std::atomic<bool> failed = false;
  std::vector<strict::Drawn> histories[kThreads];
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      size_t which = 0;
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(3);
      while (histories[thread].size() < kCalls) {
        const uint64_t uid = histories[thread].size() % kUids * 32;
        const int64_t called = NowNs();
        auto number = owners[which]->Next(uid, give_up);
        const int64_t answered = NowNs();
        if (number.ok()) {
          histories[thread].push_back({uid, *number, called, answered});
        } else if (absl::IsAborted(number.status()) && std::chrono::steady_clock::now() < give_up) {
          which = 1 - which;
        } else {
          failed = true;
          ADD_FAILURE() << number.status();
          return;
        }
      }
    });
  }
  for (int i = 0; i < kHandOvers && !failed; ++i) {
    StrictSequencer& from = *owners[i % 2];
    StrictSequencer& to = *owners[1 - i % 2];
    ASSERT_TRUE(from.HandOver(std::vector<uint32_t>{0, 1}, to.owner().name).ok());
    auto taken = to.Take(std::vector<uint32_t>{0, 1});
    ASSERT_TRUE(taken.ok()) << taken.status();
    ASSERT_EQ(taken->items[0].verdict, StrictGrant::Verdict::kGranted);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<strict::Drawn> all;
  for (const auto& history : histories) all.insert(all.end(), history.begin(), history.end());
  EXPECT_EQ(all.size(), kThreads * kCalls);
  const strict::Flaws flaws = strict::CheckHistory(all);
  EXPECT_EQ(flaws.order, "");
  EXPECT_EQ(flaws.repeated, "");
}

}  // namespace
}  // namespace locus
