// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"

namespace locus::internal {
absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  for (;;) {
    FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return FailedFileCall(errno, "open", path);
    if (flock(fd.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return FailedFileCall(errno, "lock", path);
      continue;
    }
    // Another process may have replaced the file while this one waited.
    if (BearsName(fd.get(), path)) return FileLock(std::move(fd), path);
  }
}

absl::StatusOr<FileLock> FileLock::TakeOrCreate(const std::string& path,
                                                std::chrono::steady_clock::time_point deadline) {
  // flock(2) takes no deadline, so this tries without blocking, again and again.
  Backoff backoff({.first = absl::Milliseconds(1), .longest = absl::Milliseconds(50)});
  for (;;) {
    // For writing: NFS gives an exclusive lock only so.
    FileDescriptor fd(
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    if (fd.get() < 0) return FailedFileCall(errno, "open", path);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (BearsName(fd.get(), path)) return FileLock(std::move(fd), path);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FailedFileCall(errno, "lock", path);
    if (!SleepBeforeRetry(backoff, deadline)) {
      return absl::UnavailableError(
          absl::StrCat("cannot lock ", Quoted(path), ": another process holds the lock; retry"));
    }
  }
}

FileLock::~FileLock() {
  // Unlocks explicitly instead of by close(2): a child that another thread forked meanwhile also
  // has the descriptor, and would keep the lock.
  if (fd_.get() >= 0) flock(fd_.get(), LOCK_UN);
}

absl::Status FileLock::CheckHeld() const {
  if (BearsName(fd_.get(), path_)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the lock ", Quoted(path_), " was deleted or replaced while it was held"));
}

}  // namespace locus::internal
