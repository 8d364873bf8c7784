// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_NEWS_H_
#define LOCUS_SRC_BASE_NEWS_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "src/base/mutex.h"

namespace locus {

// What callers wait for who found nothing: the loader's next answer, whatever it is.
// Thread safety: all methods may be called from any thread.
class News {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  void Announce() {
    MutexLock lock(mutex_);
    count_.fetch_add(1, std::memory_order_release);
    came_.NotifyAll();
  }
  // For news that come often: somebody who found nothing may look again. A waiter is counted before
  // its attempt, so either it is seen here or its attempt finds what came.
  void AnnounceToWaiters() {
    if (waiters_.fetch_add(0, std::memory_order_acq_rel) > 0) Announce();
  }

  // Calls `attempt` until it returns anything but UNAVAILABLE, or `deadline` has passed; returns
  // what it returned last. Takes no lock unless it has to wait.
  template <typename Attempt>
  auto Await(Deadline deadline, Attempt attempt) -> decltype(attempt()) {
    uint64_t seen = count_.load(std::memory_order_acquire);
    auto result = attempt();
    if (!absl::IsUnavailable(result.status())) return result;
    waits_.fetch_add(1, std::memory_order_relaxed);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    do {
      result = attempt();
    } while (absl::IsUnavailable(result.status()) && Wait(seen, deadline));
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

  // How often Await had to wait.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  // False: the deadline came first. True: something came after `seen`, which notes it.
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

}  // namespace locus

#endif  // LOCUS_SRC_BASE_NEWS_H_
