// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXECUTOR_H_
#define LOCUS_EXECUTOR_H_

#include <functional>

#include "absl/time/time.h"

namespace locus {

// Where background work runs when the user brings threads along. Tasks talk to stores and may
// block for as long as a store call may: an event loop hands them to a pool.
// Thread safety: Post may be called from any thread, also from inside a task.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` once, not before `delay` has passed; on another thread or later on this one, never
  // inside Post. Dropping it instead is allowed only at shutdown: whoever waits for its effect
  // waits to a deadline.
  virtual void Post(std::function<void()> task, absl::Duration delay) = 0;
};

}  // namespace locus

#endif  // LOCUS_EXECUTOR_H_
