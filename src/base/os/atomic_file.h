// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_ATOMIC_FILE_H_
#define LOCUS_SRC_BASE_OS_ATOMIC_FILE_H_

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

// Files that are there whole or not at all. Messages name the path.

namespace locus::internal {

// Closes its descriptor; -1: it has none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// "cannot `what` "path": reason" of the errno `error`. NOT_FOUND, ALREADY_EXISTS; UNAVAILABLE: it
// may pass (no space, an input error, out of descriptors); otherwise FAILED_PRECONDITION.
absl::Status FailedFileCall(int error, std::string_view what, const std::string& path);

// "." if the path has none.
std::string DirectoryOf(const std::string& path);
// Where a write to `path` would go, behind symbolic links, even if there is no file yet.
std::string FollowLinks(std::string path);

// Whether the open file is the file at the path.
bool BearsName(int fd, const std::string& path);

absl::Status WriteAll(int fd, std::string_view text, const std::string& path);
// Makes durable which names are in the directory, where the file system can.
absl::Status SyncDirectory(const std::string& directory);

// Gives the open file the permissions, and as far as this process may the owner and group, of the
// file that it is to replace. Where the group cannot be kept, the new one gets no more than others
// have. For messages the file is called `path`.
absl::Status KeepPermissions(int fd, uid_t user, gid_t group, mode_t permissions,
                             const std::string& path);

// Puts a file of this text at `path`: whole or not at all, durable on return. A new file has
// permissions `mode` less the umask. A file that is replaced keeps those of its permissions that
// `most` has, and its owner as KeepPermissions says. Follows a symbolic link at `path`: the file
// that it leads to is replaced or created. The text is first written to PATH.locus-N.tmp, which is
// locked (flock) meanwhile; the next writer removes files that killed writers left.
absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode,
                         mode_t most = 07777);
// The same for a new file only: ALREADY_EXISTS where there is anything, even a dangling link.
absl::Status CreateFile(const std::string& path, std::string_view text, mode_t mode);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_ATOMIC_FILE_H_
