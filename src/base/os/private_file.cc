// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

absl::Status CheckPrivate(const struct stat& file, const std::string& path) {
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " is not a regular file"));
  }
  if ((file.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " has permissions ", absl::Hex(file.st_mode >> 6 & 7),
                     absl::Hex(file.st_mode >> 3 & 7), absl::Hex(file.st_mode & 7),
                     "; group and others must have none (chmod 600)"));
  }
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " belongs to user ", file.st_uid,
                     ", who is neither root nor user ", geteuid()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PrivateText> ReadPrivateFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait.
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FailedFileCall(errno, "open", path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FailedFileCall(errno, "inspect", path);
  // The open file, not the path: another file may get that name meanwhile.
  LOCUS_RETURN_IF_ERROR(CheckPrivate(file, path));
  LOCUS_ASSIGN_OR_RETURN(SecretBytes memory, SecretBytes::Allocate(max_bytes + 1));
  size_t size = 0;
  while (size <= max_bytes) {
    ssize_t got = read(fd.get(), memory.data() + size, max_bytes + 1 - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailedFileCall(errno, "read", path);
    if (got == 0) return PrivateText{std::move(memory), size};
    size += static_cast<size_t>(got);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(path), " is longer than ", max_bytes, " bytes"));
}

absl::Status WritePrivateFile(const std::string& path, std::string_view text, bool must_not_exist) {
  constexpr mode_t kOwnerOnly = 0600;
  return must_not_exist ? CreateFile(path, text, kOwnerOnly)
                        : ReplaceFile(path, text, kOwnerOnly, kOwnerOnly);
}

}  // namespace locus::internal
