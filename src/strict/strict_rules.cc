// SPDX-License-Identifier: Apache-2.0
#include "src/strict/strict_rules.h"

#include <string_view>

#include "src/base/os/check.h"
#include "src/base/text/text.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {
namespace {

constexpr uint64_t kMostUids = uint64_t{1} << 40;
constexpr uint32_t kLeastSectionSize = 64;
constexpr uint32_t kMostSectionSize = uint32_t{1} << 24;
constexpr uint64_t kMostSections = uint64_t{1} << 20;
constexpr absl::Duration kLeastTtl = absl::Seconds(3);
constexpr absl::Duration kMostTtl = absl::Minutes(10);
constexpr size_t kMostNameBytes = 64;
constexpr size_t kMostAddressBytes = 256;

absl::Status Outside(std::string_view what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(internal::ToAbsl(what), " is ", value, "; it must be ", least, " to ", most));
}

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kMostNameBytes) return false;
  for (char c : text) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!fits) return false;
  }
  return true;
}

absl::Status CheckName(std::string_view what, std::string_view name) {
  if (IsName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(internal::ToAbsl(what), " ", internal::Quoted(name),
                   " is not 1 to 64 characters of a-z, 0-9, '_', '.' and '-'"));
}

absl::Status CheckOwner(const StrictOwner& owner) {
  LOCUS_RETURN_IF_ERROR(CheckName("an owner's name", owner.name));
  if (owner.instance == 0) return absl::InvalidArgumentError("an owner's instance is 0");
  const bool printable = std::all_of(owner.address.begin(), owner.address.end(),
                                     [](char c) { return c > 0x20 && c < 0x7f; });
  if (printable && owner.address.size() <= kMostAddressBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("owner ", owner.name, ": the address ", internal::Quoted(owner.address),
                   " is not at most 256 printable ASCII characters without spaces"));
}

template <typename Items>
absl::Status CheckSections(const StrictSetOptions& options, const Items& items) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_RETURN_IF_ERROR(
      Outside("the number of sections in a call", items.size(), 1, kMostSectionsAtOnce));
  std::set<uint32_t> named;
  for (const auto& item : items) {
    if (item.section >= options.sections()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "section ", item.section, " is not below the number of sections, ", options.sections()));
    }
    if (!named.insert(item.section).second) {
      return absl::InvalidArgumentError(absl::StrCat("section ", item.section, " is named twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

uint32_t StrictSetOptions::sections() const {
  return static_cast<uint32_t>((uids + section_size - 1) / section_size);
}

uint32_t StrictSetOptions::SectionOf(uint64_t uid) const {
  return static_cast<uint32_t>((uid - first_uid) / section_size);
}

uint64_t StrictSetOptions::UidOf(std::string_view text) const {
  const uint64_t hash = XXH64(text.data(), text.size(), 0);
  return first_uid + static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * uids) >> 64);
}

absl::Status StrictSetOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(Outside("uids", uids, 1, kMostUids));
  LOCUS_RETURN_IF_ERROR(Outside("first_uid", first_uid, 0, INT64_MAX - kMostUids));
  LOCUS_RETURN_IF_ERROR(Outside("section_size", section_size, kLeastSectionSize, kMostSectionSize));
  LOCUS_RETURN_IF_ERROR(Outside("the number of sections, uids / section_size,",
                                (uids + section_size - 1) / section_size, 1, kMostSections));
  LOCUS_RETURN_IF_ERROR(Outside("step", step, 1, kMostStrictStep));
  if (ttl < kLeastTtl || ttl > kMostTtl || ttl % absl::Milliseconds(1) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ttl is ", absl::FormatDuration(ttl), "; it must be whole milliseconds, 3 s to 10 min"));
  }
  return absl::OkStatus();
}

namespace strict {

absl::Status Check(const StrictSetOptions& options, const StrictTake& request) {
  LOCUS_RETURN_IF_ERROR(CheckOwner(request.owner));
  LOCUS_RETURN_IF_ERROR(CheckSections(options, request.wishes));
  for (const StrictTake::Wish& wish : request.wishes) {
    LOCUS_RETURN_IF_ERROR(Outside("the max_seq seen", wish.seen, 0, kMostNumber));
  }
  return absl::OkStatus();
}

absl::Status Check(const StrictSetOptions& options, const StrictExtend& request) {
  LOCUS_RETURN_IF_ERROR(CheckOwner(request.owner));
  LOCUS_RETURN_IF_ERROR(CheckSections(options, request.sections));
  for (const StrictExtend::Section& section : request.sections) {
    LOCUS_RETURN_IF_ERROR(Outside("a token", section.token, 1, kMostNumber));
    LOCUS_RETURN_IF_ERROR(Outside("a max_seq", section.max_seq, 0, kMostNumber));
  }
  return absl::OkStatus();
}

absl::Status Check(const StrictSetOptions& options, const StrictRelease& request) {
  LOCUS_RETURN_IF_ERROR(CheckOwner(request.owner));
  if (!request.successor.empty()) {
    LOCUS_RETURN_IF_ERROR(CheckName("a successor", request.successor));
  }
  LOCUS_RETURN_IF_ERROR(CheckSections(options, request.sections));
  for (const StrictRelease::Section& section : request.sections) {
    LOCUS_RETURN_IF_ERROR(Outside("a token", section.token, 1, kMostNumber));
    LOCUS_RETURN_IF_ERROR(Outside("a max_seq", section.max_seq, 0, kMostNumber));
  }
  return absl::OkStatus();
}

absl::Status CheckSame(const SpaceName& set, const StrictSetOptions& stored,
                       const StrictSetOptions& opened) {
  if (stored == opened) return absl::OkStatus();
  const auto shown = [](const StrictSetOptions& options) {
    return absl::StrCat("uids ", options.first_uid, "+", options.uids, ", section_size ",
                        options.section_size, ", step ", options.step, ", ttl ",
                        absl::FormatDuration(options.ttl));
  };
  return absl::FailedPreconditionError(absl::StrCat("set ", set.str(), " has ", shown(stored),
                                                    "; it was opened with ", shown(opened)));
}

absl::Status CheckFits(const SpaceName& set, const StrictSetOptions& options, size_t most,
                       std::string_view store) {
  if (options.sections() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "set ", set.str(), " of ", options.uids, " uids by ", options.section_size, " has ",
      options.sections(), " sections, and ", std::string(store), " keeps at most ", most,
      "; it takes a larger section_size, fewer uids, or another store"));
}

absl::Status CheckRecord(const Record& record) {
  LOCUS_RETURN_IF_ERROR(Outside("max_seq", record.max_seq, 0, kMostNumber));
  LOCUS_RETURN_IF_ERROR(Outside("start", record.start, 0, record.max_seq));
  LOCUS_RETURN_IF_ERROR(Outside("token", record.token, 1, kMostNumber));
  if (!record.successor.empty()) {
    LOCUS_RETURN_IF_ERROR(CheckName("the successor", record.successor));
  }
  return record.owner.name.empty() ? absl::OkStatus() : CheckOwner(record.owner);
}

absl::Status NoSuchSet(const SpaceName& set) {
  return absl::NotFoundError(
      absl::StrCat("there is no set ", set.str(),
                   " of strict sequences; StrictStore::Create, `locus strict create`, makes it"));
}

StrictSetView ViewOf(const Set& set, const std::map<uint32_t, Record>& records, absl::Time now) {
  StrictSetView view;
  view.options = set.options;
  view.now = now;
  view.rest_until = set.rest_until;
  view.losses = set.losses;
  view.table_version = set.table_version;
  for (const auto& [section, record] : records) {
    StrictSectionView shown;
    shown.section = section;
    shown.max_seq = Rules::MaxSeqOf(set, &record);
    shown.token = record.token;
    if (!record.owner.name.empty()) shown.owner = record.owner;
    shown.successor = record.successor;
    shown.ends_at = record.ends_at;
    view.sections.push_back(std::move(shown));
  }
  return view;
}

}  // namespace strict
}  // namespace locus
