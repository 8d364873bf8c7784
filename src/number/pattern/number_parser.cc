// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/number_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/pattern/damm.h"
#include "src/number/pattern/number_text.h"

namespace locus::internal {
namespace {

using Kind = NumberElement::Kind;

struct UnitLimits {
  std::string_view name;
  uint32_t min;
  uint32_t max;
};
constexpr std::array<UnitLimits, kTimeUnits> kUnits = {{{"year", 1, 9999},
                                                        {"month", 1, 12},
                                                        {"day", 1, 31},
                                                        {"hour", 0, 23},
                                                        {"minute", 0, 59},
                                                        {"second", 0, 59},
                                                        {"millisecond", 0, 999}}};

// nullopt: not all are digits. At most 19 of them.
std::optional<uint64_t> NumberOf(std::string_view digits) {
  uint64_t number = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

std::string Range(size_t min, size_t max) {
  return min == max ? absl::StrCat(min) : absl::StrCat(min, " to ", max);
}

}  // namespace

absl::Status NumberParser::Refuse(std::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat(QuotedUtf8(text_), " is not a number of ",
                                                 QuotedUtf8(pattern_.text), ": ", ToAbsl(reason)));
}

size_t NumberParser::PositionOf(size_t at) const { return CharactersIn(text_.substr(0, at)) + 1; }

absl::Status NumberParser::RefuseHere(std::string_view name, size_t bytes,
                                      std::string_view reason) const {
  return Refuse(absl::StrCat(ToAbsl(name), " ", QuotedUtf8(text_.substr(at_, bytes)),
                             " at character ", PositionOf(at_), " ", ToAbsl(reason)));
}

absl::StatusOr<ParsedNumber> NumberParser::Parse() {
  LOCUS_RETURN_IF_ERROR(CheckAll());
  parsed_.values.reserve(pattern_.values);
  for (size_t i = 0; i < pattern_.elements.size(); ++i) {
    const NumberElement& element = pattern_.elements[i];
    LOCUS_ASSIGN_OR_RETURN(size_t bytes, BytesFor(i));
    LOCUS_RETURN_IF_ERROR(Take(element, text_.substr(at_, bytes)));
    at_ += bytes;
  }
  if (at_ != text_.size()) {
    return RefuseHere("the rest", text_.size() - at_, "is left over");
  }
  if (pattern_.has_time) {
    LOCUS_ASSIGN_OR_RETURN(parsed_.time, Time());
  }
  return std::move(parsed_);
}

absl::Status NumberParser::CheckAll() {
  if (text_.size() > NumberFormat::kMaxLength) {
    return Refuse(
        absl::StrCat("it has ", text_.size(), " bytes, more than ", NumberFormat::kMaxLength));
  }
  is_ascii_ = IsPrintableAscii(text_);
  if (!is_ascii_) {
    if (std::optional<RefusedCharacter> refused = FirstRefused(text_)) {
      return Refuse(absl::StrCat("character ", refused->position, ", ", refused->character, ", ",
                                 refused->reason));
    }
  }
  size_t characters = is_ascii_ ? text_.size() : CharactersIn(text_);
  if (characters >= pattern_.min_characters && characters <= pattern_.max_characters) {
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat("it has ", characters, " characters, not ",
                             Range(pattern_.min_characters, pattern_.max_characters)));
}

absl::StatusOr<size_t> NumberParser::BytesFor(size_t index) const {
  const NumberElement& element = pattern_.elements[index];
  bool fits = element.max_width <= text_.size() - at_;
  if (is_ascii_ && fits && !element.is_variable()) return element.max_width;
  std::string_view rest = text_.substr(at_);
  if (!element.is_variable()) {
    size_t bytes = is_ascii_ ? element.max_width : PrefixBytes(rest, element.max_width);
    if (bytes <= rest.size()) return bytes;
    return Refuse(absl::StrCat("it ends where ", QuotedUtf8(element.text), " is expected"));
  }
  size_t bytes = 0;
  if (index == pattern_.last_variable) {
    bytes = rest.size() - std::min(rest.size(), SuffixBytes(rest, pattern_.after_variable));
  } else {
    bytes = rest.size() - AfterAlphabet(element, rest).size();
  }
  size_t width = is_ascii_ ? bytes : CharactersIn(rest.substr(0, bytes));
  if (width >= element.min_width && width <= element.max_width) return bytes;
  return Refuse(absl::StrCat("for field ", QuotedUtf8(element.text), " at character ",
                             PositionOf(at_), " there are ", width, " characters, not ",
                             Range(element.min_width, element.max_width)));
}

absl::Status NumberParser::Take(const NumberElement& element, std::string_view part) {
  auto refuse = [&](std::string_view reason) {
    return RefuseHere("field " + element.text, part.size(), reason);
  };
  switch (element.kind) {
    case Kind::kLiteral:
      if (part == element.text) return absl::OkStatus();
      return RefuseHere("the literal", part.size(),
                        absl::StrCat("is not ", QuotedUtf8(element.text)));
    case Kind::kTime:
      return TakeTime(element, part);
    case Kind::kDigits:
    case Kind::kBuyer: {
      std::optional<uint64_t> number = NumberOf(part);
      if (!number) return refuse("is not all digits");
      parsed_.values.push_back({*number, std::string(part)});
      return absl::OkStatus();
    }
    case Kind::kText:
      if (std::string_view wrong = AfterAlphabet(element, part); !wrong.empty()) {
        return refuse(absl::StrCat("has ", QuotedUtf8(wrong.substr(0, PrefixBytes(wrong, 1))),
                                   ", which is not of ", element.alphabet_text));
      }
      parsed_.values.push_back({0, std::string(part)});
      return absl::OkStatus();
    case Kind::kCheck:
      break;
  }
  char check = DammDigit(text_.substr(0, at_));
  if (part[0] == check) return absl::OkStatus();
  return RefuseHere(
      "the check digit", part.size(),
      absl::StrCat("is not ", QuotedUtf8({&check, 1}), ", that of the digits before"));
}

absl::Status NumberParser::TakeTime(const NumberElement& element, std::string_view part) {
  auto unit = static_cast<size_t>(element.unit);
  const UnitLimits& limits = kUnits[unit];
  std::optional<uint64_t> number = NumberOf(part);
  if (number && element.unit == TimeUnit::kYear && element.max_width == 2) *number += 2000;
  if (!number || *number < limits.min || *number > limits.max) {
    std::string least = absl::StrCat(limits.min), most = absl::StrCat(limits.max);
    least.insert(0, element.max_width - std::min(element.max_width, least.size()), '0');
    if (element.max_width == 2 && element.unit == TimeUnit::kYear) least = "00", most = "99";
    return RefuseHere(limits.name, part.size(), absl::StrCat("is not ", least, " to ", most));
  }
  if (element.unit == TimeUnit::kDay) day_at_ = at_;
  local_[unit] = static_cast<uint32_t>(*number);
  return absl::OkStatus();
}

absl::StatusOr<absl::Time> NumberParser::Time() const {
  auto [year, month, day, hour, minute, second, millisecond] = local_;
  int days = DaysInMonth(year, month);
  if (day > static_cast<uint32_t>(days)) {
    return Refuse(absl::StrCat("day ", QuotedUtf8(text_.substr(day_at_, 2)), " at character ",
                               PositionOf(day_at_), " is not 01 to ", days));
  }
  std::optional<absl::Time> time = FirstInstantOf(local_, pattern_.smallest, zone_);
  if (time) return *time;
  absl::CivilSecond local(year, month, day, hour, minute, second);
  return Refuse(absl::StrCat("the local time ", absl::FormatCivilTime(local), " does not exist in ",
                             zone_.name()));
}

}  // namespace locus::internal
