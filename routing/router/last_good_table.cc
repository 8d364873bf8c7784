// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "locus/routing/table_source.h"
#include "src/base/atomic_file.h"
#include "src/base/check.h"
#include "src/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {
namespace {

constexpr std::string_view kFormat = "locus last good table ";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kSum = "xxh64=";
constexpr std::string_view kBytes = " bytes=";
constexpr size_t kSumDigits = 16;
// With room for the header.
constexpr size_t kMaxFileBytes = TableSource::kMaxDocumentBytes + 128;

std::string SumOf(std::string_view document) {
  return absl::StrCat(absl::Hex(XXH64(document.data(), document.size(), 0), absl::kZeroPad16));
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FailedFileCall(errno, "open", path);
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return FailedFileCall(errno, "inspect", path);
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " is no regular file"));
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

}  // namespace

std::string LastGoodText(const RoutingTable& table) {
  std::string document = table.ToJson();
  return absl::StrCat(ToAbsl(kFormat), kVersion, " ", ToAbsl(kSum), SumOf(document), ToAbsl(kBytes),
                      document.size(), "\n", document);
}

absl::StatusOr<RoutingTable> ParseLastGoodText(std::string_view text) {
  if (!Take(text, kFormat)) return absl::DataLossError("it does not begin as a last good table");
  size_t space = text.find(' ');
  if (space == std::string_view::npos) return absl::DataLossError("its header has no end");
  std::optional<uint64_t> version = ParseDecimal(text.substr(0, space), UINT32_MAX);
  if (!version || *version < kVersion) return absl::DataLossError("its header names no format");
  if (*version > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is of format ", *version, "; this locus reads format ", kVersion));
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
  std::optional<uint64_t> bytes = ParseDecimal(header, TableSource::kMaxDocumentBytes);
  if (!bytes) return absl::DataLossError("its header has no length");
  if (*bytes != document.size()) {
    return absl::DataLossError(
        absl::StrCat("its document has ", document.size(), " bytes, its header says ", *bytes));
  }
  if (SumOf(document) != sum) return absl::DataLossError("its checksum does not fit its document");
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(document);
  if (table.ok()) return table;
  return absl::DataLossError(absl::StrCat("its document is refused: ", table.status().message()));
}

absl::StatusOr<RoutingTable> ReadLastGoodTable(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadAll(path));
  absl::StatusOr<RoutingTable> table = ParseLastGoodText(text);
  if (table.ok()) return table;
  bool damaged = absl::IsDataLoss(table.status());
  return absl::Status(
      table.status().code(),
      absl::StrCat(Quoted(path), damaged ? " is damaged: " : ": ", table.status().message()));
}

absl::Status WriteLastGoodTable(const std::string& path, const RoutingTable& table) {
  return ReplaceFile(path, LastGoodText(table), 0644);
}

}  // namespace locus
