// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/strict/call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::strict_proof {

using strict::Drawn;

static_assert(std::is_trivially_copyable_v<Drawn>);

bool RunsOf(std::span<const uint64_t> uids, std::span<const uint64_t> numbers, int64_t called,
            int64_t answered, std::vector<Drawn>& runs) {
  runs.clear();
  for (size_t i = 0; i < uids.size(); ++i) {
    if (!runs.empty() && runs.back().uid == uids[i]) {
      if (numbers[i] <= runs.back().last()) return false;
      if (numbers[i] == runs.back().last() + 1) {
        ++runs.back().count;
        continue;
      }
    }
    runs.push_back({uids[i], numbers[i], called, answered, 1});
  }
  return true;
}

CallLog::CallLog(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  LOCUS_CHECK(fd_ >= 0);
}

CallLog::~CallLog() { close(fd_); }

void CallLog::Add(std::span<const Drawn> answer) {
  const auto written = write(fd_, answer.data(), answer.size_bytes());
  LOCUS_CHECK(written == static_cast<ssize_t>(answer.size_bytes()));
}

absl::Status ReadCalls(const std::string& path, std::vector<Drawn>& history) {
  size_t at = 0;
  return ReadCallsFrom(path, at, history);
}

absl::Status ReadCallsFrom(const std::string& path, size_t& at, std::vector<Drawn>& history) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0) {
    return absl::UnavailableError(absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
  }
  const size_t before = history.size();
  const size_t end = static_cast<size_t>(size) / sizeof(Drawn) * sizeof(Drawn);
  if (end <= at) return absl::OkStatus();
  history.resize(before + (end - at) / sizeof(Drawn));
  in.seekg(static_cast<std::streamoff>(at));
  in.read(reinterpret_cast<char*>(history.data() + before), static_cast<std::streamsize>(end - at));
  if (!in) return absl::UnavailableError(absl::StrCat(path, " became shorter while it was read"));
  at = end;
  return absl::OkStatus();
}

}  // namespace locus::strict_proof
