// SPDX-License-Identifier: Apache-2.0
#include "src/engine/sqlite/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::sqlite {

using internal::FileDescriptor;
using internal::FileLock;
using internal::HexOf;
using internal::ParseDecimal;
using internal::ParseHex;
using internal::StoreBigEndian64;
using internal::ToAbsl;

namespace {

constexpr std::string_view kMark = "locus-sidecar ";
constexpr uint64_t kSidecarVersion = 2;
// More than kMostSpaces lines of the longest names and numbers.
constexpr size_t kMostBytes = 1 << 20;

std::string SumLine(std::string_view lines) {
  char sum[8];
  StoreBigEndian64(XXH64(lines.data(), lines.size(), 0), sum);
  return absl::StrCat("sum ", HexOf({sum, sizeof sum}), "\n");
}

// Removes the part before `end` from the front of `text`; nullopt: `end` is not in it.
std::optional<std::string_view> TakeUntil(std::string_view& text, char end) {
  size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

// The numbers of `line`, which are separated by single spaces.
template <size_t kCount>
bool TakeNumbers(std::string_view line, std::array<uint64_t, kCount>& numbers) {
  for (size_t i = 0; i < kCount; ++i) {
    size_t size = i + 1 < kCount ? line.find(' ') : line.size();
    if (size == std::string_view::npos) return false;
    std::optional<uint64_t> number = ParseDecimal(line.substr(0, size), INT64_MAX);
    if (!number) return false;
    numbers[i] = *number;
    line.remove_prefix(std::min(size + 1, line.size()));
  }
  return true;
}

// "<version> <id> <generation>"; the version.
std::optional<uint64_t> ParseFirstLine(std::string_view line, Identity& identity) {
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  std::optional<std::string_view> version_text = TakeUntil(line, ' ');
  std::optional<uint64_t> version;
  if (version_text) version = ParseDecimal(*version_text, UINT32_MAX);
  if (!version || *version == 0) return std::nullopt;
  if (*version > kSidecarVersion) return version;  // its lines are not known here
  std::optional<std::string_view> hex = TakeUntil(line, ' ');
  if (!hex || hex->size() != 32) return std::nullopt;
  std::optional<absl::uint128> id = ParseHex(*hex);
  std::optional<uint64_t> generation = ParseDecimal(line, INT64_MAX);
  if (!id || !generation) return std::nullopt;
  identity.id.resize(16);
  StoreBigEndian64(absl::Uint128High64(*id), identity.id.data());
  StoreBigEndian64(absl::Uint128Low64(*id), identity.id.data() + 8);
  identity.generation = *generation;
  return version;
}

bool ParseSpace(std::string_view line, uint64_t version, Sidecar& sidecar) {
  if (TakeUntil(line, ' ') != (version == 1 ? "base" : "space")) return false;
  std::optional<std::string_view> name = TakeUntil(line, ' ');
  if (!name) return false;
  Sidecar::SpaceCopy space;
  if (version == 1) {
    std::optional<uint64_t> base = ParseDecimal(line, segment_rules::kEndOfSequences);
    if (!base) return false;
    space.base = *base;
  } else {
    std::array<uint64_t, 5> numbers;
    if (!TakeNumbers(line, numbers) || numbers[0] > segment_rules::kEndOfSequences ||
        numbers[1] > UINT32_MAX) {
      return false;
    }
    space.base = numbers[0];
    space.options =
        SpaceOptions{static_cast<uint32_t>(numbers[1]),
                     absl::FromUnixNanos(static_cast<int64_t>(numbers[2])), numbers[3], numbers[4]};
    if (!segment_rules::CheckOptions(*space.options).ok()) return false;
  }
  return sidecar.spaces.emplace(*name, space).second;
}

// An empty sidecar: the text is not whole.
absl::StatusOr<Sidecar> Parse(std::string_view text, const std::string& path) {
  constexpr size_t kSumBytes = 4 + 16 + 1;
  if (text.size() < kSumBytes) return Sidecar();
  std::string_view lines = text.substr(0, text.size() - kSumBytes);
  if (text.substr(lines.size()) != SumLine(lines)) return Sidecar();
  Sidecar sidecar;
  std::optional<std::string_view> line = TakeUntil(lines, '\n');
  std::optional<uint64_t> version;
  if (line) version = ParseFirstLine(*line, sidecar.identity);
  if (!version) return Sidecar();
  if (*version > kSidecarVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sidecar ", path, " has version ", *version, "; this version of locus supports ",
        kSidecarVersion, ": use the newer locus that wrote it"));
  }
  while ((line = TakeUntil(lines, '\n'))) {
    if (!ParseSpace(*line, *version, sidecar)) return Sidecar();
  }
  return sidecar;
}

std::string TextOf(const Sidecar& sidecar) {
  std::string text = absl::StrCat(ToAbsl(kMark), kSidecarVersion, " ", HexOf(sidecar.identity.id),
                                  " ", sidecar.identity.generation, "\n");
  for (const auto& [name, space] : sidecar.spaces) {
    SpaceOptions options = space.options.value_or(SpaceOptions());
    absl::StrAppend(&text, "space ", name, " ", space.base, " ", options.section_size, " ",
                    absl::ToUnixNanos(options.floor_epoch), " ", options.floor_rate, " ",
                    options.max_lead, "\n");
  }
  return text + SumLine(text);
}

absl::Status Error(const std::string& path, const char* what) {
  int error = errno;
  // Errors that may pass by themselves; all others need a repair.
  bool passes = error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO ||
                error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
                error == ENOENT;
  auto code = passes ? absl::StatusCode::kUnavailable : absl::StatusCode::kFailedPrecondition;
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

// Opens `path` for writing. A file that it creates gets the mode, and the owner of the database:
// an operator may run the command as root, and the service must be able to write the file later.
absl::StatusOr<FileDescriptor> OpenOrCreate(const std::string& path, const struct stat& database,
                                            mode_t mode) {
  while (true) {
    FileDescriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (fd.get() >= 0) return fd;
    if (errno != ENOENT) return Error(path, "open it for writing");
    FileDescriptor made(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (made.get() < 0 && errno == EEXIST) continue;
    if (made.get() < 0) return Error(path, "create it");
    bool is_root = geteuid() == 0;
    // Others may give their files at most to another group of theirs.
    bool given = fchown(made.get(), is_root ? database.st_uid : uid_t(-1), database.st_gid) == 0;
    if (is_root && !given) return Error(path, "give it the database's owner");
    if (fchmod(made.get(), mode) != 0) return Error(path, "set its mode");
    LOCUS_RETURN_IF_ERROR(SyncDirectoryOf(path));
    return made;
  }
}

}  // namespace

std::string SidecarPath(const std::string& real_path, std::string_view what) {
  return absl::StrCat(real_path, ToAbsl(what), "-locus");
}
std::string SidecarLockPath(const std::string& real_path, std::string_view what) {
  return absl::StrCat(real_path, ToAbsl(what), "-locus-lock");
}

absl::StatusOr<SidecarFile> SidecarFile::Lock(const std::string& real_path, absl::Duration timeout,
                                              std::string_view what) {
  struct stat database;
  if (stat(real_path.c_str(), &database) != 0) return Error(real_path, "find its database");
  const mode_t writers = database.st_mode & 0222;
  const std::string lock_path = SidecarLockPath(real_path, what);
  // Created here, with a mode that lets only writers of the database open it.
  LOCUS_RETURN_IF_ERROR(OpenOrCreate(lock_path, database, writers | writers << 1).status());
  LOCUS_ASSIGN_OR_RETURN(FileLock lock,
                         FileLock::TakeOrCreate(lock_path, std::chrono::steady_clock::now() +
                                                               absl::ToChronoNanoseconds(timeout)));
  const std::string path = SidecarPath(real_path, what);
  LOCUS_ASSIGN_OR_RETURN(FileDescriptor fd, OpenOrCreate(path, database, database.st_mode & 0666));
  return SidecarFile(path, std::move(lock), std::move(fd));
}

absl::StatusOr<Sidecar> SidecarFile::Read() {
  std::string text;
  std::string part(size_t{1} << 16, '\0');
  while (true) {
    ssize_t size = pread(fd_.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      // Its contents are unknown, so it must not count as empty: that would hide a loss.
      return absl::FailedPreconditionError(Error(path_, "read it").message());
    }
    if (size == 0) break;
    text.append(part, 0, static_cast<size_t>(size));
    if (text.size() > kMostBytes) {
      return absl::FailedPreconditionError(
          absl::StrCat("sidecar ", path_, " is larger than ", kMostBytes,
                       " bytes, so it is not a sidecar of locus: move it away"));
    }
  }
  before_ = std::move(text);
  return Parse(before_, path_);
}

absl::Status SidecarFile::Write(const Sidecar& sidecar) {
  written_ = true;
  return Replace(TextOf(sidecar));
}

void SidecarFile::TakeBack() {
  if (written_) Replace(before_).IgnoreError();
}

absl::Status SidecarFile::Replace(const std::string& text) const {
  size_t done = 0;
  while (done < text.size()) {
    ssize_t size =
        pwrite(fd_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return Error(path_, "write it");
    done += static_cast<size_t>(size);
  }
  if (ftruncate(fd_.get(), static_cast<off_t>(done)) != 0) return Error(path_, "shorten it");
  if (fdatasync(fd_.get()) != 0) return Error(path_, "sync it");
  return absl::OkStatus();
}

}  // namespace locus::sqlite
