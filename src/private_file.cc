// SPDX-License-Identifier: Apache-2.0
#include "src/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/text.h"

namespace locus {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status FailedCall(int error, std::string_view what, const std::string& path) {
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

absl::Status CheckPrivate(const struct stat& file, const std::string& path) {
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " is no regular file"));
  }
  if ((file.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " has permissions ", absl::Hex(file.st_mode >> 6 & 7),
                     absl::Hex(file.st_mode >> 3 & 7), absl::Hex(file.st_mode & 7),
                     "; group and others may have none (chmod 600)"));
  }
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Quoted(path), " belongs to user ", file.st_uid, ", neither root nor user ", geteuid()));
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailedCall(errno, "write", path);
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
  Fd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FailedCall(errno, "open", directory);
  if (fsync(fd.get()) != 0) return FailedCall(errno, "sync", directory);
  return absl::OkStatus();
}

// A file beside `path` under a name of its own, removed on destruction unless renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path)
      : name_(path + ".XXXXXX"), fd_(mkostemp(name_.data(), O_CLOEXEC)), error_(errno) {}
  ~TemporaryFile() {
    if (fd_.get() >= 0 && !renamed_) unlink(name_.c_str());
  }

  absl::Status Fill(std::string_view text) {
    if (fd_.get() < 0) return FailedCall(error_, "create", name_);
    if (fchmod(fd_.get(), 0600) != 0) return FailedCall(errno, "protect", name_);
    LOCUS_RETURN_IF_ERROR(WriteAll(fd_.get(), text, name_));
    if (fsync(fd_.get()) != 0) return FailedCall(errno, "sync", name_);
    return absl::OkStatus();
  }
  absl::Status LinkAs(const std::string& path) {
    if (link(name_.c_str(), path.c_str()) != 0) return FailedCall(errno, "create", path);
    return absl::OkStatus();
  }
  absl::Status RenameTo(const std::string& path) {
    if (rename(name_.c_str(), path.c_str()) != 0) return FailedCall(errno, "replace", path);
    renamed_ = true;
    return absl::OkStatus();
  }

 private:
  std::string name_;
  Fd fd_;
  int error_;
  bool renamed_ = false;
};

std::string FollowLinks(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : real.get();
}

}  // namespace

absl::StatusOr<PrivateText> ReadPrivateFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FailedCall(errno, "open", path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FailedCall(errno, "inspect", path);
  LOCUS_RETURN_IF_ERROR(CheckPrivate(file, path));
  LOCUS_ASSIGN_OR_RETURN(SecretBytes memory, SecretBytes::Allocate(max_bytes + 1));
  size_t size = 0;
  while (size <= max_bytes) {
    ssize_t got = read(fd.get(), memory.data() + size, max_bytes + 1 - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailedCall(errno, "read", path);
    if (got == 0) return PrivateText{std::move(memory), size};
    size += static_cast<size_t>(got);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(path), " is longer than ", max_bytes, " bytes"));
}

absl::Status WritePrivateFile(const std::string& path, std::string_view text, bool must_not_exist) {
  std::string target = must_not_exist ? path : FollowLinks(path);
  {
    TemporaryFile temporary(target);
    LOCUS_RETURN_IF_ERROR(temporary.Fill(text));
    LOCUS_RETURN_IF_ERROR(must_not_exist ? temporary.LinkAs(target) : temporary.RenameTo(target));
  }
  return SyncDirectory(DirectoryOf(target));
}

}  // namespace locus
