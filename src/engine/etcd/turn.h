// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_TURN_H_
#define LOCUS_SRC_ENGINE_ETCD_TURN_H_

#include "src/base/run/mutex.h"
#include "src/http/endpoint.h"

namespace locus::etcd {

using http::TimePoint;

// Admits one caller at a time, for as long as requests take. Unlike with a mutex, waiting callers
// give up at their deadline. Thread safety: all methods may be called from any thread.
class Turn {
 public:
  // False: the deadline passed first.
  bool Begin(TimePoint deadline) {
    internal::MutexLock lock(mutex_);
    while (taken_) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      free_.WaitUntil(mutex_, deadline);
    }
    taken_ = true;
    return true;
  }
  void End() {
    internal::MutexLock lock(mutex_);
    taken_ = false;
    free_.NotifyAll();
  }

 private:
  internal::Mutex mutex_;
  internal::CondVar free_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
};

// A turn that ends with the object.
class TurnHold {
 public:
  TurnHold(Turn& turn, TimePoint deadline) : turn_(turn), held_(turn.Begin(deadline)) {}
  ~TurnHold() {
    if (held_) turn_.End();
  }
  TurnHold(const TurnHold&) = delete;
  TurnHold& operator=(const TurnHold&) = delete;
  bool held() const { return held_; }

 private:
  Turn& turn_;
  const bool held_;
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_TURN_H_
