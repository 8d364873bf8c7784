// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_NUMBER_PATTERN_H_
#define LOCUS_SRC_NUMBER_NUMBER_PATTERN_H_

#include <array>
#include <bitset>
#include <cstdint>
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

class Alphabet {
 public:
  // Returns false if it has `c` already.
  bool Add(char c) {
    if (Has(c)) return false;
    has_.set(static_cast<unsigned char>(c));
    return true;
  }
  bool Has(char c) const { return has_[static_cast<unsigned char>(c)]; }

 private:
  std::bitset<256> has_;
};

// A piece of a number: a literal, a field or one unit of a time field.
struct NumberElement {
  enum class Kind : uint8_t { kLiteral, kTime, kDigits, kBuyer, kText, kCheck };
  Kind kind;
  TimeUnit unit = TimeUnit::kYear;  // of kTime
  size_t min_width = 0;
  size_t max_width = 0;
  uint64_t limit = 0;              // of kDigits: the highest number
  std::string text = {};           // of kLiteral its characters, otherwise the field's name
  Alphabet alphabet = {};          // of kText
  std::string alphabet_text = {};  // the alphabet as declared

  bool is_variable() const { return min_width != max_width; }
};

struct NumberPattern {
  std::string text;
  std::vector<NumberElement> elements;
  std::vector<NumberField> fields;
  size_t values = 0;  // how many of the fields have one
  size_t min_length = 0;
  size_t max_length = 0;
  bool has_time = false;
  bool short_year = false;              // years are written as yy
  TimeUnit smallest = TimeUnit::kYear;  // the smallest unit, if has_time
  size_t last_variable = 0;   // the index of the last element of variable width, or elements.size()
  size_t after_variable = 0;  // the width of all elements after it

  static absl::StatusOr<NumberPattern> Compile(std::string_view text);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_NUMBER_PATTERN_H_
