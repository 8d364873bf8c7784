// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/id/number_values.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::QuotedUtf8;
using internal::ToAbsl;

namespace {

constexpr size_t kYearLength = 4;
constexpr size_t kMonthLength = 7;  // 2026-11
constexpr size_t kDayLength = 10;
constexpr size_t kSecondsLength = 19;  // 2026-11-20T14:44:48
constexpr size_t kOffsetLength = 6;    // +08:00
constexpr size_t kMaxFractionDigits = 9;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

absl::Status NotATime(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(QuotedUtf8(text),
                   " is not a time such as 2026-11-20, 2026-11-20T14:44:48 or "
                   "2026-11-20T14:44:48+08:00"));
}

// The message of NumberFormat without our own pattern, which the user did not write.
absl::StatusOr<absl::Time> Read(std::string_view pattern, std::string_view part,
                                absl::TimeZone zone, std::string_view text) {
  LOCUS_ASSIGN_OR_RETURN(NumberFormat format, NumberFormat::Compile(pattern, zone));
  absl::StatusOr<ParsedNumber> parsed = format.Parse(part);
  if (parsed.ok()) return *parsed->time;
  absl::string_view reason = parsed.status().message();
  LOCUS_CHECK(absl::ConsumePrefix(
      &reason, absl::StrCat(QuotedUtf8(part), " is not a number of ", QuotedUtf8(pattern), ": ")));
  return absl::InvalidArgumentError(absl::StrCat(QuotedUtf8(text), " is not a time: ", reason));
}

// "Z" or "+08:00"; nullopt: neither.
std::optional<absl::TimeZone> ParseOffset(std::string_view text) {
  if (text == "Z") return absl::UTCTimeZone();
  if (text.size() != kOffsetLength || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  for (size_t i : {1, 2, 4, 5}) {
    if (!IsDigit(text[i])) return std::nullopt;
  }
  int hours = (text[1] - '0') * 10 + text[2] - '0';
  int minutes = (text[4] - '0') * 10 + text[5] - '0';
  if (hours > 23 || minutes > 59) return std::nullopt;
  int seconds = hours * 3600 + minutes * 60;
  return absl::FixedTimeZone(text[0] == '-' ? -seconds : seconds);
}

// Takes a fraction such as ".987" off the front. nullopt: a point without 1 to 9 digits.
std::optional<absl::Duration> TakeFraction(std::string_view& rest) {
  if (rest.empty() || rest[0] != '.') return absl::ZeroDuration();
  int64_t nanoseconds = 0;
  size_t digits = 0;
  while (digits + 1 < rest.size() && IsDigit(rest[digits + 1])) {
    if (++digits > kMaxFractionDigits) return std::nullopt;
    nanoseconds = nanoseconds * 10 + rest[digits] - '0';
  }
  if (digits == 0) return std::nullopt;
  for (size_t i = digits; i < kMaxFractionDigits; ++i) nanoseconds *= 10;
  rest.remove_prefix(digits + 1);
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace

absl::StatusOr<absl::Time> ParseInstant(std::string_view text, absl::TimeZone zone) {
  if (text.size() == kYearLength) return Read("{date:yyyy}", text, zone, text);
  if (text.size() == kMonthLength) return Read("{date:yyyy-MM}", text, zone, text);
  if (text.size() == kDayLength) return Read("{date:yyyy-MM-dd}", text, zone, text);
  if (text.size() < kSecondsLength) return NotATime(text);
  std::string_view rest = text.substr(kSecondsLength);
  std::optional<absl::Duration> fraction = TakeFraction(rest);
  std::optional<absl::TimeZone> offset = rest.empty() ? zone : ParseOffset(rest);
  if (!fraction || !offset) return NotATime(text);
  LOCUS_ASSIGN_OR_RETURN(absl::Time time, Read("{date:yyyy-MM-dd}T{time:HH:mm:ss}",
                                               text.substr(0, kSecondsLength), *offset, text));
  return time + *fraction;
}

std::string IsoOf(absl::Time time, const NumberFormat& format) {
  auto has = [&](std::string_view unit) {
    return std::any_of(format.fields().begin(), format.fields().end(), [&](const auto& field) {
      return field.layout.find(unit) != std::string::npos;
    });
  };
  std::string_view iso = has("SSS")  ? "%E4Y-%m-%dT%H:%M:%E3S%Ez"
                         : has("HH") ? "%E4Y-%m-%dT%H:%M:%S%Ez"
                         : has("dd") ? "%E4Y-%m-%d"
                         : has("MM") ? "%E4Y-%m"
                                     : "%E4Y";
  return absl::FormatTime(ToAbsl(iso), time, format.zone());
}

}  // namespace locus::cli
