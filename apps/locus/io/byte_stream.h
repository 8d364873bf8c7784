// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_IO_BYTE_STREAM_H_
#define LOCUS_APPS_LOCUS_IO_BYTE_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Files and pipes, read and written in large blocks. Not thread-safe.
namespace locus::cli {

// A file being read; "-" is stdin. Messages name it.
class ByteSource {
 public:
  // NOT_FOUND; FAILED_PRECONDITION for other errors of open(2).
  static absl::StatusOr<ByteSource> Open(const std::string& path);
  ByteSource(ByteSource&& other) noexcept;
  ~ByteSource();

  // How many bytes it put into `room`; 0: the end. Blocks. ABORTED: Interrupted().
  absl::StatusOr<size_t> Read(std::span<char> room);
  // nullopt: not a regular file.
  std::optional<uint64_t> size() const;
  int fd() const { return fd_; }

 private:
  ByteSource(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}
  std::string name_;
  int fd_;
};

// All of a file, at most 64 MiB; "-" is stdin.
absl::StatusOr<std::string> ReadWhole(const std::string& path);

// A file descriptor being written. The first error stays: later writes do nothing, and status()
// and Flush() return it. CANCELLED: the pipe's reader has closed it. ABORTED: Interrupted().
class ByteSink {
 public:
  static constexpr size_t kBlock = 256 * 1024;

  // Does not close `fd`. `name` is for messages.
  ByteSink(int fd, std::string name);

  void Append(std::string_view bytes);
  // At least `size` bytes to write into, kBlock at most; then Written() with how many were.
  char* Reserve(size_t size) {
    if (kBlock - used_ < size) WriteOut();
    return buffer_.get() + used_;
  }
  void Written(size_t size) { used_ += size; }

  absl::Status Flush();
  const absl::Status& status() const { return status_; }

 private:
  void WriteOut();
  void WriteAll(std::string_view bytes);

  int fd_;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  absl::Status status_;
};

// What the errno of a call on `name` means: "NAME: WHAT: No space left on device".
absl::Status ErrnoStatus(std::string_view name, std::string_view what, int error);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_IO_BYTE_STREAM_H_
