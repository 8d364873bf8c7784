// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_EPOCH_WAITERS_H_
#define LOCUS_ROUTING_ROUTER_EPOCH_WAITERS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

#include "src/base/run/mutex.h"

namespace locus::internal {

// Lets threads wait for an epoch. Each has a condition of its own: an epoch wakes only those that
// waited for it or an earlier one, so thousands can wait for a later one at no cost.
// Thread safety: all methods may be called from any thread.
class EpochWaiters {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Table `epoch` is in force.
  void Reached(uint64_t epoch) {
    MutexLock lock(mutex_);
    reached_ = std::max(reached_, epoch);
    // Notified under the mutex: a waiter's condition goes away as soon as the waiter gets the lock.
    while (!waiters_.empty() && waiters_.begin()->first <= reached_) {
      waiters_.begin()->second->reached = true;
      waiters_.begin()->second->came.NotifyAll();
      waiters_.erase(waiters_.begin());
    }
  }

  // Waits until Reached got `epoch` or a later one. False: the deadline passed first. Before it
  // waits it calls `want`, once it is counted in waiting() and holding no lock.
  template <typename Want>
  bool Wait(uint64_t epoch, TimePoint deadline, Want want) {
    Waiter waiter;
    std::multimap<uint64_t, Waiter*>::iterator place;
    {
      MutexLock lock(mutex_);
      if (reached_ >= epoch) return true;
      place = waiters_.emplace(epoch, &waiter);
    }
    want();
    MutexLock lock(mutex_);
    while (!waiter.reached) {
      if (std::chrono::steady_clock::now() >= deadline) {
        waiters_.erase(place);
        return false;
      }
      ++sleeps_;
      waiter.came.WaitUntil(mutex_, deadline);
    }
    return true;
  }

  // How often a waiter went to sleep, for tests: a waiter that is woken for nothing sleeps again.
  uint64_t sleeps() const {
    MutexLock lock(mutex_);
    return sleeps_;
  }
  // Those whose epoch has not come yet.
  size_t waiting() const {
    MutexLock lock(mutex_);
    return waiters_.size();
  }

 private:
  struct Waiter {
    CondVar came;
    bool reached = false;
  };

  mutable Mutex mutex_;
  uint64_t reached_ ABSL_GUARDED_BY(mutex_) = 0;
  std::multimap<uint64_t, Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);  // by the epoch waited for
  uint64_t sleeps_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_EPOCH_WAITERS_H_
