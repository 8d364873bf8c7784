// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_RUN_LOAD_DRIVER_H_
#define LOCUS_SRC_BASE_RUN_LOAD_DRIVER_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "locus/executor.h"

namespace locus::internal {

// Runs one background job, never twice at once: whenever it is woken, and when the job asked to run
// again.
// Thread safety: all methods may be called from any thread.
class LoadDriver {
 public:
  // Returns the time until it wants to run again; InfiniteDuration: only when woken.
  using Job = std::function<absl::Duration()>;

  // Waits for a run that is under way; none starts afterwards.
  virtual ~LoadDriver() = default;
  // Makes the job run soon: a run begins after this call began. Allocates nothing after the first
  // call with a thread of its own.
  virtual void Wake() = 0;
  // False: no Wake has got a thread yet, because the system may have had none to give. Callers must
  // then wake it again.
  virtual bool started() const = 0;

  // On a thread of its own, started by the first Wake; or on the executor, which outlives the
  // driver.
  static std::unique_ptr<LoadDriver> OnThread(Job job);
  static std::unique_ptr<LoadDriver> OnExecutor(Executor& executor, Job job);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_RUN_LOAD_DRIVER_H_
