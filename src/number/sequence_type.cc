// SPDX-License-Identifier: Apache-2.0
#include "locus/sequence_type.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/type_text.h"

namespace locus {

using internal::Quoted;
using internal::QuotedUtf8;
using internal::ToAbsl;
using Period = SequenceType::Period;

namespace {

constexpr int64_t kLongestBuffer = int64_t{1} << 32;

absl::Status Refuse(std::string_view option, std::string_view value, std::string_view limit) {
  return absl::InvalidArgumentError(absl::StrCat("sequence type option ", ToAbsl(option), " is ",
                                                 ToAbsl(value), "; it must be ", ToAbsl(limit)));
}

// Whether each machine may take the name for another zone: by its own configuration (localtime,
// posixrules, libc:), its files (a path), or its leap seconds (right/).
bool IsOfOneMachine(std::string_view zone) {
  return zone == "localtime" || zone == "posixrules" || zone == "Factory" ||
         zone.starts_with("libc:") || zone.starts_with("right/") || zone.starts_with("posix/") ||
         zone.starts_with(':') || zone.starts_with('/') || zone.starts_with('.') ||
         zone.find("/.") != std::string_view::npos || zone.find("//") != std::string_view::npos;
}

absl::StatusOr<absl::TimeZone> ZoneOf(const SequenceType& type) {
  if (IsOfOneMachine(type.zone)) {
    return Refuse("zone", Quoted(type.zone),
                  "the name of one zone on all machines, such as Asia/Shanghai: this one may be "
                  "another zone on each");
  }
  absl::TimeZone zone;
  if (!type.zone.empty() && absl::LoadTimeZone(type.zone, &zone)) {
    const int offset = zone.At(absl::UnixEpoch()).offset;
    if (!type.zone.starts_with("Fixed/") || (offset >= -12 * 3600 && offset <= 14 * 3600)) {
      return zone;
    }
    return Refuse("zone", Quoted(type.zone), "from 12 hours before UTC to 14 hours after it");
  }
  return Refuse("zone", Quoted(type.zone), "a time zone that this system knows");
}

// How long such a period can last, from its first instant in any zone to its last in any zone,
// because its zone may be altered meanwhile. Zones are 26 hours apart, and change their clocks by
// an hour.
absl::Duration LongestOf(Period period) {
  constexpr int kApart = 26 + 1;
  switch (period) {
    case Period::kNone:
      break;
    case Period::kDay:
      return absl::Hours(24 + kApart);
    case Period::kMonth:
      return absl::Hours(31 * 24 + kApart);
    case Period::kYear:
      return absl::Hours(366 * 24 + kApart);
  }
  return absl::ZeroDuration();
}

// The highest number that N digits hold.
int64_t HighestOf(size_t digits) {
  if (digits >= 19) return std::numeric_limits<int64_t>::max();
  int64_t power = 1;
  for (size_t i = 0; i < digits; ++i) power *= 10;
  return power - 1;
}

const NumberField* SeqOf(const NumberFormat& format) {
  for (const NumberField& field : format.fields()) {
    if (field.kind == NumberField::Kind::kDigits && field.name == "seq") return &field;
  }
  return nullptr;
}

// Whether numbers of two periods differ in their time. A unit needs all larger ones.
bool Shows(const NumberFormat& format, Period period) {
  std::string_view unit = period == Period::kDay ? "dd" : period == Period::kMonth ? "MM" : "yy";
  return period == Period::kNone ||
         std::any_of(format.fields().begin(), format.fields().end(), [&](const NumberField& field) {
           return field.kind == NumberField::Kind::kTime &&
                  field.layout.find(unit) != std::string::npos;
         });
}

absl::Status CheckPattern(const SequenceType& type) {
  LOCUS_ASSIGN_OR_RETURN(NumberFormat format, type.Format());
  const NumberField* seq = SeqOf(format);
  if (seq == nullptr) {
    return Refuse("pattern", QuotedUtf8(type.pattern), "one with a field {seq:N} for the number");
  }
  int64_t highest = HighestOf(seq->max_width);
  if (std::max({type.max_value, type.start, type.step}) > highest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sequence type option pattern has {seq:", seq->max_width, "}, which holds numbers up to ",
        highest, "; max_value is ", type.max_value, ", start ", type.start, ", step ", type.step));
  }
  if (Shows(format, type.period)) return absl::OkStatus();
  return Refuse("pattern", QuotedUtf8(type.pattern),
                absl::StrCat("one that writes the ", ToAbsl(ToString(type.period)),
                             " in a {date:...} field: counting starts again with each ",
                             ToAbsl(ToString(type.period)), ", and numbers would repeat"));
}

}  // namespace

namespace internal {

absl::Status CheckTypeName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.empty() && name.size() <= 64 &&
      name.find_first_not_of(kAllowed) == std::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the name of a sequence type, ", Quoted(name),
                                                 ", is not 1 to 64 of a-z, 0-9, '_' and '-'"));
}

std::string TypeOfCounter(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view type = name.substr(0, colon);
  return CheckTypeName(type).ok() ? std::string(type) : "";
}

std::optional<Period> ParsePeriod(std::string_view text) {
  for (Period period : {Period::kNone, Period::kDay, Period::kMonth, Period::kYear}) {
    if (text == ToString(period)) return period;
  }
  return std::nullopt;
}

std::optional<SequenceType::Leftovers> ParseLeftovers(std::string_view text) {
  using Leftovers = SequenceType::Leftovers;
  for (Leftovers leftovers : {Leftovers::kReturn, Leftovers::kDrop}) {
    if (text == ToString(leftovers)) return leftovers;
  }
  return std::nullopt;
}

}  // namespace internal

std::string_view ToString(SequenceType::Leftovers leftovers) {
  switch (leftovers) {
    case SequenceType::Leftovers::kReturn:
      return "return";
    case SequenceType::Leftovers::kDrop:
      return "drop";
  }
  return "unknown";
}

std::string_view ToString(Period period) {
  switch (period) {
    case Period::kNone:
      return "none";
    case Period::kDay:
      return "day";
    case Period::kMonth:
      return "month";
    case Period::kYear:
      return "year";
  }
  return "unknown";
}

absl::Status SequenceType::Check() const {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(name));
  if (zone.size() > 128) {
    return Refuse("zone", absl::StrCat(zone.size(), " bytes long"), "at most 128");
  }
  LOCUS_RETURN_IF_ERROR(ZoneOf(*this).status());
  SequencerOptions own;
  own.start = start;
  own.step = step;
  own.max_value = max_value;
  own.at_max = at_max;
  own.ttl = expiry;
  LOCUS_RETURN_IF_ERROR(own.Check());
  if (expiry != absl::ZeroDuration() && expiry <= LongestOf(period)) {
    return Refuse("expiry", absl::FormatDuration(expiry),
                  absl::StrCat("0 (none) or longer than ", absl::FormatDuration(LongestOf(period)),
                               " with the period ", ToAbsl(ToString(period))));
  }
  if (buffer < 0 || buffer > kLongestBuffer) {
    return Refuse("buffer", absl::StrCat(buffer), "0 (adaptive) or at most 2^32");
  }
  if (lifetime < absl::Seconds(1) || lifetime > absl::Hours(24) ||
      absl::Trunc(lifetime, absl::Seconds(1)) != lifetime) {
    return Refuse("lifetime", absl::FormatDuration(lifetime), "whole seconds from 1s to 24h");
  }
  return pattern.empty() ? absl::OkStatus() : CheckPattern(*this);
}

SequencerOptions SequenceType::counter_options() const {
  SequencerOptions options;
  options.start = start;
  options.step = step;
  options.max_value = max_value;
  options.at_max = at_max;
  options.ttl = expiry;
  options.of_types = true;
  if (max_value != 0 || pattern.empty()) return options;
  absl::StatusOr<NumberFormat> format = Format();
  LOCUS_CHECK(format.ok());
  const NumberField* seq = SeqOf(*format);
  LOCUS_CHECK(seq != nullptr);
  options.max_value = HighestOf(seq->max_width);
  return options;
}

SegmentSequence::Options SequenceType::segment_options() const {
  SegmentSequence::Options options;
  if (buffer > 0) options.min_length = options.max_length = buffer;
  options.return_unused = leftovers == Leftovers::kReturn;
  return options;
}

absl::StatusOr<std::string> SequenceType::CounterName(std::string_view key, absl::Time time) const {
  if (key.size() > kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat("key ", Quoted(key), " is ", key.size(),
                                                   " bytes; of a sequence type it has at most ",
                                                   kLongestKey));
  }
  LOCUS_RETURN_IF_ERROR(internal::CheckCounterName("key", key));
  std::string counter = absl::StrCat(name, ":", ToAbsl(key));
  if (period == Period::kNone) return counter;
  LOCUS_ASSIGN_OR_RETURN(absl::TimeZone in, ZoneOf(*this));
  const absl::CivilSecond local = in.At(time).cs;
  if (local.year() < 1 || local.year() > 9999) {
    return absl::OutOfRangeError(absl::StrCat("the year ", local.year(), " of ",
                                              absl::FormatTime(time, in), " is not 1 to 9999"));
  }
  absl::StrAppend(&counter, ":", absl::Dec(local.year(), absl::kZeroPad4));
  if (period != Period::kYear) {
    absl::StrAppend(&counter, absl::Dec(local.month(), absl::kZeroPad2));
  }
  if (period == Period::kDay) absl::StrAppend(&counter, absl::Dec(local.day(), absl::kZeroPad2));
  return counter;
}

absl::StatusOr<NumberFormat> SequenceType::Format() const {
  if (pattern.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("sequence type ", name, " has no pattern to write numbers by"));
  }
  LOCUS_ASSIGN_OR_RETURN(absl::TimeZone in, ZoneOf(*this));
  absl::StatusOr<NumberFormat> format = NumberFormat::Compile(pattern, in);
  if (format.ok()) return format;
  return absl::InvalidArgumentError(
      absl::StrCat("sequence type option pattern: ", format.status().message()));
}

absl::Status SequenceType::CheckAgrees(const SequencerOptions& wanted) const {
  SequencerOptions own = counter_options();
  auto differs = [&](std::string_view option, auto given, auto typed) {
    return absl::FailedPreconditionError(
        absl::StrCat(ToAbsl(option), " is ", given, ", but sequence type ", name, " has ", typed,
                     "; change the type, or leave the option out"));
  };
  auto first = [](const SequencerOptions& of) { return of.start == 0 ? of.step : of.start; };
  if (wanted.step != own.step) return differs("step", wanted.step, own.step);
  if (first(wanted) != first(own)) return differs("start", first(wanted), first(own));
  if (wanted.max_value != own.max_value) {
    return differs("max_value", wanted.max_value, own.max_value);
  }
  if (wanted.at_max != own.at_max) {
    return differs("at_max", ToAbsl(ToString(wanted.at_max)), ToAbsl(ToString(own.at_max)));
  }
  if (wanted.ttl != own.ttl) {
    return differs("ttl", absl::FormatDuration(wanted.ttl), absl::FormatDuration(own.ttl));
  }
  return absl::OkStatus();
}

}  // namespace locus
