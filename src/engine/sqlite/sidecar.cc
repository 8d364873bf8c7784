// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/text.h"

namespace locus::sqlite {
namespace {

// "locus-sidecar 1 <32 hex digits> <20 digits>\n": one sector, so it is written whole.
constexpr std::string_view kMark = "locus-sidecar 1 ";
constexpr size_t kSize = kMark.size() + 32 + 1 + 20 + 1;

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

absl::StatusOr<Identity> ReadSidecar(const std::string& path) {
  File file(path, O_RDONLY);
  if (file.fd() < 0 && errno == ENOENT) return Identity();
  if (file.fd() < 0) return Error(path, "open it");
  char text[kSize + 1];
  ssize_t size = pread(file.fd(), text, sizeof text, 0);
  if (size < 0) return Error(path, "read it");
  std::string_view read(text, static_cast<size_t>(size));
  if (read.size() != kSize || !read.starts_with(kMark) || read.back() != '\n') return Identity();

  Identity identity;
  std::string_view hex = read.substr(kMark.size(), 32);
  std::string_view digits = read.substr(kMark.size() + 33, 20);
  std::optional<absl::uint128> id = ParseHex(hex);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  std::optional<uint64_t> generation = ParseDecimal(digits, INT64_MAX);
  if (!id || !generation) return Identity();
  identity.id.resize(16);
  StoreBigEndian64(absl::Uint128High64(*id), identity.id.data());
  StoreBigEndian64(absl::Uint128Low64(*id), identity.id.data() + 8);
  identity.generation = *generation;
  return identity;
}

absl::Status WriteSidecar(const std::string& path, const Identity& identity) {
  struct stat there;
  bool is_new = stat(path.c_str(), &there) != 0;
  char generation[21];
  std::snprintf(generation, sizeof generation, "%020llu",
                static_cast<unsigned long long>(identity.generation));
  std::string text = absl::StrCat(ToAbsl(kMark), HexOf(identity.id), " ", generation, "\n");
  LOCUS_CHECK(text.size() == kSize);

  File file(path, O_WRONLY | O_CREAT);
  if (file.fd() < 0) return Error(path, "open it for writing");
  ssize_t written = pwrite(file.fd(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error(path, "write it");
  if (!is_new && there.st_size > static_cast<off_t>(kSize) && ftruncate(file.fd(), kSize) != 0) {
    return Error(path, "shorten it");
  }
  if (fdatasync(file.fd()) != 0) return Error(path, "sync it");
  return is_new ? SyncDirectoryOf(path) : absl::OkStatus();
}

}  // namespace locus::sqlite
