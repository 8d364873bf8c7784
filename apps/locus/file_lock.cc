// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "apps/locus/byte_stream.h"

namespace locus {
namespace {

bool BearsName(int fd, const std::string& path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  for (;;) {
    FileLock lock(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (lock.fd_ < 0) return ErrnoStatus(path, "cannot open", errno);
    if (flock(lock.fd_, LOCK_EX) != 0) {
      if (errno != EINTR) return ErrnoStatus(path, "cannot lock", errno);
      continue;
    }
    // Another process may have replaced the file while this one waited.
    if (BearsName(lock.fd_, path)) return lock;
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace locus
