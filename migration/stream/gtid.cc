// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/gtid.h"

#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::ParseDecimal;
using internal::Quoted;
using internal::ToAbsl;

namespace {

std::optional<Gtid> ParseGtid(absl::string_view text) {
  std::vector<std::string> parts = absl::StrSplit(text, '-');
  if (parts.size() != 3) return std::nullopt;
  constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
  auto domain = ParseDecimal(parts[0], kMost32), server = ParseDecimal(parts[1], kMost32);
  auto sequence = ParseDecimal(parts[2], std::numeric_limits<uint64_t>::max());
  if (!domain || !server || !sequence) return std::nullopt;
  return Gtid{static_cast<uint32_t>(*domain), static_cast<uint32_t>(*server), *sequence};
}

}  // namespace

std::string Gtid::ToString() const { return absl::StrCat(domain, "-", server, "-", sequence); }

absl::StatusOr<GtidPosition> GtidPosition::Parse(std::string_view text) {
  GtidPosition position;
  absl::string_view rest = absl::StripAsciiWhitespace(ToAbsl(text));
  if (rest.empty()) return position;
  for (absl::string_view part : absl::StrSplit(rest, ',')) {
    absl::string_view word = absl::StripAsciiWhitespace(part);
    std::optional<Gtid> gtid = ParseGtid(word);
    if (!gtid) {
      return absl::InvalidArgumentError(
          absl::StrCat("GTID position: ", Quoted({word.data(), word.size()}),
                       " is not a GTID of the form DOMAIN-SERVER-SEQUENCE"));
    }
    if (!position.last_.emplace(gtid->domain, *gtid).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("GTID position: domain ", gtid->domain, " is listed twice"));
    }
    if (position.last_.size() > kMostDomains) {
      return absl::InvalidArgumentError(
          absl::StrCat("GTID position: more than ", kMostDomains, " domains"));
    }
  }
  return position;
}

std::string GtidPosition::ToString() const {
  std::string text;
  for (const auto& [domain, gtid] : last_) {
    absl::StrAppend(&text, text.empty() ? "" : ",", gtid.ToString());
  }
  return text;
}

bool GtidPosition::Covers(const GtidPosition& other) const {
  for (const auto& [domain, gtid] : other.last_) {
    auto found = last_.find(domain);
    if (found == last_.end() || found->second.sequence < gtid.sequence) return false;
  }
  return true;
}

std::optional<Gtid> GtidPosition::Of(uint32_t domain) const {
  auto found = last_.find(domain);
  if (found == last_.end()) return std::nullopt;
  return found->second;
}

}  // namespace locus::stream
