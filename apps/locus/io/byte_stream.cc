// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ToAbsl;

absl::Status ErrnoStatus(std::string_view name, std::string_view what, int error) {
  std::string message = absl::StrCat(ToAbsl(name), ": ", ToAbsl(what), ": ", strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<ByteSource> ByteSource::Open(const std::string& path) {
  if (path == "-") {
    // A silent command that waits for input looks as if it hung.
    if (isatty(STDIN_FILENO) == 1 && !IsQuiet()) {
      constexpr std::string_view kNotice = "locus: reading standard input; end it with Ctrl-D\n";
      [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kNotice.data(), kNotice.size());
    }
    return ByteSource("stdin", STDIN_FILENO);
  }
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(path, "cannot open", errno);
  return ByteSource(path, fd);
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : name_(std::move(other.name_)), fd_(std::exchange(other.fd_, -1)) {}

ByteSource::~ByteSource() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

absl::StatusOr<size_t> ByteSource::Read(std::span<char> room) {
  for (;;) {
    if (Interrupted()) return absl::AbortedError(name_ + ": interrupted");
    ssize_t count = read(fd_, room.data(), room.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return ErrnoStatus(name_, "cannot read", errno);
  }
}

std::optional<uint64_t> ByteSource::size() const {
  struct stat facts;
  if (fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(facts.st_size);
}

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  constexpr size_t kLimit = 64 * 1024 * 1024;
  constexpr size_t kStep = 64 * 1024;
  LOCUS_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  std::string text;
  for (;;) {
    size_t before = text.size();
    text.resize(before + kStep);
    LOCUS_ASSIGN_OR_RETURN(size_t count, source.Read(std::span<char>(text).subspan(before)));
    text.resize(before + count);
    if (count == 0) return text;
    if (text.size() > kLimit) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is longer than ", kLimit, " bytes"));
    }
  }
}

ByteSink::ByteSink(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), buffer_(std::make_unique_for_overwrite<char[]>(kBlock)) {}

void ByteSink::Append(std::string_view bytes) {
  if (bytes.size() > kBlock - used_) WriteOut();
  if (bytes.size() > kBlock) return WriteAll(bytes);
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

absl::Status ByteSink::Flush() {
  WriteOut();
  return status_;
}

void ByteSink::WriteOut() {
  WriteAll({buffer_.get(), used_});
  used_ = 0;
}

void ByteSink::WriteAll(std::string_view bytes) {
  while (status_.ok() && !bytes.empty()) {
    if (Interrupted()) {
      status_ = absl::AbortedError(name_ + ": interrupted");
      return;
    }
    ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EPIPE) {
      status_ = absl::CancelledError(name_ + ": the reader closed the pipe");
    } else if (errno != EINTR) {
      status_ = ErrnoStatus(name_, "cannot write", errno);
    }
  }
}

}  // namespace locus::cli
