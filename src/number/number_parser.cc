// SPDX-License-Identifier: Apache-2.0
#include "src/number/number_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/number/damm.h"

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
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text_), " is not a number of ",
                                                 Quoted(pattern_.text), ": ", ToAbsl(reason)));
}

absl::Status NumberParser::RefuseHere(std::string_view name, size_t width,
                                      std::string_view reason) const {
  return Refuse(absl::StrCat(ToAbsl(name), " ", Quoted(text_.substr(at_, width)), " at character ",
                             at_ + 1, " ", ToAbsl(reason)));
}

absl::StatusOr<ParsedNumber> NumberParser::Parse() {
  if (text_.size() < pattern_.min_length || text_.size() > pattern_.max_length) {
    return Refuse(absl::StrCat("it has ", text_.size(), " characters, not ",
                               Range(pattern_.min_length, pattern_.max_length)));
  }
  parsed_.values.reserve(pattern_.values);
  for (size_t i = 0; i < pattern_.elements.size(); ++i) {
    const NumberElement& element = pattern_.elements[i];
    LOCUS_ASSIGN_OR_RETURN(size_t width, WidthOf(i));
    if (width > text_.size() - at_) {
      return Refuse(absl::StrCat("it ends where ", Quoted(element.text), " is expected"));
    }
    LOCUS_RETURN_IF_ERROR(Take(element, text_.substr(at_, width)));
    at_ += width;
  }
  if (at_ != text_.size()) {
    return RefuseHere("the rest", text_.size() - at_, "is left over");
  }
  if (pattern_.has_time) {
    LOCUS_ASSIGN_OR_RETURN(parsed_.time, Time());
  }
  return std::move(parsed_);
}

absl::StatusOr<size_t> NumberParser::WidthOf(size_t index) const {
  const NumberElement& element = pattern_.elements[index];
  if (!element.is_variable()) return element.max_width;
  std::string_view rest = text_.substr(at_);
  size_t width = 0;
  if (index == pattern_.last_variable) {
    width = rest.size() - std::min(rest.size(), pattern_.after_variable);
  } else {
    while (width < rest.size() && element.alphabet.Has(rest[width])) ++width;
  }
  if (width >= element.min_width && width <= element.max_width) return width;
  return Refuse(absl::StrCat("for field ", Quoted(element.text), " at character ", at_ + 1,
                             " there are ", width, " characters, not ",
                             Range(element.min_width, element.max_width)));
}

absl::Status NumberParser::Take(const NumberElement& element, std::string_view part) {
  auto refuse = [&](std::string_view reason) {
    return RefuseHere("field " + element.text, part.size(), reason);
  };
  switch (element.kind) {
    case Kind::kLiteral:
      if (part == element.text) return absl::OkStatus();
      return RefuseHere("the literal", part.size(), absl::StrCat("is not ", Quoted(element.text)));
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
      for (char c : part) {
        if (element.alphabet.Has(c)) continue;
        return refuse(
            absl::StrCat("has ", Quoted({&c, 1}), ", which is not of ", element.alphabet_text));
      }
      parsed_.values.push_back({0, std::string(part)});
      return absl::OkStatus();
    case Kind::kCheck:
      break;
  }
  char check = DammDigit(text_.substr(0, at_));
  if (part[0] == check) return absl::OkStatus();
  return RefuseHere("the check digit", 1,
                    absl::StrCat("is not ", Quoted({&check, 1}), ", that of the digits before"));
}

absl::Status NumberParser::TakeTime(const NumberElement& element, std::string_view part) {
  auto unit = static_cast<size_t>(element.unit);
  const UnitLimits& limits = kUnits[unit];
  std::optional<uint64_t> number = NumberOf(part);
  if (number && element.unit == TimeUnit::kYear && part.size() == 2) *number += 2000;
  if (!number || *number < limits.min || *number > limits.max) {
    std::string least = absl::StrCat(limits.min), most = absl::StrCat(limits.max);
    least.insert(0, part.size() - std::min(part.size(), least.size()), '0');
    if (part.size() == 2 && element.unit == TimeUnit::kYear) least = "00", most = "99";
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
    return Refuse(absl::StrCat("day ", Quoted(text_.substr(day_at_, 2)), " at character ",
                               day_at_ + 1, " is not 01 to ", days));
  }
  std::optional<absl::Time> time = FirstInstantOf(local_, pattern_.smallest, zone_);
  if (time) return *time;
  absl::CivilSecond local(year, month, day, hour, minute, second);
  return Refuse(absl::StrCat("the local time ", absl::FormatCivilTime(local), " does not exist in ",
                             zone_.name()));
}

}  // namespace locus::internal
