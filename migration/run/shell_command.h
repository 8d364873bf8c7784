// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_SHELL_COMMAND_H_
#define LOCUS_MIGRATION_RUN_SHELL_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace locus::internal {

// Runs a user's command by /bin/sh, in a process group of its own, with `variables` added to the
// environment and nothing on its stdin. Returns its exit code; that of a signal is 128 and its
// number. DEADLINE_EXCEEDED: it took longer than `most` and was killed with all it had started.
absl::StatusOr<int> RunShellCommand(
    const std::string& command, const std::vector<std::pair<std::string, std::string>>& variables,
    absl::Duration most);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_RUN_SHELL_COMMAND_H_
