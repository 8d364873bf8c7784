// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_REPLACEABLE_H_
#define LOCUS_APPS_LOCUSD_FRONT_REPLACEABLE_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// What requests use and a reload replaces; whoever loaded it keeps what it was. The
// std::atomic<std::shared_ptr> of g++ 12 does not order a load before the next store.
// Thread safety: all methods may be called from any thread. Cost: an uncontended lock.
template <typename T>
class Replaceable {
 public:
  explicit Replaceable(std::shared_ptr<T> value) : value_(std::move(value)) {}

  std::shared_ptr<T> load() const {
    internal::MutexLock lock(mutex_);
    return value_;
  }
  void store(std::shared_ptr<T> value) {
    internal::MutexLock lock(mutex_);
    value_.swap(value);
    // What it was is destroyed by the caller, behind the lock.
  }

 private:
  mutable internal::Mutex mutex_;
  std::shared_ptr<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_REPLACEABLE_H_
