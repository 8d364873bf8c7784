// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_FILE_LOCK_H_
#define LOCUS_SRC_BASE_OS_FILE_LOCK_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/os/atomic_file.h"

namespace locus::internal {

// An exclusive lock of a file among all processes and threads that ask for it, held while the
// object exists. Made for files that are replaced by rename: it locks the file that has the name at
// the time when the lock is held.
class FileLock {
 public:
  // Waits for the lock without a limit. NOT_FOUND; FAILED_PRECONDITION. Messages name the path.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  // The same, but creates a missing file, and waits to the deadline only (UNAVAILABLE).
  static absl::StatusOr<FileLock> TakeOrCreate(const std::string& path,
                                               std::chrono::steady_clock::time_point deadline);
  FileLock(FileLock&&) noexcept = default;
  ~FileLock();

  // UNAVAILABLE: the file was deleted or replaced since, and another holder may have the lock of
  // the new file.
  absl::Status CheckHeld() const;

 private:
  FileLock(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_FILE_LOCK_H_
