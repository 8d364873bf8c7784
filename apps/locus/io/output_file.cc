// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a rename to `path` belongs: behind a symbolic link, at the file that it leads to.
std::string BehindLinks(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

// A rename needs no right to the file that it replaces; a file without write permission is meant to
// stay. Root has every right, so the mode is looked at, too.
absl::Status CheckWritable(const std::string& path, const struct stat& replaced) {
  constexpr mode_t kWritable = S_IWUSR | S_IWGRP | S_IWOTH;
  if ((replaced.st_mode & kWritable) != 0 && access(path.c_str(), W_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": is write-protected, and is not replaced; name another file"));
}

absl::Status SyncDirectoryOf(const std::string& path) {
  int fd = open(DirectoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(DirectoryOf(path), "cannot open", errno);
  int result = fsync(fd);
  int error = errno;
  close(fd);
  // A file system that cannot sync a directory says EINVAL.
  if (result != 0 && error != EINVAL) return ErrnoStatus(DirectoryOf(path), "cannot sync", error);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  std::unique_ptr<OutputFile> file(new OutputFile);
  struct stat facts;
  bool exists = path != "-" && stat(path.c_str(), &facts) == 0;
  bool direct = path == "-" || (exists && !S_ISREG(facts.st_mode));
  LOCUS_RETURN_IF_ERROR(direct ? file->OpenDirectly(path) : file->OpenTemporary(path));
  return file;
}

absl::Status OutputFile::OpenDirectly(const std::string& path) {
  fd_ = path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus(path, "cannot open", errno);
  sink_.emplace(fd_, path == "-" ? "stdout" : path);
  return absl::OkStatus();
}

absl::Status OutputFile::OpenTemporary(const std::string& path) {
  path_ = BehindLinks(path);
  std::random_device random;
  temporary_ = absl::StrCat(path_, ".", absl::Hex(random(), absl::kZeroPad8),
                            absl::Hex(random(), absl::kZeroPad8), ".part");
  if (temporary_.size() >= PATH_MAX) return ErrnoStatus(path, "cannot create", ENAMETOOLONG);
  struct stat replaced;
  bool replaces = stat(path_.c_str(), &replaced) == 0;
  if (replaces) LOCUS_RETURN_IF_ERROR(CheckWritable(path_, replaced));
  doomed_.emplace(temporary_);
  // Unreadable to others until it has the mode of the file that it replaces.
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
  if (fd_ < 0) {
    int error = errno;
    temporary_.clear();
    return ErrnoStatus(path, "cannot create", error);
  }
  if (replaces) LOCUS_RETURN_IF_ERROR(TakeOver(path, replaced));
  sink_.emplace(fd_, path);
  return absl::OkStatus();
}

absl::Status OutputFile::TakeOver(const std::string& path, const struct stat& replaced) {
  struct stat own;
  if (fstat(fd_, &own) != 0) return ErrnoStatus(path, "cannot read its mode", errno);
  bool same_owner = own.st_uid == replaced.st_uid && own.st_gid == replaced.st_gid;
  if (!same_owner && fchown(fd_, replaced.st_uid, replaced.st_gid) != 0) {
    return ErrnoStatus(path, "cannot be replaced by a file of the same owner and group", errno);
  }
  if (fchmod(fd_, replaced.st_mode & 07777) != 0) {
    return ErrnoStatus(path, "cannot be replaced by a file of the same mode", errno);
  }
  return absl::OkStatus();
}

OutputFile::~OutputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Commit() {
  LOCUS_RETURN_IF_ERROR(sink_->Flush());
  if (temporary_.empty()) return absl::OkStatus();
  if (fsync(fd_) != 0) return ErrnoStatus(path_, "cannot sync", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(path_, "cannot rename to it", errno);
  }
  temporary_.clear();
  doomed_.reset();
  return SyncDirectoryOf(path_);
}

absl::Status WriteWhole(const std::string& path, std::string_view text) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  file->sink().Append(text);
  return file->Commit();
}

}  // namespace locus::cli
