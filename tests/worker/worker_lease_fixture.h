// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_WORKER_WORKER_LEASE_FIXTURE_H_
#define LOCUS_TESTS_WORKER_WORKER_LEASE_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "locus/worker_lease.h"
#include "tests/worker/hooked_worker_store.h"

namespace locus {

inline constexpr absl::Duration kSecond = absl::Seconds(1);
inline constexpr absl::Duration kTtl = absl::Seconds(30);

// A user that remembers its calls.
class Numbers : public CeilingUser {
 public:
  void RaiseCeiling(absl::Time ceiling) override { ceilings.push_back(ceiling); }
  absl::Time Close() override {
    closed = true;
    return used;
  }

  std::vector<absl::Time> ceilings;
  absl::Time used = absl::UnixEpoch();
  bool closed = false;
};

class WorkerLeaseTest : public ::testing::Test {
 protected:
  WorkerLeaseOptions Options() {
    WorkerLeaseOptions options;
    options.ttl = kTtl;
    options.clock = &clock_;
    options.executor = &executor_;
    options.on_lost = [this](const absl::Status& why) {
      losses_.push_back(why);
      closed_when_told_ = numbers_->closed;
    };
    options.on_event = [this](const WorkerLeaseEvent& event) { events_.push_back(event); };
    return options;
  }
  std::unique_ptr<WorkerLease> Acquire(const WorkerLeaseOptions& options) {
    auto lease = WorkerLease::Acquire(store_, options);
    if (!lease.ok()) {
      ADD_FAILURE() << lease.status();
      return nullptr;
    }
    executor_.RunReady();
    return *std::move(lease);
  }
  // Lets time pass in steps, after each of which the lease may act.
  void Pass(absl::Duration time, absl::Duration step = kSecond) {
    for (; time > absl::ZeroDuration(); time -= step) {
      clock_.Advance(std::min(time, step));
      executor_.RunDelayed();
    }
  }
  // The machine sleeps.
  void Suspend(absl::Duration time) {
    clock_.Advance(time);
    executor_.RunDelayed();
  }
  void Answer(HookedWorkerStore::Call call, absl::Status status) {
    store_->Before(
        [=](HookedWorkerStore::Call now) { return now == call ? status : absl::OkStatus(); });
  }
  int Count(WorkerLeaseEvent::Kind kind) const {
    return static_cast<int>(std::count_if(events_.begin(), events_.end(),
                                          [&](const auto& event) { return event.kind == kind; }));
  }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::shared_ptr<HookedWorkerStore> store_ = std::make_shared<HookedWorkerStore>(clock_);
  std::shared_ptr<Numbers> numbers_ = std::make_shared<Numbers>();
  std::vector<absl::Status> losses_;
  std::vector<WorkerLeaseEvent> events_;
  bool closed_when_told_ = false;
};

}  // namespace locus

#endif  // LOCUS_TESTS_WORKER_WORKER_LEASE_FIXTURE_H_
