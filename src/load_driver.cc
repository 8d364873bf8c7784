// SPDX-License-Identifier: Apache-2.0
#include "src/load_driver.h"

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "src/mutex.h"

namespace locus {
namespace {

class OnOwnThread : public LoadDriver {
 public:
  explicit OnOwnThread(Job job) : job_(std::move(job)) {}

  ~OnOwnThread() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      wake_up_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  void Wake() override {
    // Pairs with the exchange in Run: a wake that finds the flag set is seen by the run to come.
    if (woken_.exchange(true)) return;
    MutexLock lock(mutex_);
    if (!started_) {
      started_ = true;
      thread_ = std::thread([this] { Run(); });
    }
    wake_up_.NotifyAll();
  }

 private:
  void Run() {
    auto due = std::chrono::steady_clock::time_point::max();
    while (true) {
      {
        MutexLock lock(mutex_);
        while (!stopping_ && !woken_ && std::chrono::steady_clock::now() < due) {
          if (due == std::chrono::steady_clock::time_point::max()) {
            wake_up_.Wait(mutex_);
          } else {
            wake_up_.WaitUntil(mutex_, due);
          }
        }
        if (stopping_) return;
      }
      woken_.exchange(false);
      absl::Duration delay = job_();
      due = delay > absl::Hours(24)
                ? std::chrono::steady_clock::time_point::max()
                : std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(delay);
    }
  }

  const Job job_;
  std::atomic<bool> woken_{false};
  Mutex mutex_;
  CondVar wake_up_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // set once, under mutex_; joined when no Wake can follow
};

// Tasks may outlive the driver: they hold the gate, which the driver shuts.
class OnUsersExecutor : public LoadDriver {
 public:
  OnUsersExecutor(Executor& executor, Job job)
      : executor_(executor), gate_(std::make_shared<Gate>(this)), job_(std::move(job)) {}

  ~OnUsersExecutor() override {
    MutexLock lock(gate_->mutex);
    gate_->driver = nullptr;
  }

  void Wake() override {
    if (woken_.exchange(true)) return;
    Post(absl::ZeroDuration());
  }

 private:
  struct Gate {
    explicit Gate(OnUsersExecutor* driver_in) : driver(driver_in) {}
    Mutex mutex;  // held while the job runs
    OnUsersExecutor* driver ABSL_GUARDED_BY(mutex);
  };

  void Post(absl::Duration delay) {
    executor_.Post(
        [gate = gate_, is_timer = delay > absl::ZeroDuration()] {
          MutexLock lock(gate->mutex);
          if (gate->driver != nullptr) gate->driver->RunOnce(is_timer);
        },
        delay);
  }

  // Called with the gate's mutex held.
  void RunOnce(bool is_timer) {
    if (is_timer) timer_due_ = absl::InfiniteFuture();
    woken_.exchange(false);
    absl::Duration delay = job_();
    absl::Time due = absl::Now() + delay;
    if (delay > absl::Hours(24) || timer_due_ <= due) return;  // a timer comes in time already
    if (delay <= absl::ZeroDuration()) return Wake();
    timer_due_ = due;
    Post(delay);
  }

  Executor& executor_;
  const std::shared_ptr<Gate> gate_;
  const Job job_;
  std::atomic<bool> woken_{false};
  absl::Time timer_due_ = absl::InfiniteFuture();  // the earliest; under the gate's mutex
};

}  // namespace

std::unique_ptr<LoadDriver> LoadDriver::OnThread(Job job) {
  return std::make_unique<OnOwnThread>(std::move(job));
}

std::unique_ptr<LoadDriver> LoadDriver::OnExecutor(Executor& executor, Job job) {
  return std::make_unique<OnUsersExecutor>(executor, std::move(job));
}

}  // namespace locus
