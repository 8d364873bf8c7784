// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::sqlite {
namespace {

constexpr std::string_view kMark = "locus-sidecar 1 ";
constexpr size_t kMaxBytes = 1 << 20;

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

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status Error(const std::string& path, const char* what) {
  int error = errno;
  auto code = error == EACCES || error == EROFS || error == EPERM
                  ? absl::StatusCode::kFailedPrecondition
                  : absl::StatusCode::kUnavailable;
  return absl::Status(code,
                      absl::StrCat("sidecar ", path, ": cannot ", what, ": ", strerror(error)));
}

absl::Status SyncDirectoryOf(const std::string& path) {
  File directory(path.substr(0, path.rfind('/') + 1), O_RDONLY | O_DIRECTORY);
  if (directory.fd() < 0 || fsync(directory.fd()) != 0) return Error(path, "sync its directory");
  return absl::OkStatus();
}

}  // namespace

std::string SidecarPath(const std::string& real_path) { return real_path + "-locus"; }

absl::StatusOr<Sidecar> ReadSidecar(const std::string& path) {
  File file(path, O_RDONLY);
  if (file.fd() < 0 && errno == ENOENT) return Sidecar();
  if (file.fd() < 0) return Error(path, "open it");
  std::string text;
  char part[4096];
  ssize_t size;
  while ((size = read(file.fd(), part, sizeof part)) > 0 && text.size() < kMaxBytes) {
    text.append(part, static_cast<size_t>(size));
  }
  if (size < 0) return Error(path, "read it");
  return Parse(text).value_or(Sidecar());
}

// In place: what a crash leaves half-written has a wrong sum and counts as lost.
absl::Status WriteSidecar(const std::string& path, const Sidecar& sidecar) {
  std::string text = absl::StrCat(ToAbsl(kMark), HexOf(sidecar.identity.id), " ",
                                  sidecar.identity.generation, "\n");
  for (const auto& [space, base] : sidecar.bases) {
    absl::StrAppend(&text, "base ", space, " ", base, "\n");
  }
  text += SumLine(text);

  struct stat there;
  bool is_new = stat(path.c_str(), &there) != 0;
  File file(path, O_WRONLY | O_CREAT);
  if (file.fd() < 0) return Error(path, "open it for writing");
  ssize_t written = pwrite(file.fd(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error(path, "write it");
  if (ftruncate(file.fd(), written) != 0) return Error(path, "shorten it");
  if (fdatasync(file.fd()) != 0) return Error(path, "sync it");
  return is_new ? SyncDirectoryOf(path) : absl::OkStatus();
}

}  // namespace locus::sqlite
