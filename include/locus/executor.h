// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXECUTOR_H_
#define LOCUS_EXECUTOR_H_

#include <functional>

#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus {

// Runs background work on threads of the user. Tasks call stores and may block as long as a store
// call does, so do not run them on the thread of an event loop.
// Thread safety: Post may be called from any thread, also from inside a task.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` once after `delay` has passed, on another thread or later on this one, never inside
  // Post. An executor may drop tasks only at shutdown; callers that wait for their effect then wait
  // until their deadline.
  virtual void Post(std::function<void()> task, absl::Duration delay) = 0;
};

}  // namespace locus

#endif  // LOCUS_EXECUTOR_H_
