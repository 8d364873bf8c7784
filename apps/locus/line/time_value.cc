// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/time_value.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cli {

absl::StatusOr<absl::Time> ReadTime(std::string_view text) {
  absl::Time time;
  for (const char* format : {"%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M"}) {
    std::string error;
    if (absl::ParseTime(format, internal::ToAbsl(text), &time, &error)) return time;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(internal::Quoted(text),
                   " is not a time such as 2026-11-23T08:00:00Z or \"2026-11-23 08:00\" (UTC)"));
}

std::string UtcMillis(absl::Time time) {
  if (time == absl::InfinitePast()) return "-";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string UtcSeconds(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace locus::cli
