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

#include "absl/status/statusor.h"
#include "absl/time/time.h"

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
  std::string layout;  // of kTime: what stands after the colon
  // Whether Format() takes a value for it and Parse() gives one.
  bool has_value() const { return kind != Kind::kTime && kind != Kind::kCheck; }
};

// "time", "digits", "buyer", "text", "check".
std::string_view ToString(NumberField::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, NumberField::Kind kind) {
  sink.Append(ToString(kind));
}

// What a field is filled with. Two pointers wide; passed by value. Text does not own its bytes;
// they must outlive the call.
class FieldValue {
 public:
  static constexpr FieldValue Uint64(uint64_t number) { return FieldValue(nullptr, number); }
  static constexpr FieldValue Text(std::string_view text) {
    return FieldValue(text.data() == nullptr ? "" : text.data(), text.size());
  }

  constexpr bool is_uint64() const { return text_ == nullptr; }
  // Only of a number.
  constexpr uint64_t uint64() const { return number_or_size_; }
  // Only of text.
  constexpr std::string_view text() const { return {text_, size_t{number_or_size_}}; }

 private:
  constexpr FieldValue(const char* text, uint64_t number_or_size)
      : text_(text), number_or_size_(number_or_size) {}

  const char* text_;
  uint64_t number_or_size_;
};

// What Parse() read.
struct ParsedNumber {
  struct Value {
    uint64_t number = 0;  // of kDigits and kBuyer; of kText 0
    std::string text;     // the field's characters as they stand, zeros included
  };
  // The first instant of the smallest unit that the number tells: of a day its beginning in the
  // format's time zone. nullopt: the pattern has no time.
  std::optional<absl::Time> time;
  std::vector<Value> values;  // one for each field that has_value(), in their order
};

// The form of a business number (an order number, a payment reference, a parking ticket), compiled
// once from a pattern; formats numbers and parses them back.
//
// A pattern is literals and fields. A literal is printable ASCII; a brace is written {{ or }}. Each
// name stands once. A name is 1 to 32 of a-z, 0-9 and '_', a letter first.
//
//   field                   width     holds
//   {date:LAYOUT}           fixed     the number's time in the format's time zone. LAYOUT is made
//                                     of yyyy yy MM dd HH mm ss SSS and of - . / : _ between them.
//                                     Each unit stands once, and none without all larger ones: MM
//                                     needs a year. yyyy is 0001 to 9999, yy is 2000 to 2099, HH 00
//                                     to 23, ss 00 to 59.
//   {time:LAYOUT}           fixed     the same; the two names tell one time between them.
//   {NAME:N}                N         a number, zero-padded. N is 1 to 19.
//   {buyer:N}               N         the last N digits of a buyer key, zero-padded: the one field
//                                     that drops what does not fit. Of a text key they are the last
//                                     of the digits that it ends with.
//   {NAME:ALPHABET;A..B}    A to B    text of A to B characters, 1 <= A <= B <= 64
//   {NAME:ALPHABET;A}       A         text of A characters
//   {NAME:ALPHABET}         1 to 32   text
//   {NAME}                  1 to 32   text of A-Z0-9
//   {check}                 1         the Damm digit of all digits before it, whichever field or
//                                     literal they are of. It finds each wrong digit and each pair
//                                     of neighbours that changed places. Letters and other
//                                     characters are passed over, so it does not protect them.
//
// An ALPHABET is printable ASCII characters and ranges such as A-Z, each character once; '-' itself
// stands first or last. It has no space, brace or ';'. Digits alone are a width N: write 0-1, not
// 01.
//
// A pattern that could not be read back is refused: of the fields of variable width, each but the
// last must be followed directly by a literal whose first character its alphabet does not have. So
// no two of them are neighbours. One such field may stand anywhere: what is left over is its text.
// A pattern has at most 256 bytes, and its numbers at most 256.
//
// Daylight saving. A local time that the zone skips is never written, and refused by Parse; a day
// whose midnight is skipped begins at its first instant. Of a local time that comes twice, Parse
// takes the first: a number tells local time, not the instant. Neither makes a number repeat as
// long as its sequence starts again once a day (GroupKey).
//
// An immutable value; copies are cheap and share what was compiled. One that was moved from can
// only be assigned to or destroyed.
// Thread safety: all methods may be called from any thread.
// Cost: Format allocates its result, FormatTo nothing; neither takes a lock.
class NumberFormat {
 public:
  static constexpr size_t kMaxLength = 256;

  // Times are told in `zone` (absl::LoadTimeZone reads one by name). INVALID_ARGUMENT names the
  // pattern, the field at fault, its position from 1, and the limit.
  static absl::StatusOr<NumberFormat> Compile(std::string_view pattern,
                                              absl::TimeZone zone = absl::UTCTimeZone());

  NumberFormat(const NumberFormat&);
  NumberFormat& operator=(const NumberFormat&);
  NumberFormat(NumberFormat&&) noexcept;
  NumberFormat& operator=(NumberFormat&&) noexcept;
  ~NumberFormat();

  const std::string& pattern() const;
  absl::TimeZone zone() const;
  // In the order of the pattern.
  std::span<const NumberField> fields() const;
  // Of the shortest and the longest number.
  size_t min_length() const;
  size_t max_length() const;

  // `values`: one for each field that has_value(), in their order; text for kText, a number for
  // kDigits, either for kBuyer. Smaller units of time than the pattern has are cut off.
  // Nothing else is: OUT_OF_RANGE: a number too high for its field, or a year that the pattern
  // cannot write. INVALID_ARGUMENT: text that is too short or long or not of its alphabet, a value
  // of the wrong kind, a wrong count of values. Either names value, field and limit.
  absl::StatusOr<std::string> Format(absl::Time time, std::span<const FieldValue> values) const;
  absl::StatusOr<std::string> Format(absl::Time time,
                                     std::initializer_list<FieldValue> values) const {
    return Format(time, std::span(values.begin(), values.size()));
  }
  // The same into `out`, which has at least max_length() bytes (otherwise INVALID_ARGUMENT),
  // without a terminating NUL. Returns the length. After an error, what `out` holds is undefined.
  absl::StatusOr<size_t> FormatTo(absl::Time time, std::span<const FieldValue> values,
                                  std::span<char> out) const;

  // Reads exactly what Format writes: Format of the result gives `text` again (of a kBuyer field
  // the digits are all there is). INVALID_ARGUMENT names the text, the characters at fault, their
  // position from 1, and what may stand there: also a date that the calendar does not have, a time
  // that the zone skips, a wrong check digit.
  absl::StatusOr<ParsedNumber> Parse(std::string_view text) const;

  // The key under which a sequence is counted (Sequencer) so that it starts again with each day of
  // the format's time zone: "20261120". Where the pattern tells no day, numbers of two days would
  // be equal, so the key is of what it tells: "202611", "2026", "all". Pass Format() the same time.
  // OUT_OF_RANGE: as in Format.
  absl::StatusOr<std::string> GroupKey(absl::Time time) const;

 private:
  struct Rep;
  explicit NumberFormat(std::shared_ptr<const Rep> rep);

  std::shared_ptr<const Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_NUMBER_FORMAT_H_
