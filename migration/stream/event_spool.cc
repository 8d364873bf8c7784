// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/event_spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::stream {

namespace {

constexpr size_t kChunkSize = 256 << 10;
constexpr size_t kLengthSize = sizeof(uint32_t);

absl::Status FileError(std::string_view verb, const std::string& directory, int error) {
  const std::string text =
      absl::StrCat("the file in ", directory,
                   " for transactions that do not fit into memory: ", std::string(verb), ": ",
                   std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  return absl::UnavailableError(text);
}

// A file that has no name, or none any more. -1: errno says why.
int OpenNameless(const std::string& directory) {
  int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  // A file system without O_TMPFILE.
  std::string name = directory + "/locus-stream-XXXXXX";
  fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

}  // namespace

EventSpool::~EventSpool() {
  if (fd_ >= 0) close(fd_);
}

EventSpool::EventSpool(EventSpool&& other) noexcept { Swap(other); }

EventSpool& EventSpool::operator=(EventSpool&& other) noexcept {
  EventSpool taken(std::move(other));
  Swap(taken);
  return *this;
}

void EventSpool::Swap(EventSpool& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(chunks_, other.chunks_);
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  std::swap(file_size_, other.file_size_);
  std::swap(bytes_, other.bytes_);
  std::swap(records_, other.records_);
  std::swap(reading_, other.reading_);
  std::swap(chunk_, other.chunk_);
  std::swap(offset_, other.offset_);
  std::swap(file_read_, other.file_read_);
}

absl::Status EventSpool::Append(std::string_view first, std::string_view rest) {
  LOCUS_CHECK(!reading_);
  LOCUS_CHECK(first.size() + rest.size() <= std::numeric_limits<uint32_t>::max());
  const uint32_t size = static_cast<uint32_t>(first.size() + rest.size());
  char length[kLengthSize];
  std::memcpy(length, &size, sizeof length);
  bytes_ += size;
  ++records_;
  if (fd_ < 0 && bytes_ + records_ * kLengthSize > options_.memory_limit) {
    LOCUS_RETURN_IF_ERROR(Spill());
  }
  if (fd_ >= 0) {
    LOCUS_RETURN_IF_ERROR(Write({length, sizeof length}));
    LOCUS_RETURN_IF_ERROR(Write(first));
    return Write(rest);
  }
  if (chunks_.empty() || chunks_.back().size() + kLengthSize + size > kChunkSize) {
    chunks_.emplace_back();
    // The first grows as it must: most transactions are small. Those after it have their size.
    if (chunks_.size() > 1) chunks_.back().reserve(std::max(kChunkSize, kLengthSize + size));
  }
  chunks_.back().append(length, sizeof length).append(first).append(rest);
  return absl::OkStatus();
}

absl::Status EventSpool::Spill() {
  const int fd = OpenNameless(options_.directory);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOSPC || error == EDQUOT) return FileError("open", options_.directory, error);
    return absl::FailedPreconditionError(
        absl::StrCat("no file can be made in ", options_.directory,
                     " for transactions that do not fit into memory: ", std::strerror(error)));
  }
  fd_ = fd;
  for (const std::string& chunk : chunks_) LOCUS_RETURN_IF_ERROR(Write(chunk));
  chunks_ = {};
  return absl::OkStatus();
}

absl::Status EventSpool::Write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() <= kChunkSize) {
    buffer_.append(bytes);
    return absl::OkStatus();
  }
  LOCUS_RETURN_IF_ERROR(Flush());
  if (bytes.size() <= kChunkSize) {
    buffer_.assign(bytes);
    return absl::OkStatus();
  }
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", options_.directory, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
    file_size_ += static_cast<uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::Status EventSpool::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", options_.directory, errno);
    rest.remove_prefix(static_cast<size_t>(written));
    file_size_ += static_cast<uint64_t>(written);
  }
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status EventSpool::Rewind() {
  if (fd_ >= 0 && !reading_) LOCUS_RETURN_IF_ERROR(Flush());
  reading_ = true;
  chunk_ = 0;
  offset_ = 0;
  file_read_ = 0;
  if (fd_ >= 0) buffer_.clear();
  return absl::OkStatus();
}

absl::Status EventSpool::Fill(size_t size) {
  if (buffer_.size() - offset_ >= size) return absl::OkStatus();
  buffer_.erase(0, offset_);
  offset_ = 0;
  const uint64_t missing = size - buffer_.size();
  if (missing > file_size_ - file_read_) {
    return absl::DataLossError(absl::StrCat("the file in ", options_.directory,
                                            " for transactions that do not fit into memory ends in"
                                            " the middle of an event"));
  }
  const size_t want = static_cast<size_t>(
      std::min<uint64_t>(std::max<uint64_t>(missing, kChunkSize), file_size_ - file_read_));
  size_t filled = buffer_.size();
  const size_t end = filled + want;
  buffer_.resize(end);
  while (filled < end) {
    const ssize_t got =
        pread(fd_, buffer_.data() + filled, end - filled, static_cast<off_t>(file_read_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FileError("read", options_.directory, got == 0 ? EIO : errno);
    filled += static_cast<size_t>(got);
    file_read_ += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string_view>> EventSpool::Next() {
  if (!reading_) LOCUS_RETURN_IF_ERROR(Rewind());
  uint32_t size;
  if (fd_ >= 0) {
    if (offset_ == buffer_.size() && file_read_ == file_size_) return std::nullopt;
    LOCUS_RETURN_IF_ERROR(Fill(kLengthSize));
    std::memcpy(&size, buffer_.data() + offset_, kLengthSize);
    LOCUS_RETURN_IF_ERROR(Fill(kLengthSize + size));
    std::string_view record = std::string_view(buffer_).substr(offset_ + kLengthSize, size);
    offset_ += kLengthSize + size;
    return record;
  }
  if (chunk_ < chunks_.size() && offset_ == chunks_[chunk_].size()) {
    ++chunk_;
    offset_ = 0;
  }
  if (chunk_ == chunks_.size()) return std::nullopt;
  std::string_view chunk = chunks_[chunk_];
  std::memcpy(&size, chunk.data() + offset_, kLengthSize);
  std::string_view record = chunk.substr(offset_ + kLengthSize, size);
  offset_ += kLengthSize + size;
  return record;
}

}  // namespace locus::stream
