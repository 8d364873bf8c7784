// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/sidecar.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/check.h"
#include "src/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::sqlite {
namespace {

constexpr std::string_view kMark = "locus-sidecar 1 ";
constexpr size_t kMaxBytes = 1 << 16;  // some 700 spaces

std::string SumLine(std::string_view lines) {
  char sum[8];
  StoreBigEndian64(XXH64(lines.data(), lines.size(), 0), sum);
  return absl::StrCat("sum ", HexOf({sum, sizeof sum}), "\n");
}

// Takes what stands before `end` off the front of `text`; nullopt: `end` is not in it.
std::optional<std::string_view> TakeUntil(std::string_view& text, char end) {
  size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

bool ParseFirstLine(std::string_view line, Identity& identity) {
  if (!line.starts_with(kMark)) return false;
  line.remove_prefix(kMark.size());
  std::optional<std::string_view> hex = TakeUntil(line, ' ');
  if (!hex || hex->size() != 32) return false;
  std::optional<absl::uint128> id = ParseHex(*hex);
  std::optional<uint64_t> generation = ParseDecimal(line, INT64_MAX);
  if (!id || !generation) return false;
  identity.id.resize(16);
  StoreBigEndian64(absl::Uint128High64(*id), identity.id.data());
  StoreBigEndian64(absl::Uint128Low64(*id), identity.id.data() + 8);
  identity.generation = *generation;
  return true;
}

std::optional<Sidecar> Parse(std::string_view text) {
  constexpr size_t kSumBytes = 4 + 16 + 1;
  if (text.size() < kSumBytes) return std::nullopt;
  std::string_view lines = text.substr(0, text.size() - kSumBytes);
  if (text.substr(lines.size()) != SumLine(lines)) return std::nullopt;
  Sidecar sidecar;
  std::optional<std::string_view> line = TakeUntil(lines, '\n');
  if (!line || !ParseFirstLine(*line, sidecar.identity)) return std::nullopt;
  while ((line = TakeUntil(lines, '\n'))) {
    if (TakeUntil(*line, ' ') != "base") return std::nullopt;
    std::optional<std::string_view> space = TakeUntil(*line, ' ');
    std::optional<uint64_t> base = ParseDecimal(*line, uint64_t{1} << 56);
    if (!space || !base) return std::nullopt;
    sidecar.bases[std::string(*space)] = *base;
  }
  return sidecar;
}

absl::Status Error(const std::string& path, const char* what) {
  int error = errno;
  auto code = error == EACCES || error == EROFS || error == EPERM
                  ? absl::StatusCode::kFailedPrecondition
                  : absl::StatusCode::kUnavailable;
  return absl::Status(code,
                      absl::StrCat("sidecar ", path, ": cannot ", what, ": ", strerror(error)));
}

absl::Status SyncDirectoryOf(const std::string& path) {
  std::string directory = path.substr(0, path.rfind('/') + 1);
  int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool synced = fd >= 0 && fsync(fd) == 0;
  absl::Status status = synced ? absl::OkStatus() : Error(path, "sync its directory");
  if (fd >= 0) close(fd);
  return status;
}

}  // namespace

std::string SidecarPath(const std::string& real_path) { return real_path + "-locus"; }

absl::StatusOr<SidecarFile> SidecarFile::Lock(const std::string& path, absl::Duration timeout) {
  struct stat there;
  bool is_new = stat(path.c_str(), &there) != 0;
  SidecarFile file(path, open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.fd_ < 0) return Error(path, "open it for writing");
  absl::Time deadline = absl::Now() + timeout;
  while (flock(file.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return Error(path, "lock it");
    if (absl::Now() >= deadline) {
      return absl::UnavailableError(absl::StrCat("sidecar ", path, " is locked for longer than ",
                                                 absl::FormatDuration(timeout)));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  if (is_new) LOCUS_RETURN_IF_ERROR(SyncDirectoryOf(path));
  return file;
}

SidecarFile::~SidecarFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<Sidecar> SidecarFile::Read() const {
  std::string text(kMaxBytes, '\0');
  ssize_t size = pread(fd_, text.data(), text.size(), 0);
  if (size < 0) return Error(path_, "read it");
  return Parse(std::string_view(text).substr(0, static_cast<size_t>(size))).value_or(Sidecar());
}

absl::Status SidecarFile::Write(const Sidecar& sidecar) const {
  std::string text = absl::StrCat(ToAbsl(kMark), HexOf(sidecar.identity.id), " ",
                                  sidecar.identity.generation, "\n");
  for (const auto& [space, base] : sidecar.bases) {
    absl::StrAppend(&text, "base ", space, " ", base, "\n");
  }
  text += SumLine(text);
  ssize_t written = pwrite(fd_, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error(path_, "write it");
  if (ftruncate(fd_, written) != 0) return Error(path_, "shorten it");
  if (fdatasync(fd_) != 0) return Error(path_, "sync it");
  return absl::OkStatus();
}

}  // namespace locus::sqlite
