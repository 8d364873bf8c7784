// SPDX-License-Identifier: Apache-2.0
#include "src/base/run/load_driver.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/os/signals_blocked.h"
#include "src/base/run/mutex.h"

namespace locus::internal {
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
    // Pairs with the exchange in Run: a wake that finds the flag set is seen by the next run.
    if (woken_.exchange(true)) return;
    MutexLock lock(mutex_);
    if (!started_ && !Start()) {
      woken_ = false;  // the next wake tries again; started() asks for it
      return;
    }
    wake_up_.NotifyAll();
  }

  bool started() const override { return started_.load(std::memory_order_relaxed); }

 private:
  // False: the system gives no thread now.
  bool Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    try {
      const SignalsBlocked blocked;
      thread_ = std::thread([this] { Run(); });
      started_ = true;
    } catch (const std::system_error&) {
    }
    return started_;
  }

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
      // Before the job: a wake during the run then leads to another run.
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
  std::atomic<bool> started_{false};  // raised under mutex_
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // set once, under mutex_; joined when no Wake can follow
};

// Tasks may outlive the driver: they hold the gate, which the driver shuts. No task waits for a run
// that is under way: jobs may block for long, and the executor's other threads have other work.
class OnUsersExecutor : public LoadDriver {
 public:
  OnUsersExecutor(Executor& executor, Job job)
      : executor_(executor), gate_(std::make_shared<Gate>(this)), job_(std::move(job)) {}

  ~OnUsersExecutor() override {
    MutexLock lock(gate_->mutex);
    gate_->driver = nullptr;
    while (gate_->running) gate_->idle.Wait(gate_->mutex);
  }

  void Wake() override {
    if (woken_.exchange(true)) return;
    Post(absl::ZeroDuration(), kNoTimer);
  }

  bool started() const override { return true; }

 private:
  using Due = std::chrono::steady_clock::time_point;
  static constexpr Due kNoTimer = Due::max();

  struct Gate {
    explicit Gate(OnUsersExecutor* driver_in) : driver(driver_in) {}
    Mutex mutex;
    CondVar idle;
    OnUsersExecutor* driver ABSL_GUARDED_BY(mutex);   // nullptr: no run begins any more
    bool running ABSL_GUARDED_BY(mutex) = false;      // and the driver lives
    bool again ABSL_GUARDED_BY(mutex) = false;        // another was due meanwhile
    Due timer_due ABSL_GUARDED_BY(mutex) = kNoTimer;  // of the earliest timer that is pending
  };

  void Post(absl::Duration delay, Due due) {
    executor_.Post([gate = gate_, due] { Run(*gate, due); }, delay);
  }

  // `due` is the time of the timer that fired; kNoTimer: a wake.
  static void Run(Gate& gate, Due due) {
    OnUsersExecutor* driver;
    {
      MutexLock lock(gate.mutex);
      // A later one that was overtaken changes nothing.
      if (due == gate.timer_due) gate.timer_due = kNoTimer;
      if (gate.running) gate.again = true;
      if (gate.driver == nullptr || gate.running) return;
      gate.running = true;
      driver = gate.driver;
    }
    driver->woken_.exchange(false);
    absl::Duration delay = driver->job_();
    MutexLock lock(gate.mutex);
    if (gate.driver != nullptr) driver->PostNext(gate, delay);
    gate.running = false;
    gate.idle.NotifyAll();
  }

  void PostNext(Gate& gate, absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate.mutex) {
    if (std::exchange(gate.again, false)) {
      woken_ = true;  // already so after a wake
      Post(absl::ZeroDuration(), kNoTimer);
    }
    if (delay > absl::Hours(24)) return;
    if (delay <= absl::ZeroDuration()) return Wake();
    Due next = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(delay);
    // An earlier timer is pending already.
    if (gate.timer_due <= next + std::chrono::milliseconds(1)) return;
    gate.timer_due = next;
    Post(delay, next);
  }

  Executor& executor_;
  const std::shared_ptr<Gate> gate_;
  const Job job_;
  std::atomic<bool> woken_{false};
};

}  // namespace

std::unique_ptr<LoadDriver> LoadDriver::OnThread(Job job) {
  return std::make_unique<OnOwnThread>(std::move(job));
}

std::unique_ptr<LoadDriver> LoadDriver::OnExecutor(Executor& executor, Job job) {
  return std::make_unique<OnUsersExecutor>(executor, std::move(job));
}

}  // namespace locus::internal
