// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_TASK_WORKER_H_
#define LOCUS_MIGRATION_RUN_TASK_WORKER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"

namespace locus::mysql {

// A thread for a task that ends by itself, and that continues where it stopped when it is run
// again. It is run again, for as long as it takes, while a shard does not answer (UNAVAILABLE).
// Thread safety: all methods may be called from any thread.
class TaskWorker {
 public:
  using Task = std::function<absl::Status(const std::atomic<bool>& stop)>;

  explicit TaskWorker(Task task) : task_(std::move(task)), thread_([this] { Work(); }) {}
  ~TaskWorker() {
    stop_ = true;
    thread_.join();
  }
  TaskWorker(const TaskWorker&) = delete;
  TaskWorker& operator=(const TaskWorker&) = delete;

  struct Sight {
    bool done = false;
    absl::Status failed;  // why it has ended without being done
    std::string waiting;  // why it waits now; empty: it does not
  };
  Sight sight() const {
    internal::MutexLock lock(mutex_);
    Sight seen = sight_;
    // A task that fails again fails sooner than that: its statements and connections have timeouts.
    if (std::chrono::steady_clock::now() - waiting_since_ > kGoesOn) seen.waiting.clear();
    return seen;
  }

 private:
  static constexpr std::chrono::seconds kGoesOn{30};

  void Work() {
    internal::Backoff pauses({absl::Milliseconds(50), absl::Seconds(2), 0.5});
    while (!stop_) {
      const absl::Status status = task_(stop_);
      if (stop_) return;
      {
        internal::MutexLock lock(mutex_);
        sight_.done = status.ok();
        sight_.waiting = std::string(status.message());
        waiting_since_ = std::chrono::steady_clock::now();
        if (!absl::IsUnavailable(status)) sight_.failed = status;
      }
      if (!absl::IsUnavailable(status)) return;
      SleepBeforeRetry(pauses, std::chrono::steady_clock::time_point::max());
    }
  }

  const Task task_;
  std::atomic<bool> stop_ = false;  // only says so; pairs with nothing
  mutable internal::Mutex mutex_;
  Sight sight_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point waiting_since_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_TASK_WORKER_H_
