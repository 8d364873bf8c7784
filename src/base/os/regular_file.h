// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_REGULAR_FILE_H_
#define LOCUS_SRC_BASE_OS_REGULAR_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace locus::internal {

// The whole file, at most `max_bytes`. FAILED_PRECONDITION: it cannot be read, is longer, or is not
// a regular file; the message says why, without the path. Never waits, not even on a FIFO.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, size_t max_bytes);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_REGULAR_FILE_H_
