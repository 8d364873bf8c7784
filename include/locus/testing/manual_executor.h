// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_MANUAL_EXECUTOR_H_
#define LOCUS_TESTING_MANUAL_EXECUTOR_H_

#include <deque>
#include <mutex>
#include <utility>

#include "locus/executor.h"

namespace locus::fakes {

// Keeps tasks until a test runs them, on the test's thread.
// Thread safety: all methods may be called from any thread.
class ManualExecutor : public Executor {
 public:
  void Post(std::function<void()> task, absl::Duration delay) override {
    std::lock_guard lock(mutex_);
    (delay > absl::ZeroDuration() ? later_ : now_).push_back(std::move(task));
  }

  // Runs the tasks without a delay until none is left, and returns how many it ran.
  int RunReady() {
    int ran = 0;
    while (RunOne(now_)) ++ran;
    return ran;
  }
  // Also runs each task that was posted with a delay before this call, once.
  int RunDelayed() {
    std::deque<std::function<void()>> due;
    {
      std::lock_guard lock(mutex_);
      due.swap(later_);
    }
    int ran = static_cast<int>(due.size());
    while (RunOne(due)) {
    }
    return ran + RunReady();
  }

  // How many tasks wait for their delay to pass.
  size_t delayed() {
    std::lock_guard lock(mutex_);
    return later_.size();
  }

 private:
  bool RunOne(std::deque<std::function<void()>>& tasks) {
    std::function<void()> task;
    {
      std::lock_guard lock(mutex_);
      if (tasks.empty()) return false;
      task = std::move(tasks.front());
      tasks.pop_front();
    }
    task();
    return true;
  }

  std::mutex mutex_;
  std::deque<std::function<void()>> now_;
  std::deque<std::function<void()>> later_;
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_MANUAL_EXECUTOR_H_
