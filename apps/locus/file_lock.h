// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_FILE_LOCK_H_
#define LOCUS_APPS_LOCUS_FILE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace locus {

// While it lives, no other process that asks has the lock of this file. Made for files that are
// replaced by rename: the lock is of the file that bears the name once the lock is held.
class FileLock {
 public:
  // Waits for the lock. NOT_FOUND; FAILED_PRECONDITION. Messages name the path.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_FILE_LOCK_H_
