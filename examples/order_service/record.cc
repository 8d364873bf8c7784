// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shop {
namespace {

// A record in its file: five words in the byte order of the machine, the last one a check.
using Words = std::array<uint64_t, 5>;

uint64_t CheckOf(const Words& words) {
  uint64_t check = 0x6C6F6375735F7263;
  for (size_t i = 0; i < 4; ++i) check = (check ^ words[i]) * 0x9E3779B97F4A7C15u;
  return check ^ check >> 29;
}

Words WordsOf(const Record& record) {
  Words words{record.order, record.state.digest, record.state.version,
              uint64_t{record.waited} << 32 | uint64_t{record.refusals} << 16 |
                  static_cast<uint64_t>(record.what) << 8 | static_cast<uint64_t>(record.op)};
  words[4] = CheckOf(words);
  return words;
}

Record RecordOf(const Words& words) {
  Record record;
  record.order = words[0];
  record.state = {words[1], words[2]};
  record.waited = static_cast<uint32_t>(words[3] >> 32);
  record.refusals = static_cast<uint16_t>(words[3] >> 16);
  record.what = static_cast<Record::What>(words[3] >> 8 & 0xFF);
  record.op = static_cast<Op>(words[3] & 0xFF);
  return record;
}

absl::Status ErrorOf(const std::string& path) {
  const int error = errno;
  const std::string text = absl::StrCat(path, ": ", std::strerror(error));
  return error == EEXIST ? absl::AlreadyExistsError(text) : absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<Recorder> Recorder::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return ErrorOf(path);
  return Recorder(fd, path);
}

absl::StatusOr<Recorder> Recorder::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return ErrorOf(path);
  return Recorder(fd, path);
}

Recorder::Recorder(Recorder&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(other.path_) {}

Recorder::~Recorder() {
  if (fd_ >= 0) close(fd_);
}

absl::Status Recorder::Append(const Record& record) {
  const Words words = WordsOf(record);
  ssize_t written = 0;
  do {
    written = write(fd_, words.data(), sizeof words);
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(sizeof words)) return absl::OkStatus();
  if (written >= 0) errno = ENOSPC;
  return ErrorOf(path_);
}

std::vector<std::string> RecordFilesIn(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".records") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status ReadRecords(const std::string& path, const std::function<void(const Record&)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  Words words{};
  for (uint64_t number = 1;; ++number) {
    file.read(reinterpret_cast<char*>(words.data()), sizeof words);
    if (file.gcount() < static_cast<std::streamsize>(sizeof words)) return absl::OkStatus();
    if (words[4] != CheckOf(words)) {
      return absl::DataLossError(absl::StrCat(path, ": record ", number, " is damaged"));
    }
    take(RecordOf(words));
  }
}

}  // namespace shop
