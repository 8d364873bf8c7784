// SPDX-License-Identifier: Apache-2.0
#include "src/atomic_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/text.h"

namespace locus {
namespace {

// A file beside `path` under a name of its own, removed on destruction unless renamed.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, mode_t mode) : fd_(Open(path, mode, name_, error_)) {}
  ~TemporaryFile() {
    if (fd_.get() >= 0 && !renamed_) unlink(name_.c_str());
  }

  absl::Status Fill(std::string_view text) {
    if (fd_.get() < 0) return FailedFileCall(error_, "create", name_);
    LOCUS_RETURN_IF_ERROR(WriteAll(fd_.get(), text, name_));
    if (fsync(fd_.get()) != 0) return FailedFileCall(errno, "sync", name_);
    return absl::OkStatus();
  }
  absl::Status LinkAs(const std::string& path) {
    if (link(name_.c_str(), path.c_str()) != 0) return FailedFileCall(errno, "create", path);
    return absl::OkStatus();
  }
  absl::Status RenameTo(const std::string& path) {
    if (rename(name_.c_str(), path.c_str()) != 0) return FailedFileCall(errno, "replace", path);
    renamed_ = true;
    return absl::OkStatus();
  }

 private:
  // Names that a process left behind when it was killed are passed over.
  static int Open(const std::string& path, mode_t mode, std::string& name, int& error) {
    int fd = -1;
    for (int i = 0; i < 1000; ++i) {
      name = absl::StrCat(path, ".", getpid(), "-", i, ".tmp");
      fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      error = errno;
      if (fd >= 0 || error != EEXIST) break;
    }
    return fd;
  }

  std::string name_;
  int error_ = 0;
  FileDescriptor fd_;  // after what Open fills in
  bool renamed_ = false;
};

}  // namespace

absl::Status FailedFileCall(int error, std::string_view what, const std::string& path) {
  std::string message =
      absl::StrCat("cannot ", ToAbsl(what), " ", Quoted(path), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::UnavailableError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailedFileCall(errno, "write", path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncDirectory(const std::string& directory) {
  FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FailedFileCall(errno, "open", directory);
  // A file system that cannot sync a directory says EINVAL.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return FailedFileCall(errno, "sync", directory);
  return absl::OkStatus();
}

std::string FollowLinks(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux has it
  for (int i = 0; i < kMostLinks; ++i) {
    char target[PATH_MAX];
    ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size <= 0 || static_cast<size_t>(size) == sizeof target) return path;
    std::string named(target, static_cast<size_t>(size));
    path = named[0] == '/' ? named : absl::StrCat(DirectoryOf(path), "/", named);
  }
  return path;
}

absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode) {
  std::string target = FollowLinks(path);
  TemporaryFile temporary(target, mode);
  LOCUS_RETURN_IF_ERROR(temporary.Fill(text));
  LOCUS_RETURN_IF_ERROR(temporary.RenameTo(target));
  return SyncDirectory(DirectoryOf(target));
}

absl::Status CreateFile(const std::string& path, std::string_view text, mode_t mode) {
  {
    TemporaryFile temporary(path, mode);
    LOCUS_RETURN_IF_ERROR(temporary.Fill(text));
    LOCUS_RETURN_IF_ERROR(temporary.LinkAs(path));
  }
  return SyncDirectory(DirectoryOf(path));
}

}  // namespace locus
