// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/atomic_file.h"

namespace locus::internal {

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait.
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat file;
  if (fd.get() < 0 || fstat(fd.get(), &file) != 0) {
    return absl::FailedPreconditionError(std::strerror(errno));
  }
  if (!S_ISREG(file.st_mode)) return absl::FailedPreconditionError("is not a regular file");
  std::string text(max_bytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::FailedPreconditionError(std::strerror(errno));
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > max_bytes) {
    return absl::FailedPreconditionError(absl::StrCat("is longer than ", max_bytes, " bytes"));
  }
  text.resize(size);
  return text;
}

}  // namespace locus::internal
