// SPDX-License-Identifier: Apache-2.0
#include "src/audit/spill.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::audit {

using internal::FailedFileCall;
using internal::FileDescriptor;
using internal::FileLock;
using internal::HexOf;
using internal::ParseDecimal;
using internal::Quoted;
using internal::StoreBigEndian64;

namespace {

constexpr size_t kNumberDigits = 20;
constexpr std::string_view kEnding = ".spill";
constexpr uint64_t kLeastFileBytes = 64 << 10;
// Of a frame's first line: three decimals, 16 hex digits, blanks.
constexpr size_t kLongestLine = 80;

std::string SumOf(std::string_view rows) {
  char sum[8];
  StoreBigEndian64(XXH64(rows.data(), rows.size(), 0), sum);
  return HexOf({sum, sizeof(sum)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spill>> Spill::Open(const std::string& directory,
                                                   uint64_t most_bytes) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailedFileCall(errno, "make the spill directory", directory);
  }
  auto lock = FileLock::TakeOrCreate(directory + "/lock",
                                     std::chrono::steady_clock::now() + std::chrono::seconds(1));
  if (absl::IsUnavailable(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the spill directory ", Quoted(directory),
                     " belongs to another process: give each process one of its own"));
  }
  LOCUS_RETURN_IF_ERROR(lock.status());
  std::unique_ptr<Spill> spill(new Spill(directory, most_bytes, *std::move(lock)));
  LOCUS_RETURN_IF_ERROR(spill->ListFiles());
  return spill;
}

std::string Spill::PathOf(uint64_t number) const {
  return absl::StrFormat("%s/%0*d%s", directory_, static_cast<int>(kNumberDigits), number,
                         std::string(kEnding));
}

absl::Status Spill::ListFiles() {
  std::unique_ptr<DIR, int (*)(DIR*)> names(opendir(directory_.c_str()), closedir);
  if (names == nullptr) return FailedFileCall(errno, "read the spill directory", directory_);
  while (const dirent* entry = readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() != kNumberDigits + kEnding.size() || !name.ends_with(kEnding)) continue;
    std::string_view digits = name.substr(0, kNumberDigits);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), kNumberDigits - 1));
    const std::optional<uint64_t> number = ParseDecimal(digits, INT64_MAX);
    struct stat facts;
    if (!number || *number == 0 || stat(PathOf(*number).c_str(), &facts) != 0) continue;
    files_.push_back({*number, static_cast<uint64_t>(facts.st_size)});
    bytes_ += files_.back().bytes;
  }
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.number < b.number; });
  if (!files_.empty()) next_number_ = files_.back().number + 1;
  return absl::OkStatus();
}

absl::Status Spill::BeginFile() {
  const std::string path = PathOf(next_number_);
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (fd.get() < 0) return FailedFileCall(errno, "make the spill file", path);
  files_.push_back({next_number_++, 0});
  writing_ = std::move(fd);
  return absl::OkStatus();
}

absl::Status Spill::WriteFrame(const std::string& frame) {
  const uint64_t file_bytes = std::max(kLeastFileBytes, most_bytes_ / 16);
  if (writing_.get() < 0 || files_.empty() ||
      (files_.back().bytes > 0 && files_.back().bytes + frame.size() > file_bytes)) {
    LOCUS_RETURN_IF_ERROR(BeginFile());
  }
  File& file = files_.back();
  absl::Status status = internal::WriteAll(writing_.get(), frame, PathOf(file.number));
  if (!status.ok()) {
    // The beginning of this frame would hide the frames written after it.
    if (ftruncate(writing_.get(), static_cast<off_t>(file.bytes)) != 0) writing_ = {};
    return status;
  }
  file.bytes += frame.size();
  bytes_ += frame.size();
  return absl::OkStatus();
}

absl::Status Spill::Append(const Batch& batch) {
  const std::string frame = absl::StrCat(batch.rows.size(), " ", batch.count, " ",
                                         SumOf(batch.rows), " ", batch.told, "\n", batch.rows);
  if (frame.size() > most_bytes_ / 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("a batch of ", frame.size(), " bytes has no room in the spill directory ",
                     Quoted(directory_), ", which may take ", most_bytes_));
  }
  while (bytes_ + frame.size() > most_bytes_ && !files_.empty()) {
    LoadFront();
    while (std::optional<Batch> lost = NextFrame()) {
      loss_.Add(*lost);
      Pop();
    }
    RemoveFront();
  }
  return WriteFrame(frame);
}

void Spill::LoadFront() {
  if (loaded_ == files_.front().number && text_.size() >= files_.front().bytes) return;
  if (loaded_ != files_.front().number) at_ = next_ = 0;
  loaded_ = files_.front().number;
  text_.clear();
  FileDescriptor fd(open(PathOf(loaded_).c_str(), O_RDONLY | O_CLOEXEC));
  readable_ = fd.get() >= 0;
  if (!readable_) return;
  std::string part(size_t{1} << 16, '\0');
  // No more bytes than the file had when it was listed or written.
  while (text_.size() < files_.front().bytes) {
    const ssize_t size = read(fd.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text_.append(part, 0, static_cast<size_t>(size));
  }
}

std::optional<Batch> Spill::FrameAt(size_t at, size_t& end) const {
  const std::string_view rest = std::string_view(text_).substr(at);
  const size_t line_end = rest.substr(0, kLongestLine).find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  std::array<std::string_view, 4> words;
  std::string_view line = rest.substr(0, line_end);
  for (std::string_view& word : words) {
    word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  const std::optional<uint64_t> bytes = ParseDecimal(words[0], INT64_MAX);
  const std::optional<uint64_t> count = ParseDecimal(words[1], INT64_MAX);
  // Earlier versions wrote three words.
  const std::optional<uint64_t> told = ParseDecimal(words[3].empty() ? "0" : words[3], INT64_MAX);
  if (!bytes || !count || !told || *bytes > rest.size() - line_end - 1) return std::nullopt;
  const std::string_view rows = rest.substr(line_end + 1, *bytes);
  if (SumOf(rows) != words[2]) return std::nullopt;
  end = at + line_end + 1 + *bytes;
  return Batch{std::string(rows), *count, *told};
}

// Reads from `at_` on, and moves `at_` behind frames that are damaged or were cut off by a crash.
std::optional<Batch> Spill::NextFrame() {
  while (at_ < text_.size()) {
    if (std::optional<Batch> batch = FrameAt(at_, next_)) return batch;
    // A line for each row; a frame begins with a digit.
    if (text_[at_] != '\n' && (text_[at_] < '0' || text_[at_] > '9')) ++loss_.records;
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
  }
  return std::nullopt;
}

std::optional<Batch> Spill::Front() {
  while (!files_.empty()) {
    LoadFront();
    if (std::optional<Batch> batch = NextFrame()) return batch;
    RemoveFront();
  }
  return std::nullopt;
}

void Spill::Pop() { at_ = next_; }

void Spill::RemoveFront() {
  if (files_.size() == 1) writing_ = {};
  // A file that could not be opened stays, so that an operator can repair its permissions.
  if (readable_) unlink(PathOf(files_.front().number).c_str());
  bytes_ -= files_.front().bytes;
  files_.pop_front();
  loaded_ = 0;
  text_.clear();
  at_ = next_ = 0;
}

}  // namespace locus::audit
