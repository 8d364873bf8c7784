// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_RESOLVE_H_
#define LOCUS_SRC_BASE_OS_RESOLVE_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::internal {

// The numeric addresses of a host, at least one. A numeric address gives itself. UNAVAILABLE: there
// is no such name, or no answer by the deadline. The system's resolver cannot be interrupted, so it
// then continues in its own thread until it gives up.
absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host,
                                                 std::chrono::steady_clock::time_point deadline);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_RESOLVE_H_
