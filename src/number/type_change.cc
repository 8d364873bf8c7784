// SPDX-License-Identifier: Apache-2.0
#include "src/number/type_change.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/pattern/number_pattern.h"

namespace locus::internal {
namespace {

using Kind = NumberElement::Kind;
using Period = SequenceType::Period;

// The place of an element in each text of its pattern, in bytes. nullopt: it has no fixed place.
struct Place {
  std::optional<size_t> from_front, from_back;
  size_t width = 0;

  bool IsSameAs(const Place& other) const {
    if (width != other.width) return false;
    return (from_front && from_front == other.from_front) ||
           (from_back && from_back == other.from_back);
  }
};

bool IsFixed(const NumberElement& element) { return element.min_bytes() == element.max_bytes(); }

std::vector<Place> PlacesOf(const std::vector<NumberElement>& elements) {
  std::vector<Place> places(elements.size());
  std::optional<size_t> at = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    // An element of variable width has no place that can be compared.
    if (IsFixed(elements[i])) places[i] = {at, std::nullopt, elements[i].max_bytes()};
    at = at && IsFixed(elements[i]) ? std::optional(*at + elements[i].max_bytes()) : std::nullopt;
  }
  at = 0;
  for (size_t i = elements.size(); i-- > 0;) {
    if (IsFixed(elements[i])) places[i].from_back = at;
    at = at && IsFixed(elements[i]) ? std::optional(*at + elements[i].max_bytes()) : std::nullopt;
  }
  return places;
}

// A byte at one place of all texts of a pattern: the byte of a literal, or the set that it may be
// from.
constexpr int kDigit = 256, kAny = 257;

int ByteOf(const NumberElement& element, size_t i) {
  if (element.kind == Kind::kLiteral) return static_cast<unsigned char>(element.text[i]);
  return element.kind == Kind::kText ? kAny : kDigit;
}

// The bytes from the front, or from the back, up to the first field whose width may vary: in all
// texts these bytes have the same place.
std::vector<int> BytesOf(const std::vector<NumberElement>& elements, bool from_back) {
  std::vector<int> bytes;
  for (size_t n = 0; n < elements.size(); ++n) {
    const NumberElement& element = elements[from_back ? elements.size() - 1 - n : n];
    if (!IsFixed(element)) break;
    const size_t width = element.max_bytes();
    for (size_t i = 0; i < width; ++i) {
      bytes.push_back(ByteOf(element, from_back ? width - 1 - i : i));
    }
  }
  return bytes;
}

bool Excludes(int one, int other) {
  if (one == kAny || other == kAny || one == other) return false;
  if (one == kDigit) return other < '0' || other > '9';
  return other == kDigit ? one < '0' || one > '9' : true;
}

bool DifferInALiteral(const NumberPattern& one, const NumberPattern& other) {
  for (const bool from_back : {false, true}) {
    const std::vector<int> a = BytesOf(one.elements, from_back);
    const std::vector<int> b = BytesOf(other.elements, from_back);
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (Excludes(a[i], b[i])) return true;
    }
  }
  return false;
}

bool IsSeq(const NumberElement& element) {
  return element.kind == Kind::kDigits && element.text == "seq";
}

bool IsOfPeriod(const NumberElement& element, Period period) {
  if (element.kind != Kind::kTime || period == Period::kNone) return false;
  const TimeUnit smallest = period == Period::kDay     ? TimeUnit::kDay
                            : period == Period::kMonth ? TimeUnit::kMonth
                                                       : TimeUnit::kYear;
  return element.unit <= smallest;
}

bool IsOfCallers(const NumberElement& element) {
  return (element.kind == Kind::kDigits && !IsSeq(element)) || element.kind == Kind::kBuyer ||
         element.kind == Kind::kText;
}

bool IsSameElement(const NumberElement& one, const NumberElement& other) {
  if (one.kind != other.kind) return false;
  return one.kind == Kind::kTime ? one.unit == other.unit : one.text == other.text;
}

// Whether a counter may write a number again, so that only a time in the texts keeps them apart.
// If two states of a type have the same at_max and expiry, it is true of both or of neither.
bool BeginsAgain(const SequenceType& type) {
  return type.at_max == SequencerOptions::AtMax::kWrap ||
         (type.period == Period::kNone && type.expiry != absl::ZeroDuration());
}

// Whether the elements of `one` that tell numbers, counters and times of `type` apart are at the
// same places in `other`.
bool HasItsPlacesIn(const NumberPattern& other, const NumberPattern& one,
                    const SequenceType& type) {
  const std::vector<Place> places = PlacesOf(one.elements);
  const std::vector<Place> others = PlacesOf(other.elements);
  for (size_t i = 0; i < one.elements.size(); ++i) {
    const NumberElement& element = one.elements[i];
    const bool tells = IsSeq(element) || IsOfPeriod(element, type.period) || IsOfCallers(element) ||
                       (BeginsAgain(type) && element.kind == Kind::kTime);
    if (!tells) continue;
    bool found = false;
    for (size_t j = 0; j < other.elements.size(); ++j) {
      found = found || (IsSameElement(element, other.elements[j]) && places[i].IsSameAs(others[j]));
    }
    if (!found) return false;
  }
  return true;
}

// Whether equal texts of both are one number of one counter of one day.
bool TellApartAlike(const NumberPattern& before, const NumberPattern& after,
                    const SequenceType& type) {
  return HasItsPlacesIn(after, before, type) && HasItsPlacesIn(before, after, type);
}

// The first element of `before` that tells numbers apart and that `after` lacks; nullptr: there is
// none.
const NumberElement* Lacks(const NumberPattern& before, const NumberPattern& after,
                           bool begins_again) {
  for (const NumberElement& element : before.elements) {
    if (!IsOfCallers(element) && !(begins_again && element.kind == Kind::kTime)) continue;
    const bool kept =
        std::any_of(after.elements.begin(), after.elements.end(), [&](const NumberElement& other) {
          return IsSameElement(element, other) && other.max_width >= element.max_width;
        });
    if (!kept) return &element;
  }
  return nullptr;
}

bool IsSeqAlone(const NumberPattern& pattern) {
  return pattern.elements.size() == 1 && IsSeq(pattern.elements[0]);
}

// For plain decimals and a pattern: whether no text belongs to both, except for the same number.
bool DifferFromDecimals(const NumberPattern& pattern) {
  return IsSeqAlone(pattern) ||
         std::any_of(pattern.elements.begin(), pattern.elements.end(),
                     [](const NumberElement& element) {
                       return element.kind == Kind::kLiteral &&
                              element.text.find_first_not_of("0123456789") != std::string::npos;
                     });
}

// Empty: nothing is written twice. Otherwise why it may be.
std::string WhyPatternRepeats(const SequenceType& before, const SequenceType& after) {
  constexpr char kSame[] = "it may write a text that the pattern before wrote for another number";
  // Decimals have no element that tells keys apart, so `after` cannot lack one.
  const absl::StatusOr<NumberPattern> one =
      NumberPattern::Compile(before.pattern.empty() ? "{seq:19}" : before.pattern);
  const absl::StatusOr<NumberPattern> other =
      NumberPattern::Compile(after.pattern.empty() ? "{seq:19}" : after.pattern);
  if (!one.ok() || !other.ok()) return "one of them cannot be read";
  const bool wraps = after.at_max == SequencerOptions::AtMax::kWrap;
  if (const NumberElement* lost = Lacks(*one, *other, BeginsAgain(after))) {
    if (lost->kind == Kind::kTime) {
      return absl::StrCat("it lacks a unit of time, and ",
                          wraps ? "the counter wraps" : "a counter that is forgotten begins again");
    }
    return absl::StrCat("it lacks the field ", lost->text,
                        ", by which callers may tell keys apart");
  }
  if (wraps && !one->has_time) return "";
  if (before.pattern.empty()) return DifferFromDecimals(*other) ? "" : kSame;
  if (after.pattern.empty()) return DifferFromDecimals(*one) ? "" : kSame;
  const bool lengths_differ =
      one->max_length < other->min_length || other->max_length < one->min_length;
  if (lengths_differ || DifferInALiteral(*one, *other) || TellApartAlike(*one, *other, after)) {
    return "";
  }
  return kSame;
}

bool HasTime(const std::string& pattern) {
  if (pattern.empty()) return false;
  const absl::StatusOr<NumberPattern> compiled = NumberPattern::Compile(pattern);
  return !compiled.ok() || compiled->has_time;
}

absl::Status MayRepeat(const SequenceType& of, std::string_view option, const std::string& before,
                       const std::string& after, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("sequence type ", of.name, ": with ", ToAbsl(option), " ", after, " instead of ",
                   before, " numbers may be written twice: ", ToAbsl(why),
                   "; create another type, or confirm that they may (command: --may-repeat; C++: "
                   "Repeats::kAllowed)"));
}

}  // namespace

absl::Status CheckRepeatsNothing(const SequenceType& before, const SequenceType& after) {
  if (before.period == Period::kNone && before.expiry != after.expiry) {
    return MayRepeat(after, "expiry", absl::FormatDuration(before.expiry),
                     absl::FormatDuration(after.expiry),
                     "until all processes have read it, a counter may be forgotten while some hold "
                     "numbers of it");
  }
  if (before.at_max != after.at_max) {
    return MayRepeat(after, "at_max", std::string(ToString(before.at_max)),
                     std::string(ToString(after.at_max)),
                     "a counter that wraps, or that wrapped before, begins again");
  }
  if (before.zone != after.zone && BeginsAgain(after) && HasTime(before.pattern)) {
    return MayRepeat(after, "zone", QuotedUtf8(before.zone), QuotedUtf8(after.zone),
                     "the counter begins again, and a time that was written comes once more");
  }
  if (before.pattern == after.pattern) return absl::OkStatus();
  const std::string why = WhyPatternRepeats(before, after);
  if (why.empty()) return absl::OkStatus();
  return MayRepeat(after, "pattern", QuotedUtf8(before.pattern), QuotedUtf8(after.pattern), why);
}

}  // namespace locus::internal
