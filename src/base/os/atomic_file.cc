// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/atomic_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

// A file that is written before it gets its name. Its writer holds a lock on it, so an unlocked one
// was left by a killed writer, and the next writer removes it.
constexpr int kMostTemporary = 1000;
constexpr int kSwept = 16;

std::string TemporaryName(const std::string& path, int number) {
  return absl::StrCat(path, ".locus-", number, ".tmp");
}

// Whether the name is free now.
bool RemoveAbandoned(const std::string& name) {
  // For writing: NFS gives an exclusive lock only so.
  FileDescriptor fd(open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return errno == ENOENT;
  struct stat file;
  if (fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
  // Its writer may have been faster and have finished.
  return !BearsName(fd.get(), name) || unlink(name.c_str()) == 0;
}

// A file beside `path` under a name of its own, removed on destruction unless renamed.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, mode_t mode) : fd_(Open(path, mode, name_, error_)) {}
  ~TemporaryFile() {
    if (fd_.get() < 0) return;
    if (!renamed_) unlink(name_.c_str());
    // Unlocks explicitly instead of by close(2): a child that another thread forked meanwhile also
    // has the descriptor, and would keep the lock.
    flock(fd_.get(), LOCK_UN);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  absl::Status Fill(std::string_view text) {
    if (fd_.get() < 0) return FailedFileCall(error_, "create", name_);
    LOCUS_RETURN_IF_ERROR(WriteAll(fd_.get(), text, name_));
    if (fsync(fd_.get()) != 0) return FailedFileCall(errno, "sync", name_);
    return absl::OkStatus();
  }
  int fd() const { return fd_.get(); }
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
  static int Open(const std::string& path, mode_t mode, std::string& name, int& error) {
    int number = 0;
    for (int tries = 0; number < kMostTemporary && tries < 2 * kMostTemporary; ++tries) {
      name = TemporaryName(path, number);
      FileDescriptor fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      error = errno;
      if (fd.get() < 0 && error != EEXIST) return -1;
      if (fd.get() < 0) {
        if (!RemoveAbandoned(name)) ++number;
        continue;
      }
      // Another writer saw the file before it was locked, took it for abandoned and removes it.
      if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
      if (!BearsName(fd.get(), name)) continue;
      while (++number < kSwept) RemoveAbandoned(TemporaryName(path, number));
      return fd.Release();
    }
    error = EEXIST;
    return -1;
  }

  std::string name_;
  int error_ = 0;
  FileDescriptor fd_;  // declared after the members that Open fills in
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

bool BearsName(int fd, const std::string& path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
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

absl::Status KeepPermissions(int fd, uid_t user, gid_t group, mode_t permissions,
                             const std::string& path) {
  constexpr uid_t kSameUser = static_cast<uid_t>(-1);
  // Only root may give a file away; a member of the group may keep that.
  if (fchown(fd, user, group) != 0 && fchown(fd, kSameUser, group) != 0) {
    mode_t of_others = permissions & 07;
    permissions &= ~mode_t{070} | of_others << 3;
  }
  // After the owner is set: chown(2) may clear bits of the permissions.
  if (fchmod(fd, permissions) != 0) return FailedFileCall(errno, "set the permissions of", path);
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, std::string_view text, mode_t mode, mode_t most) {
  std::string target = FollowLinks(path);
  struct stat before;
  bool replaces = stat(target.c_str(), &before) == 0;
  // Unreadable to others until it has the permissions of the file that it replaces.
  TemporaryFile temporary(target, replaces ? 0600 : mode);
  LOCUS_RETURN_IF_ERROR(temporary.Fill(text));
  if (replaces) {
    LOCUS_RETURN_IF_ERROR(KeepPermissions(temporary.fd(), before.st_uid, before.st_gid,
                                          before.st_mode & 07777 & most, target));
  }
  // The rename is durable only once the directory is synced.
  LOCUS_RETURN_IF_ERROR(temporary.RenameTo(target));
  return SyncDirectory(DirectoryOf(target));
}

absl::Status CreateFile(const std::string& path, std::string_view text, mode_t mode) {
  {
    TemporaryFile temporary(path, mode);
    LOCUS_RETURN_IF_ERROR(temporary.Fill(text));
    // link(2), not rename(2): it fails if the name exists.
    LOCUS_RETURN_IF_ERROR(temporary.LinkAs(path));
  }
  return SyncDirectory(DirectoryOf(path));
}

}  // namespace locus::internal
