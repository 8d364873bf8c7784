// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_NUMBER_FORMAT_H_
#define LOCUS_NUMBER_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/internal/argument.h"
#include "locus/str.h"

namespace locus {

// A field of a number, as its pattern declares it.
struct NumberField {
  enum class Kind {
    kTime,    // {date:LAYOUT}, {time:LAYOUT}: part of the number's time
    kDigits,  // {NAME:N}
    kBuyer,   // {buyer:N}: the last N digits of a buyer key
    kText,    // {NAME}, {NAME:ALPHABET}, ...
    kCheck,   // {check}
  };
  std::string name;
  Kind kind;
  size_t min_width;    // in characters
  size_t max_width;    // differs from min_width only in kText
  std::string layout;  // of kTime: the text after the colon
  // Whether Format() takes a value for it and Parse() gives one.
  bool has_value() const { return kind != Kind::kTime && kind != Kind::kCheck; }
};

// "time", "digits", "buyer", "text", "check".
std::string_view ToString(NumberField::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, NumberField::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

// The value of a field: a number or text. Two pointers wide; passed by value. A text value does not
// own its bytes; they must outlive the call.
class FieldValue {
 public:
  // As BuyerKey::Uint64 and Text: a negative number, a fraction and a temporary string do not
  // compile.
  static constexpr FieldValue Uint64(internal::Natural number) {
    return FieldValue(nullptr, number.value());
  }
  static constexpr FieldValue Text(std::string_view text ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return FieldValue(text.data() == nullptr ? "" : text.data(), text.size());
  }
  template <internal::DyingString T>
  static FieldValue Text(T&& text) = delete;

  constexpr bool is_uint64() const { return text_ == nullptr; }
  // Requires is_uint64().
  constexpr uint64_t uint64() const { return number_or_size_; }
  // Requires !is_uint64().
  constexpr std::string_view text() const { return {text_, size_t{number_or_size_}}; }

 private:
  constexpr FieldValue(const char* text, uint64_t number_or_size)
      : text_(text), number_or_size_(number_or_size) {}

  const char* text_;
  uint64_t number_or_size_;
};

// The result of Parse().
struct ParsedNumber {
  struct Value {
    uint64_t number = 0;  // for kDigits and kBuyer; 0 for kText
    std::string text;     // the field's characters unchanged, with leading zeros
  };
  // The first instant of the smallest unit of time in the number: for a number that ends with the
  // day, the beginning of that day in the format's time zone. nullopt: the pattern has no time.
  std::optional<absl::Time> time;
  std::vector<Value> values;  // one for each field that has_value(), in pattern order
};

// The form of a business number (an invoice number, a payment reference, a parking ticket),
// compiled once from a pattern; formats numbers and parses them back.
//
// A pattern consists of literals and fields. A literal is visible text; a brace is written {{ or
// }}. A field's name has 1 to 32 characters of a-z, 0-9 and '_', begins with a letter, and occurs
// once in the pattern.
//
//   field                   width     holds
//   {date:LAYOUT}           fixed     the number's time in the format's time zone. LAYOUT is made
//                                     of yyyy yy MM dd HH mm ss SSS and of - . / : _ between them.
//                                     A unit occurs at most once and needs all larger units: MM
//                                     needs a year. yyyy is 0001 to 9999, yy is 2000 to 2099, HH 00
//                                     to 23, ss 00 to 59.
//   {time:LAYOUT}           fixed     the same; {date} and {time} are parts of one time.
//   {NAME:N}                N         a number, zero-padded. N is 1 to 19.
//   {buyer:N}               N         the last N digits of a buyer key, zero-padded. This is the
//                                     only field that drops digits. For a text key they are taken
//                                     from the run of digits at its end.
//   {NAME:ALPHABET;A..B}    A to B    text of A to B characters, 1 <= A <= B <= 64
//   {NAME:ALPHABET;A}       A         text of A characters
//   {NAME:ALPHABET}         1 to 32   text
//   {NAME}                  1 to 32   text of A-Z0-9
//   {check}                 1         the Damm check digit of all digits before it, in fields and
//                                     literals. It detects every single wrong digit and every swap
//                                     of two adjacent digits. It skips letters and other
//                                     characters, so it does not protect them.
//
// An ALPHABET consists of visible characters and ranges such as A-Z or 一-龥, which go by code
// point, without a space, a brace or ';'. Each character occurs once; '-' itself comes first or
// last. Digits alone are a width N: write 0-1, not 01.
//
// Characters. Patterns, text values and numbers are UTF-8, so that a pattern may hold letters of
// any script: {province:京津沪渝;1}{letter:A-Z;1}{rest:A-Z0-9;5} writes 京B12345. A character is
// one Unicode code point: widths and the positions in messages count these, lengths count bytes.
// Nothing is normalised: é as one code point and as e with U+0301 are different texts of 1 and 2
// characters. Digits are 0-9 alone; those of other scripts are letters, also to {check}. Refused
// everywhere, also within a range, are invalid UTF-8 (including overlong forms and surrogates) and
// characters that no reader could see or tell apart, by the properties of Unicode 14: controls
// (Cc), format characters (Cf, with all that change the direction of text), separators (Zl, Zp),
// Default_Ignorable_Code_Point (joiners, variation selectors, fillers), noncharacters, spaces other
// than U+0020 (Zs), and U+2800. Private use and unassigned code points are taken as they are.
//
// Compile refuses a pattern whose numbers could not be parsed. Every field of variable width except
// the last one must be followed directly by a literal whose first character is not in its alphabet.
// The last one may be anywhere: it gets the characters that the other fields leave. A pattern has
// at most 256 bytes, and so has its longest number: each field is counted with the longest
// character of its alphabet.
//
// Daylight saving. Format never writes a local time that the zone skips, and Parse refuses one. A
// day whose midnight is skipped begins at its first instant. Where a local time occurs twice, Parse
// returns the first: a number holds the local time, not the instant. Numbers do not repeat because
// of either, provided that their sequence restarts at most once a day (GroupKey).
//
// An immutable value; copies are cheap and share the compiled pattern. A format that was moved from
// can only be assigned to or destroyed.
// Thread safety: all methods may be called from any thread.
// Cost: Format allocates its result, FormatTo nothing; neither takes a lock.
class NumberFormat {
 public:
  static constexpr size_t kMaxLength = 256;  // in bytes

  // Times are written in `zone` (absl::LoadTimeZone reads one by name). INVALID_ARGUMENT: a bad
  // pattern; the message names it, the field at fault, its position from 1, and the limit.
  static absl::StatusOr<NumberFormat> Compile(std::string_view pattern,
                                              absl::TimeZone zone = absl::UTCTimeZone());

  NumberFormat(const NumberFormat&);
  NumberFormat& operator=(const NumberFormat&);
  NumberFormat(NumberFormat&&) noexcept;
  NumberFormat& operator=(NumberFormat&&) noexcept;
  ~NumberFormat();

  const std::string& pattern() const;
  absl::TimeZone zone() const;
  // In pattern order.
  std::span<const NumberField> fields() const;
  // In bytes: no number is shorter or longer. Where an alphabet has characters of 1 to 4 bytes, few
  // numbers are that long.
  size_t min_length() const;
  size_t max_length() const;

  // `values` has one value for each field that has_value(), in pattern order: text for kText, a
  // number for kDigits, either for kBuyer. Units of time that are smaller than those of the pattern
  // are cut off. OUT_OF_RANGE: a number is too high for its field, or the pattern cannot write the
  // year. INVALID_ARGUMENT: a text has the wrong width or characters outside its alphabet, a value
  // is of the wrong kind, or the count of values is wrong. Messages name value, field and limit.
  absl::StatusOr<std::string> Format(absl::Time time, std::span<const FieldValue> values) const;
  absl::StatusOr<std::string> Format(absl::Time time,
                                     std::initializer_list<FieldValue> values) const {
    return Format(time, std::span(values.begin(), values.size()));
  }
  // Writes the number to `out`, without a terminating NUL, and returns its length in bytes.
  // INVALID_ARGUMENT: `out` has less than max_length() bytes. After an error the contents of `out`
  // are unspecified.
  absl::StatusOr<size_t> FormatTo(absl::Time time, std::span<const FieldValue> values,
                                  std::span<char> out) const;

  // Parses what Format writes, and nothing else: formatting the result gives `text` again. A kBuyer
  // field gives its digits, not the whole buyer key. INVALID_ARGUMENT: also for a date that does
  // not exist, a time that the zone skips, and a wrong check digit. The message names the text, the
  // characters at fault, their position from 1, and what is allowed there.
  absl::StatusOr<ParsedNumber> Parse(std::string_view text) const;

  // A counter name for Sequencer: the number's day in the format's time zone, "20261120". A
  // sequence counted under it restarts each day. If the pattern has no day, restarting would repeat
  // numbers, so the result has the units that the pattern has: "202611", "2026", or "all". Pass the
  // same time to Format(). OUT_OF_RANGE: as for Format.
  absl::StatusOr<std::string> GroupKey(absl::Time time) const;

 private:
  struct Rep;
  explicit NumberFormat(std::shared_ptr<const Rep> rep);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_NUMBER_FORMAT_H_
