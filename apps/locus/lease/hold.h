// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LEASE_HOLD_H_
#define LOCUS_APPS_LOCUS_LEASE_HOLD_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "locus/worker_lease.h"
#include "locus/worker_lease_store.h"

namespace locus::cli {

// Takes a worker ID, renews it until SIGTERM, SIGINT, SIGHUP or SIGQUIT, and gives it back.
//
// Without a command, `print` is called with the lease once it is held; the exit code is kDone.
// With one, the command runs meanwhile, with LOCUS_WORKER and LOCUS_WORKER_TOKEN in its
// environment, once this clock has passed the floor; endings go on to it, and the exit code is its
// own, 128 + N where a signal ended it, 127 where there is no such command. If the lease is lost,
// the command gets SIGTERM, and SIGKILL 5 s later or when its ttl is over, whichever is first (at
// once where it was over before); the exit code is kFailed. It gets SIGTERM also when this process
// is killed.
//
// To be called by the main thread, while no other thread is there.
int HoldLease(std::string_view verb,
              const std::function<absl::StatusOr<std::shared_ptr<WorkerLeaseStore>>()>& open,
              WorkerLeaseOptions options, const std::vector<std::string>& command,
              const std::function<int(const WorkerLease&)>& print);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LEASE_HOLD_H_
