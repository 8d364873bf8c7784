// SPDX-License-Identifier: Apache-2.0
#include "routing/router/epoch_waiters.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/private_server.h"

namespace locus::internal {
namespace {

EpochWaiters::TimePoint In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}
constexpr std::chrono::milliseconds kLong = std::chrono::minutes(2);

bool WaitNot(EpochWaiters& waiters, uint64_t epoch) {
  return waiters.Wait(epoch, EpochWaiters::TimePoint::min(), [] {});
}

TEST(EpochWaitersTest, EpochThatCameBefore_IsNotWaitedFor) {
  EpochWaiters waiters;
  waiters.Reached(5);
  EXPECT_TRUE(WaitNot(waiters, 5));
  EXPECT_TRUE(WaitNot(waiters, 1));
  EXPECT_FALSE(WaitNot(waiters, 6));
  waiters.Reached(4);  // from a slower installer
  EXPECT_TRUE(WaitNot(waiters, 5));
  EXPECT_EQ(waiters.sleeps(), 0u);
}

TEST(EpochWaitersTest, DeadlinePasses_IsFalseAndLeavesNothingBehind) {
  EpochWaiters waiters;
  size_t waiting = 0;
  EXPECT_FALSE(
      waiters.Wait(1, In(std::chrono::milliseconds(5)), [&] { waiting = waiters.waiting(); }));
  EXPECT_EQ(waiting, 1u);
  EXPECT_EQ(waiters.waiting(), 0u);
  waiters.Reached(1);
}

TEST(EpochWaitersTest, EarlierEpochs_WakeOnlyTheirOwnWaiters) {
  constexpr int kThreads = 50;
  EpochWaiters waiters;
  std::atomic<int> early = 0, late = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { early += waiters.Wait(2, In(kLong), [] {}); });
    threads.emplace_back([&] { late += waiters.Wait(1000, In(kLong), [] {}); });
  }
  ASSERT_TRUE(WaitUntil([&] { return waiters.waiting() == 2 * kThreads; }));
  // Each of them sleeps; a system may wake some for no reason, but not in hundreds.
  ASSERT_TRUE(WaitUntil([&] { return waiters.sleeps() >= 2 * kThreads; }));
  waiters.Reached(2);
  ASSERT_TRUE(WaitUntil([&] { return early == kThreads; }));
  EXPECT_EQ(waiters.waiting(), static_cast<size_t>(kThreads));
  uint64_t sleeps = waiters.sleeps();
  for (uint64_t epoch = 3; epoch < 1000; ++epoch) waiters.Reached(epoch);
  EXPECT_LE(waiters.sleeps(), sleeps + kThreads);
  EXPECT_EQ(late, 0);
  waiters.Reached(1000);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(late, kThreads);
  EXPECT_EQ(waiters.waiting(), 0u);
}

}  // namespace
}  // namespace locus::internal
