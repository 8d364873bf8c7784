// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/etcd/stored_table.h"

#include <zlib.h>

#include <map>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "routing/source/publication_note.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::ParseDecimal;
using internal::Quoted;
using internal::ToAbsl;

absl::Status EtcdTableOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(etcd.Check());
  bool good = !key.empty() && key.size() <= 64 &&
              key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("etcd table option key is ", Quoted(key), "; it must be [a-z0-9_-]{1,64}"));
  }
  if (key == "seq" || key == "space" || key == "heads") {
    return absl::InvalidArgumentError(
        absl::StrCat("etcd table option key is ", Quoted(key), ", which is reserved"));
  }
  if (max_request_bytes < 16 << 10 || max_request_bytes > 1 << 30) {
    return absl::InvalidArgumentError(absl::StrCat("etcd table option max_request_bytes is ",
                                                   max_request_bytes,
                                                   "; it must be 16384 to 1073741824"));
  }
  return absl::OkStatus();
}

namespace etcd {
namespace {

constexpr std::string_view kPackedMark = "zlib ";
constexpr size_t kLongestPlain = 64 << 10;
// zlib's format cannot do better than 1,032 to 1.
constexpr uint64_t kMostPacked = 1040;
constexpr size_t kMostKept = 1000;
constexpr size_t kLeastKept = 100;
constexpr uint64_t kMostKeptBytes = uint64_t{64} << 20;
constexpr uint64_t kMostMs = uint64_t{1} << 53;

absl::Status TooLong(uint64_t bytes) {
  return absl::FailedPreconditionError(absl::StrCat("a document of ", bytes, " bytes; at most ",
                                                    TableSource::kMaxDocumentBytes, " are taken"));
}

}  // namespace

TableKeys::TableKeys(const EtcdTableOptions& options)
    : base_(absl::StrCat(options.etcd.prefix, "/", options.key, "/")),
      newest_(base_ + "newest"),
      place_(absl::StrCat("etcd at ", absl::StrJoin(options.etcd.endpoints, ","), " key ",
                          absl::CHexEscape(options.etcd.prefix), "/", options.key)) {}

std::string TableKeys::Epoch(uint64_t epoch) const {
  return absl::StrFormat("%sepochs/%020d", base_, epoch);
}
std::string TableKeys::Published(uint64_t epoch) const {
  return absl::StrFormat("%s%020d", AllPublished(), epoch);
}
std::string TableKeys::AllPublished() const { return base_ + "published/"; }

std::string TableKeys::AllNotes() const { return base_ + "notes/"; }
std::string TableKeys::Note(uint64_t epoch) const {
  return absl::StrFormat("%s%020d", AllNotes(), epoch);
}

std::string PackDocument(const std::string& document) {
  if (document.size() <= kLongestPlain) return document;
  std::string value = absl::StrCat(ToAbsl(kPackedMark), document.size(), "\n");
  size_t head = value.size();
  uLongf packed = compressBound(document.size());
  value.resize(head + packed);
  int result = compress2(reinterpret_cast<Bytef*>(value.data() + head), &packed,
                         reinterpret_cast<const Bytef*>(document.data()), document.size(),
                         Z_DEFAULT_COMPRESSION);
  LOCUS_CHECK(result == Z_OK);
  value.resize(head + packed);
  return value;
}

absl::StatusOr<std::string> UnpackDocument(std::string_view value) {
  if (!value.starts_with(kPackedMark)) {
    if (value.size() > TableSource::kMaxDocumentBytes) return TooLong(value.size());
    return std::string(value);
  }
  value.remove_prefix(kPackedMark.size());
  size_t line = value.find('\n');
  std::optional<uint64_t> bytes;
  if (line != std::string_view::npos) bytes = ParseDecimal(value.substr(0, line), UINT64_MAX);
  if (!bytes || *bytes == 0) {
    return absl::FailedPreconditionError("a compressed document has no length");
  }
  if (*bytes > TableSource::kMaxDocumentBytes) return TooLong(*bytes);
  value.remove_prefix(line + 1);
  absl::Status damaged = absl::FailedPreconditionError(
      absl::StrCat("a compressed document is damaged, or does not have ", *bytes, " bytes"));
  if (*bytes / kMostPacked > value.size()) return damaged;
  std::string document(*bytes, '\0');
  uLongf unpacked = document.size();
  uLong taken = value.size();
  int result = uncompress2(reinterpret_cast<Bytef*>(document.data()), &unpacked,
                           reinterpret_cast<const Bytef*>(value.data()), &taken);
  if (result == Z_OK && unpacked == document.size() && taken == value.size()) return document;
  return damaged;
}

std::string KeptEpoch::Text() const {
  return absl::StrCat(absl::ToUnixMillis(published_at), " ", bytes);
}

absl::StatusOr<std::vector<KeptEpoch>> ReadHistory(const TableKeys& keys,
                                                   const std::vector<KeyValue>& pairs) {
  std::vector<KeptEpoch> history;
  for (const KeyValue& pair : pairs) {
    std::string_view name = pair.key;
    // A key that does not begin so is read as one whose epoch cannot be.
    if (name.starts_with(keys.AllPublished())) name.remove_prefix(keys.AllPublished().size());
    size_t digits = name.find_first_not_of('0');
    std::optional<uint64_t> epoch;
    if (name.size() == 20 && digits != std::string_view::npos) {
      epoch = ParseDecimal(name.substr(digits), RoutingTable::kMaxEpoch);
    }
    std::string_view value = pair.value;
    size_t space = std::min(value.find(' '), value.size());
    std::optional<uint64_t> ms = ParseDecimal(value.substr(0, space), kMostMs);
    std::optional<uint64_t> bytes;
    if (space < value.size()) bytes = ParseDecimal(value.substr(space + 1), UINT32_MAX);
    if (!epoch || !ms || !bytes) {
      return absl::DataLossError(
          absl::StrCat("the history has ", Quoted(name), " ", Quoted(value), ", which cannot be"));
    }
    history.push_back({*epoch, absl::FromUnixMillis(static_cast<int64_t>(*ms)), *bytes});
  }
  return history;
}

void AddNotes(const TableKeys& keys, const std::vector<KeyValue>& pairs,
              std::vector<KeptEpoch>& history) {
  std::map<std::string_view, std::string_view> notes;
  for (const KeyValue& pair : pairs) notes.emplace(pair.key, pair.value);
  for (KeptEpoch& kept : history) {
    const auto note = notes.find(keys.Note(kept.epoch));
    if (note != notes.end()) kept.note = internal::ParseNoteText(note->second, kept.Text());
  }
}

uint64_t FirstKept(std::span<const KeptEpoch> history) {
  uint64_t bytes = 0, first = 0;
  size_t kept = 0;
  for (auto at = history.rbegin(); at != history.rend(); ++at) {
    bytes += at->bytes;
    bool fits = kept < kLeastKept || (kept < kMostKept && bytes <= kMostKeptBytes);
    if (!fits) break;
    first = at->epoch;
    ++kept;
  }
  return first;
}

}  // namespace etcd
}  // namespace locus
