// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_NUMBER_PATTERN_H_
#define LOCUS_SRC_NUMBER_PATTERN_NUMBER_PATTERN_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/number_format.h"

// The compiled form of a NumberFormat. The grammar is in locus/number_format.h.
namespace locus::internal {

// Units of time, the largest first.
enum class TimeUnit : uint8_t { kYear, kMonth, kDay, kHour, kMinute, kSecond, kMillisecond };
inline constexpr size_t kTimeUnits = 7;

// A set of characters.
class Alphabet {
 public:
  // Adds first..last. nullopt: done; otherwise the lowest of them that it has already.
  std::optional<uint32_t> Add(uint32_t first, uint32_t last);
  bool Has(uint32_t c) const { return c < kAscii ? ascii_[c] : HasWide(c); }
  // As of an ASCII byte; false for any other.
  bool HasByte(char c) const { return ascii_[static_cast<unsigned char>(c)]; }
  bool is_ascii() const { return wide_.empty(); }
  // The bytes of its shortest and its longest character.
  size_t min_bytes() const;
  size_t max_bytes() const;

 private:
  static constexpr uint32_t kAscii = 128;
  bool HasWide(uint32_t c) const;

  std::bitset<256> ascii_;             // by byte; no byte above 127
  std::map<uint32_t, uint32_t> wide_;  // the last of each range by its first
};

// A piece of a number: a literal, a field or one unit of a time field.
struct NumberElement {
  enum class Kind : uint8_t { kLiteral, kTime, kDigits, kBuyer, kText, kCheck };
  Kind kind;
  TimeUnit unit = TimeUnit::kYear;  // of kTime
  size_t min_width = 0;             // in characters
  size_t max_width = 0;
  uint64_t limit = 0;              // of kDigits: the highest number
  std::string text = {};           // of kLiteral its characters, otherwise the field's name
  Alphabet alphabet = {};          // of kText
  std::string alphabet_text = {};  // the alphabet as declared

  bool is_variable() const { return min_width != max_width; }
  size_t min_bytes() const;
  size_t max_bytes() const;
};

// `text` without the characters of the element's alphabet at its front. `text` is valid UTF-8.
std::string_view AfterAlphabet(const NumberElement& element, std::string_view text);

struct NumberPattern {
  std::string text;
  std::vector<NumberElement> elements;
  std::vector<NumberField> fields;
  size_t values = 0;      // how many of the fields have one
  size_t min_length = 0;  // in bytes
  size_t max_length = 0;
  size_t min_characters = 0;
  size_t max_characters = 0;
  bool has_time = false;
  bool short_year = false;              // years are written as yy
  TimeUnit smallest = TimeUnit::kYear;  // the smallest unit, if has_time
  size_t last_variable = 0;   // the index of the last element of variable width, or elements.size()
  size_t after_variable = 0;  // the characters of all elements after it

  static absl::StatusOr<NumberPattern> Compile(std::string_view text);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_NUMBER_PATTERN_H_
