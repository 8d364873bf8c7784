// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/worker_lease.h"
#include "tests/support/child_process.h"
#include "tests/support/no_more_threads.h"
#include "tests/worker/worker_lease_fixture.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Call = HookedWorkerStore::Call;

// With threads of its own; only the times of the lease are the test's.
class WorkerLeaseThreadsTest : public WorkerLeaseTest {
 protected:
  WorkerLeaseOptions Options() {
    WorkerLeaseOptions options = WorkerLeaseTest::Options();
    options.executor = nullptr;
    options.on_lost = [this](const absl::Status& why) {
      std::lock_guard lock(mutex_);
      loss_ = why;
      changed_.notify_all();
    };
    options.on_event = nullptr;
    return options;
  }
  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status loss_;
};

TEST_F(WorkerLeaseThreadsTest, RenewalThatHangs_DoesNotHideTheLoss) {
  bool asked = false;
  bool go_on = false;
  store_->Before([&](Call call) {
    if (call != Call::kRenew) return absl::OkStatus();
    std::unique_lock lock(mutex_);
    asked = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return go_on; });
    return absl::OkStatus();
  });
  auto lease = WorkerLease::Acquire(store_, Options()).value();
  clock_.Advance(11 * kSecond);
  ASSERT_TRUE(Await([&] { return asked; }));
  clock_.Advance(kTtl);
  EXPECT_FALSE(lease->held());
  EXPECT_TRUE(Await([&] { return !loss_.ok(); })) << "while the renewal is under way";
  {
    std::lock_guard lock(mutex_);
    go_on = true;
    changed_.notify_all();
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(lease->Release()));
}

TEST_F(WorkerLeaseThreadsTest, ReleaseDuringARenewal_WaitsForIt) {
  bool asked = false;
  store_->Before([&](Call call) {
    if (call != Call::kRenew) return absl::OkStatus();
    std::unique_lock lock(mutex_);
    asked = true;
    changed_.notify_all();
    return absl::OkStatus();
  });
  for (int i = 0; i < 20; ++i) {
    asked = false;
    auto lease = WorkerLease::Acquire(store_, Options()).value();
    auto numbers = std::make_shared<Numbers>();
    ASSERT_TRUE(lease->Bind(numbers).ok());
    clock_.Advance(11 * kSecond);
    ASSERT_TRUE(Await([&] { return asked; }));
    const uint64_t id = lease->worker();
    std::thread other([&] { EXPECT_TRUE(lease->Release().ok()); });
    EXPECT_TRUE(lease->Release().ok());
    other.join();
    EXPECT_EQ(store_->Record(id)->ceiling, numbers->used);
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(loss_.ok());
  }
}

TEST_F(WorkerLeaseThreadsTest, InAForkedChild_DoesNothing) {
  auto lease = WorkerLease::Acquire(store_, Options()).value();
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  int answer = ChildProcess([&] {
                 if (lease->held()) return 1;
                 if (!absl::IsFailedPrecondition(lease->Release())) return 2;
                 if (!absl::IsFailedPrecondition(lease->Bind(numbers_))) return 3;
                 if (lease->Stats().held || lease->ceiling() != lease->floor()) return 4;
                 lease.reset();
                 if (numbers_->closed || !store_->releases().empty()) return 5;
                 return 0;
               }).Wait();
  EXPECT_EQ(answer, 0);
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(lease->Release().ok());
}

TEST_F(WorkerLeaseThreadsTest, SystemWithoutThreads_GivesTheIdBack) {
  {
    NoMoreThreads none;
    absl::Status status = WorkerLease::Acquire(store_, Options()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("thread"));
  }
  ASSERT_EQ(store_->releases().size(), 1u);
  EXPECT_EQ(store_->Record(store_->releases()[0].worker)->nonce, "");
  EXPECT_LT(store_->Record(store_->releases()[0].worker)->ceiling, clock_.Now());
}

}  // namespace
}  // namespace locus
