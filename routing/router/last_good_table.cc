// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "locus/routing/table_source.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus::internal {
namespace {

constexpr std::string_view kFormat = "locus last good table ";
constexpr uint64_t kVersion = 2;
constexpr uint64_t kVersionWithoutPlace = 1;
constexpr std::string_view kSum = "xxh64=";
constexpr std::string_view kBytes = " bytes=";
constexpr std::string_view kPlace = " place=";
constexpr size_t kSumDigits = 16;
// With room for the header, whose place may be a long path or list of hosts.
constexpr size_t kMaxFileBytes = TableSource::kMaxDocumentBytes + (size_t{64} << 10);

std::string SumOf(std::string_view text) {
  return absl::StrCat(absl::Hex(XXH64(text.data(), text.size(), 0), absl::kZeroPad16));
}
std::string SumOf(std::string_view written_place, std::string_view document) {
  return SumOf(absl::StrCat(ToAbsl(written_place), "\n", ToAbsl(document)));
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait.
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FailedFileCall(errno, "open", path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FailedFileCall(errno, "inspect", path);
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " is not a regular file"));
  }
  std::string text;
  char piece[1 << 16];
  while (text.size() <= kMaxFileBytes) {
    ssize_t got = read(fd.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailedFileCall(errno, "read", path);
    if (got == 0) return text;
    text.append(piece, static_cast<size_t>(got));
  }
  return absl::DataLossError(
      absl::StrCat(Quoted(path), " is damaged: it is longer than ", kMaxFileBytes, " bytes"));
}

// OK: the path may be replaced. It has nothing, an empty file or a last-good table, perhaps of a
// later format or damaged. A wrong name must not destroy a device, a FIFO or another document.
absl::Status CheckReplaceable(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return FailedFileCall(errno, "inspect", path);
  }
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the last-good file ", Quoted(path),
                     " is not a regular file, and is not replaced; name another file"));
  }
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    return errno == ENOENT ? absl::OkStatus() : FailedFileCall(errno, "open", path);
  }
  char start[kFormat.size()];
  ssize_t got = pread(fd.get(), start, sizeof start, 0);
  while (got < 0 && errno == EINTR) got = pread(fd.get(), start, sizeof start, 0);
  if (got < 0) return FailedFileCall(errno, "read", path);
  if (got == 0 || std::string_view(start, static_cast<size_t>(got)) == kFormat) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the last-good file ", Quoted(path),
                   " does not begin like a last-good table, and is not replaced; name another "
                   "file"));
}

}  // namespace

std::string LastGoodText(std::string_view place, const RoutingTable& table) {
  std::string document = table.ToJson();
  std::string written_place = absl::CEscape(ToAbsl(place));
  return absl::StrCat(ToAbsl(kFormat), kVersion, " ", ToAbsl(kSum), SumOf(written_place, document),
                      ToAbsl(kBytes), document.size(), ToAbsl(kPlace), written_place, "\n",
                      document);
}

absl::StatusOr<LastGoodTable> ParseLastGoodText(std::string_view text) {
  if (!Take(text, kFormat)) return absl::DataLossError("it does not begin like a last-good table");
  size_t space = text.find(' ');
  if (space == std::string_view::npos) return absl::DataLossError("its header has no end");
  std::optional<uint64_t> version = ParseDecimal(text.substr(0, space), UINT32_MAX);
  if (!version || *version < kVersionWithoutPlace) {
    return absl::DataLossError("its header names no format");
  }
  if (*version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it has format ", *version, "; this version of locus reads formats up to ", kVersion));
  }
  text.remove_prefix(space + 1);
  size_t end = text.find('\n');
  if (end == std::string_view::npos) return absl::DataLossError("its header has no end");
  std::string_view header = text.substr(0, end);
  std::string_view document = text.substr(end + 1);
  std::string_view sum;
  if (Take(header, kSum) && header.size() > kSumDigits) {
    sum = header.substr(0, kSumDigits);
    header.remove_prefix(kSumDigits);
  }
  if (sum.empty() || !Take(header, kBytes)) return absl::DataLossError("its header is malformed");
  std::string_view written_place;
  bool has_place = *version > kVersionWithoutPlace;
  if (has_place) {
    size_t place = header.find(kPlace);
    if (place == std::string_view::npos) return absl::DataLossError("its header has no place");
    written_place = header.substr(place + kPlace.size());
    header = header.substr(0, place);
  }
  std::optional<uint64_t> bytes = ParseDecimal(header, TableSource::kMaxDocumentBytes);
  if (!bytes) return absl::DataLossError("its header has no length");
  if (*bytes != document.size()) {
    return absl::DataLossError(
        absl::StrCat("its document has ", document.size(), " bytes, its header says ", *bytes));
  }
  if (sum != (has_place ? SumOf(written_place, document) : SumOf(document))) {
    return absl::DataLossError("its checksum does not match its contents");
  }
  std::string place;
  bool unescaped = absl::CUnescape(ToAbsl(written_place), &place);
  if (!unescaped || (has_place && place.empty())) {
    return absl::DataLossError("its header has no place");
  }
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(document);
  if (table.ok()) return LastGoodTable{std::move(place), *std::move(table)};
  return absl::DataLossError(absl::StrCat("its document is refused: ", table.status().message()));
}

absl::StatusOr<LastGoodTable> ReadLastGoodTable(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadAll(path));
  absl::StatusOr<LastGoodTable> kept = ParseLastGoodText(text);
  if (kept.ok()) return kept;
  bool damaged = absl::IsDataLoss(kept.status());
  return absl::Status(
      kept.status().code(),
      absl::StrCat(Quoted(path), damaged ? " is damaged: " : ": ", kept.status().message()));
}

absl::Status WriteLastGoodTable(const std::string& path, std::string_view place,
                                const RoutingTable& table) {
  LOCUS_RETURN_IF_ERROR(CheckReplaceable(path));
  return ReplaceFile(path, LastGoodText(place, table), 0644);
}

absl::Status CheckLastGoodPlace(const std::string& path, const LastGoodTable& kept,
                                const std::string& place) {
  if (kept.place == place) return absl::OkStatus();
  if (kept.place.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the last-good file ", Quoted(path), " (epoch ", kept.table.epoch(),
                     ") was written by an earlier version and does not name its place; it is not "
                     "used, and will be replaced when the source answers"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the last-good file ", Quoted(path), " (epoch ", kept.table.epoch(), ") is of ",
                   Quoted(kept.place), ", this router follows ", Quoted(place),
                   ": it is not used, and will be replaced when the source answers; give each "
                   "router its own file"));
}

}  // namespace locus::internal
