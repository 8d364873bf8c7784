// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_RUN_RESULT_SIGNAL_H_
#define LOCUS_SRC_BASE_RUN_RESULT_SIGNAL_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Lets callers that found no sequence wait for the loader's next result, whether it is a success or
// a failure.
// Thread safety: all methods may be called from any thread.
class ResultSignal {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // The loader has a result: every waiter tries again.
  void Notify() {
    MutexLock lock(mutex_);
    count_.fetch_add(1, std::memory_order_release);
    came_.NotifyAll();
  }
  // Cheap if no caller waits, so it may be called often. A waiter is counted before its attempt, so
  // either this call sees the waiter or the waiter's attempt finds the result.
  void NotifyIfAwaited() {
    if (waiters_.fetch_add(0, std::memory_order_acq_rel) > 0) Notify();
  }

  // Calls `attempt`, which returns a Status or StatusOr, until it returns anything but UNAVAILABLE
  // or `deadline` has passed. Returns its last result. Takes no lock unless it has to wait.
  template <typename Attempt>
  auto RetryUntil(Deadline deadline, Attempt attempt) -> decltype(attempt()) {
    uint64_t seen = count_.load(std::memory_order_acquire);
    auto result = attempt();
    if (!Retryable(result)) return result;
    waits_.fetch_add(1, std::memory_order_relaxed);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    do {
      result = attempt();
    } while (Retryable(result) && Wait(seen, deadline));
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

  // How often RetryUntil had to wait.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  static bool Retryable(const absl::Status& status) { return absl::IsUnavailable(status); }
  template <typename T>
  static bool Retryable(const absl::StatusOr<T>& result) {
    return absl::IsUnavailable(result.status());
  }

  // True: a result came after `seen`, which is brought up to it. False: the deadline came first.
  bool Wait(uint64_t& seen, Deadline deadline) {
    MutexLock lock(mutex_);
    uint64_t count;
    while ((count = count_.load(std::memory_order_acquire)) == seen) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      came_.WaitUntil(mutex_, deadline);
    }
    seen = count;
    return true;
  }

  Mutex mutex_;
  CondVar came_;
  std::atomic<uint64_t> count_{0};  // raised under mutex_
  std::atomic<uint64_t> waits_{0};
  std::atomic<int> waiters_{0};
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_RUN_RESULT_SIGNAL_H_
