// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ATOMIC_FILE_H_
#define LOCUS_SRC_ATOMIC_FILE_H_

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

// Files that are there whole or not at all. Messages name the path.

namespace locus {

// Closes what it holds.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

// "cannot `what` "path": reason" of the errno `error`. NOT_FOUND, ALREADY_EXISTS; UNAVAILABLE: it
// may pass (no space, an input error, out of descriptors); otherwise FAILED_PRECONDITION.
absl::Status FailedFileCall(int error, std::string_view what, const std::string& path);

// Puts a file of this text at `path`, with permissions `mode` less the umask: whole or not at all,
// durable on return. Follows a symbolic link at `path`: what it names is replaced, or made.
absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode);
// The same, but ALREADY_EXISTS where there is something, be it a dangling link.
absl::Status CreateFile(const std::string& path, std::string_view text, mode_t mode);

}  // namespace locus

#endif  // LOCUS_SRC_ATOMIC_FILE_H_
