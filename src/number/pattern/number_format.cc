// SPDX-License-Identifier: Apache-2.0
#include "locus/number_format.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/pattern/damm.h"
#include "src/number/pattern/local_time.h"
#include "src/number/pattern/number_parser.h"
#include "src/number/pattern/number_pattern.h"
#include "src/number/pattern/number_text.h"
#include "src/number/pattern/zone_offset.h"

namespace locus {

using internal::AfterAlphabet;
using internal::CharactersIn;
using internal::DammDigit;
using internal::FirstCharacter;
using internal::FirstRefused;
using internal::LocalTime;
using internal::LocalTimeOf;
using internal::NumberElement;
using internal::NumberParser;
using internal::NumberPattern;
using internal::QuotedUtf8;
using internal::RefusedCharacter;
using internal::TimeUnit;
using internal::ToAbsl;
using internal::ZoneOffset;

namespace {

using Kind = NumberElement::Kind;

constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs = {};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// The last `width` digits of `value`.
char* WriteDigits(uint64_t value, size_t width, char* out) {
  char* end = out + width;
  char* at = end;
  while (at - out >= 2) {
    at -= 2;
    std::memcpy(at, &kDigitPairs[value % 100 * 2], 2);
    value /= 100;
  }
  if (at != out) *out = static_cast<char>('0' + value % 10);
  return end;
}

std::string Shown(const FieldValue& value) {
  return value.is_uint64() ? absl::StrCat(value.uint64()) : QuotedUtf8(value.text());
}

absl::Status Wrong(const NumberElement& element, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("field ", QuotedUtf8(element.text), ": ", ToAbsl(what)));
}

absl::Status TooHigh(const NumberElement& element, uint64_t value) {
  return absl::OutOfRangeError(absl::StrCat("field ", QuotedUtf8(element.text), ": ", value,
                                            " is above ", element.limit, ", the highest of its ",
                                            element.max_width, " digits"));
}

absl::Status NoYear(absl::Time time, absl::TimeZone zone, std::string_view years) {
  return absl::OutOfRangeError(
      absl::StrCat("time ", absl::FormatTime(time, zone), " is not in the years ", ToAbsl(years)));
}

// The value of the digits at the end of a text key, modulo `limit`.
absl::StatusOr<uint64_t> LastDigitsOf(const NumberElement& element, std::string_view key) {
  std::string_view rest = key;
  while (!rest.empty() && rest.back() >= '0' && rest.back() <= '9') rest.remove_suffix(1);
  std::string_view digits = key.substr(rest.size());
  if (digits.empty()) {
    return Wrong(element, absl::StrCat(QuotedUtf8(key), " does not end with a digit"));
  }
  if (digits.size() > element.max_width) {
    digits.remove_prefix(digits.size() - element.max_width);
  }
  uint64_t value = 0;
  for (char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

// The error for a text that does not fit.
[[gnu::cold]] absl::Status WrongText(const NumberElement& element, std::string_view text) {
  if (std::optional<RefusedCharacter> refused = FirstRefused(text)) {
    return Wrong(element, absl::StrCat("character ", refused->position, " of ", QuotedUtf8(text),
                                       ", ", refused->character, ", ", refused->reason));
  }
  size_t characters = CharactersIn(text);
  if (characters < element.min_width || characters > element.max_width) {
    std::string limit = element.is_variable()
                            ? absl::StrCat(element.min_width, " to ", element.max_width)
                            : absl::StrCat(element.max_width);
    return Wrong(element,
                 absl::StrCat(QuotedUtf8(text), " has ", characters, " characters, not ", limit));
  }
  std::string_view rest = AfterAlphabet(element, text);
  size_t position = CharactersIn(text.substr(0, text.size() - rest.size())) + 1;
  return Wrong(element, absl::StrCat("character ", position, " of ", QuotedUtf8(text),
                                     " is not of ", element.alphabet_text));
}

bool FitsWide(const NumberElement& element, std::string_view text) {
  size_t characters = 0;
  for (; !text.empty() && characters < element.max_width; ++characters) {
    uint32_t c = 0;
    size_t size = FirstCharacter(text, c);
    if (size == 0 || !element.alphabet.Has(c)) return false;
    text.remove_prefix(size);
  }
  return text.empty() && characters >= element.min_width;
}

bool Fits(const NumberElement& element, std::string_view text) {
  if (!element.alphabet.is_ascii()) return FitsWide(element, text);
  return text.size() >= element.min_width && text.size() <= element.max_width &&
         std::all_of(text.begin(), text.end(), [&](char c) { return element.alphabet.HasByte(c); });
}

absl::Status CheckText(const NumberElement& element, const FieldValue& value) {
  if (value.is_uint64()) {
    return Wrong(element, absl::StrCat("the number ", value.uint64(), " is given, not text"));
  }
  return Fits(element, value.text()) ? absl::OkStatus() : WrongText(element, value.text());
}

}  // namespace

std::string_view ToString(NumberField::Kind kind) {
  switch (kind) {
    case NumberField::Kind::kTime:
      return "time";
    case NumberField::Kind::kDigits:
      return "digits";
    case NumberField::Kind::kBuyer:
      return "buyer";
    case NumberField::Kind::kText:
      return "text";
    case NumberField::Kind::kCheck:
      return "check";
  }
  return "unknown";
}

struct NumberFormat::Rep {
  Rep(NumberPattern compiled, absl::TimeZone zone) : pattern(std::move(compiled)), offset(zone) {}

  // `out` has room for the longest number.
  absl::StatusOr<size_t> Write(absl::Time time, std::span<const FieldValue> values,
                               char* out) const;
  absl::Status LocalTimeFor(absl::Time time, LocalTime& local) const;

  NumberPattern pattern;
  ZoneOffset offset;
};

absl::Status NumberFormat::Rep::LocalTimeFor(absl::Time time, LocalTime& local) const {
  if (!LocalTimeOf(time, offset, local)) [[unlikely]]
    return NoYear(time, offset.zone(), "1 to 9999");
  if (pattern.short_year && local[0] / 100 != 20) [[unlikely]]
    return NoYear(time, offset.zone(), "2000 to 2099, which yy tells");
  return absl::OkStatus();
}

absl::StatusOr<size_t> NumberFormat::Rep::Write(absl::Time time, std::span<const FieldValue> values,
                                                char* const out) const {
  if (values.size() != pattern.values) [[unlikely]] {
    return absl::InvalidArgumentError(absl::StrCat(values.size(), " values are given for the ",
                                                   pattern.values, " fields of ",
                                                   QuotedUtf8(pattern.text)));
  }
  LocalTime local;
  if (pattern.has_time) LOCUS_RETURN_IF_ERROR(LocalTimeFor(time, local));
  char* at = out;
  const FieldValue* value = values.data();
  for (const NumberElement& element : pattern.elements) {
    switch (element.kind) {
      case Kind::kLiteral:
        std::memcpy(at, element.text.data(), element.text.size());
        at += element.text.size();
        break;
      case Kind::kTime:
        at = WriteDigits(local[static_cast<size_t>(element.unit)], element.max_width, at);
        break;
      case Kind::kDigits:
        if (!value->is_uint64()) [[unlikely]]
          return Wrong(element, absl::StrCat(Shown(*value), " is given, not a number"));
        if (value->uint64() > element.limit) [[unlikely]]
          return TooHigh(element, value->uint64());
        at = WriteDigits(value++->uint64(), element.max_width, at);
        break;
      case Kind::kBuyer: {
        uint64_t number = value->is_uint64() ? value->uint64() : 0;
        if (!value->is_uint64()) {
          LOCUS_ASSIGN_OR_RETURN(number, LastDigitsOf(element, value->text()));
        }
        at = WriteDigits(number, element.max_width, at);
        ++value;
        break;
      }
      case Kind::kText:
        LOCUS_RETURN_IF_ERROR(CheckText(element, *value));
        std::memcpy(at, value->text().data(), value->text().size());
        at += value++->text().size();
        break;
      case Kind::kCheck:
        *at = DammDigit({out, static_cast<size_t>(at - out)});
        ++at;
        break;
    }
  }
  return static_cast<size_t>(at - out);
}

absl::StatusOr<NumberFormat> NumberFormat::Compile(std::string_view pattern, absl::TimeZone zone) {
  LOCUS_ASSIGN_OR_RETURN(NumberPattern compiled, NumberPattern::Compile(pattern));
  return NumberFormat(std::make_shared<const Rep>(std::move(compiled), zone));
}

NumberFormat::NumberFormat(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
NumberFormat::NumberFormat(const NumberFormat&) = default;
NumberFormat& NumberFormat::operator=(const NumberFormat&) = default;
NumberFormat::NumberFormat(NumberFormat&&) noexcept = default;
NumberFormat& NumberFormat::operator=(NumberFormat&&) noexcept = default;
NumberFormat::~NumberFormat() = default;

const std::string& NumberFormat::pattern() const { return rep_->pattern.text; }
absl::TimeZone NumberFormat::zone() const { return rep_->offset.zone(); }
std::span<const NumberField> NumberFormat::fields() const { return rep_->pattern.fields; }
size_t NumberFormat::min_length() const { return rep_->pattern.min_length; }
size_t NumberFormat::max_length() const { return rep_->pattern.max_length; }

absl::StatusOr<size_t> NumberFormat::FormatTo(absl::Time time, std::span<const FieldValue> values,
                                              std::span<char> out) const {
  if (out.size() < max_length()) [[unlikely]] {
    return absl::InvalidArgumentError(absl::StrCat(
        "a buffer of ", out.size(), " bytes is given for numbers of up to ", max_length()));
  }
  return rep_->Write(time, values, out.data());
}

absl::StatusOr<std::string> NumberFormat::Format(absl::Time time,
                                                 std::span<const FieldValue> values) const {
  std::array<char, kMaxLength> out;
  LOCUS_ASSIGN_OR_RETURN(size_t size, rep_->Write(time, values, out.data()));
  return std::string(out.data(), size);
}

absl::StatusOr<ParsedNumber> NumberFormat::Parse(std::string_view text) const {
  return NumberParser(rep_->pattern, rep_->offset.zone(), text).Parse();
}

absl::StatusOr<std::string> NumberFormat::GroupKey(absl::Time time) const {
  if (!rep_->pattern.has_time) return "all";
  LocalTime local;
  LOCUS_RETURN_IF_ERROR(rep_->LocalTimeFor(time, local));
  std::string key(8, '0');
  WriteDigits(local[0], 4, key.data());
  WriteDigits(local[1], 2, key.data() + 4);
  WriteDigits(local[2], 2, key.data() + 6);
  if (rep_->pattern.smallest == TimeUnit::kYear) key.resize(4);
  if (rep_->pattern.smallest == TimeUnit::kMonth) key.resize(6);
  return key;
}

}  // namespace locus
