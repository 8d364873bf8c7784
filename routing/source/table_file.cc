// SPDX-License-Identifier: Apache-2.0
#include "routing/source/table_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "absl/strings/str_cat.h"
#include "locus/routing/table_source.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::internal {
namespace {

int64_t Nanoseconds(const struct timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

absl::StatusOr<FileFacts> RegularFile(const struct stat& file, const std::string& path) {
  if (S_ISREG(file.st_mode)) return FileFacts::Of(file);
  return absl::FailedPreconditionError(Quoted(path) + " is not a regular file");
}

absl::Status TooLong(const std::string& path, uint64_t size) {
  return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " has ", size,
                                                    " bytes; a routing table has at most ",
                                                    TableSource::kMaxDocumentBytes));
}

// Reads from the beginning, up to `most` bytes.
absl::StatusOr<std::string> ReadSome(int fd, size_t most, const std::string& path) {
  std::string text(most, '\0');
  size_t size = 0;
  while (size < most) {
    ssize_t got = read(fd, text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailedFileCall(errno, "read", path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

FileFacts FileFacts::Of(const struct stat& file) {
  FileFacts facts;
  facts.device = file.st_dev;
  facts.inode = file.st_ino;
  facts.size = static_cast<uint64_t>(file.st_size);
  facts.modified_ns = Nanoseconds(file.st_mtim);
  facts.changed_ns = Nanoseconds(file.st_ctim);
  facts.permissions = file.st_mode & 07777;
  facts.user = file.st_uid;
  facts.group = file.st_gid;
  return facts;
}

absl::StatusOr<FileFacts> LookAtTableFile(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return FailedFileCall(errno, "look at", path);
  return RegularFile(file, path);
}

absl::StatusOr<TableFile> ReadTableFile(const std::string& path) {
  // Looked at first: opening a FIFO, or a device, does something to it.
  LOCUS_ASSIGN_OR_RETURN(FileFacts named, LookAtTableFile(path));
  if (named.size > TableSource::kMaxDocumentBytes) return TooLong(path, named.size);
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FailedFileCall(errno, "open", path);
  TableFile file;
  file.facts = named;
  // One byte more, to see that it ends there.
  LOCUS_ASSIGN_OR_RETURN(file.document, ReadSome(fd.get(), named.size + 1, path));
  struct stat opened, after;
  bool same = fstat(fd.get(), &opened) == 0 && FileFacts::Of(opened) == named &&
              stat(path.c_str(), &after) == 0 && FileFacts::Of(after) == named &&
              file.document.size() == named.size;
  if (same) return file;
  return absl::AbortedError(Quoted(path) + " changes while it is read");
}

std::string VersionOf(std::string_view document) {
  const XXH128_hash_t hash = XXH3_128bits(document.data(), document.size());
  return absl::StrCat(document.size(), "-", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("the path of a routing table is empty");
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a path contains a zero byte: " + Quoted(path));
  }
  if (path[0] == '/') return path;
  std::array<char, PATH_MAX> here;
  if (getcwd(here.data(), here.size()) == nullptr) return FailedFileCall(errno, "find", ".");
  return absl::StrCat(here.data(), "/", path);
}

}  // namespace locus::internal
