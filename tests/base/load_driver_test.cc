// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/load_driver.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "locus/testing/manual_executor.h"
#include "tests/support/private_server.h"

namespace locus {

using internal::LoadDriver;

namespace {

// A job that blocks while the test wants it to, like one that calls a store.
class BlockingJob {
 public:
  LoadDriver::Job Job() {
    return [this] {
      ++begun;
      while (blocked) std::this_thread::yield();
      ++ended;
      return delay;
    };
  }

  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> blocked = false;
  absl::Duration delay = absl::InfiniteDuration();
};

TEST(LoadDriverTest, TasksDuringARun_DoNotHoldUpTheExecutorsOtherThreads) {
  fakes::ManualExecutor executor;
  BlockingJob job;
  std::unique_ptr<LoadDriver> driver = LoadDriver::OnExecutor(executor, job.Job());
  job.delay = absl::Hours(1);
  driver->Wake();
  executor.RunReady();  // leaves a timer
  ASSERT_EQ(executor.delayed(), 1u);
  job.blocked = true;
  driver->Wake();
  std::thread one([&] { executor.RunReady(); });
  EXPECT_TRUE(WaitUntil([&] { return job.begun == 2; }));
  std::atomic<bool> free = false;
  std::thread other([&] {
    driver->Wake();
    executor.RunDelayed();
    free = true;
  });
  EXPECT_TRUE(WaitUntil([&] { return free.load(); })) << "two threads for one job";
  EXPECT_EQ(job.begun, 2) << "twice at once";
  job.blocked = false;
  one.join();
  other.join();
  executor.RunReady();
  EXPECT_GE(job.ended, 3) << "woken during a run it does not run again";
}

TEST(LoadDriverTest, EndedDuringARun_WaitsForIt) {
  fakes::ManualExecutor executor;
  BlockingJob job;
  job.blocked = true;
  std::unique_ptr<LoadDriver> driver = LoadDriver::OnExecutor(executor, job.Job());
  driver->Wake();
  std::thread running([&] { executor.RunReady(); });
  EXPECT_TRUE(WaitUntil([&] { return job.begun == 1; }));
  std::thread ending([&] {
    driver.reset();
    EXPECT_EQ(job.ended, 1);
  });
  job.blocked = false;
  running.join();
  ending.join();
  EXPECT_EQ(executor.RunDelayed(), 0);
  EXPECT_EQ(job.begun, 1);
}

TEST(LoadDriverTest, TaskThatOutlivesTheDriver_DoesNothing) {
  fakes::ManualExecutor executor;
  BlockingJob job;
  std::unique_ptr<LoadDriver> driver = LoadDriver::OnExecutor(executor, job.Job());
  driver->Wake();
  driver.reset();
  EXPECT_EQ(executor.RunReady(), 1);
  EXPECT_EQ(job.begun, 0);
}

}  // namespace
}  // namespace locus
