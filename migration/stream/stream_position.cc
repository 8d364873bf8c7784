// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/stream_position.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::ToAbsl;

std::string LogFile::ToString() const {
  return absl::StrCat(
      Printable(name), " of server ", server, ", begun ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%S%Ez", absl::FromUnixSeconds(begun), absl::UTCTimeZone()));
}

std::string StreamPosition::ToString() const {
  if (!file.known()) return gtids.ToString();
  return absl::StrCat(gtids.ToString(), " ", file.server, "/", file.begun, "/",
                      absl::CHexEscape(file.name));
}

absl::StatusOr<StreamPosition> StreamPosition::Parse(std::string_view text) {
  constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
  StreamPosition position;
  const size_t slash = text.find('/');
  const size_t space = text.rfind(' ', slash);
  const bool has_file = slash != std::string_view::npos && space != std::string_view::npos;
  LOCUS_ASSIGN_OR_RETURN(position.gtids,
                         GtidPosition::Parse(has_file ? text.substr(0, space) : text));
  if (!has_file) return position;
  const std::vector<std::string> parts =
      absl::StrSplit(ToAbsl(text.substr(space + 1)), absl::MaxSplits('/', 2));
  const auto server = ParseDecimal(parts[0], kMost32);
  const auto begun = parts.size() == 3 ? ParseDecimal(parts[1], kMost32) : std::nullopt;
  std::string name;
  if (!server || !begun || !absl::CUnescape(parts[2], &name) || name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("stream position: ", Quoted(std::string(text.substr(space + 1))),
                     " is not a file of the form SERVER/SECONDS/NAME"));
  }
  position.file = {std::move(name), static_cast<uint32_t>(*server), static_cast<uint32_t>(*begun)};
  return position;
}

}  // namespace locus::stream
