// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_PRIVATE_FILE_H_
#define LOCUS_SRC_BASE_OS_PRIVATE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/os/secret_bytes.h"

// Files that only their owner may read. Messages name the path.

namespace locus::internal {

struct PrivateText {
  std::string_view view() const { return memory.view().substr(0, size); }

  SecretBytes memory;
  size_t size;
};

// The whole file. NOT_FOUND; FAILED_PRECONDITION: the file gives any permission to group or others,
// its owner is neither root nor the caller, it is not a regular file, or the caller may not read
// it; INVALID_ARGUMENT: it is longer than `max_bytes`. Never blocks on a FIFO.
absl::StatusOr<PrivateText> ReadPrivateFile(const std::string& path, size_t max_bytes);

// Puts a file of this text at `path`, permissions 0600: whole or not at all, durable on return.
// Follows a symbolic link at `path`. ALREADY_EXISTS: `must_not_exist` is set and `path` exists.
absl::Status WritePrivateFile(const std::string& path, std::string_view text, bool must_not_exist);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_PRIVATE_FILE_H_
