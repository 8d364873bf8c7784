// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_NUMBER_PARSER_H_
#define LOCUS_SRC_NUMBER_PATTERN_NUMBER_PARSER_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/number_format.h"
#include "src/number/pattern/local_time.h"
#include "src/number/pattern/number_pattern.h"

namespace locus::internal {

// Parses one number. Use each object once; its arguments must outlive it.
class NumberParser {
 public:
  NumberParser(const NumberPattern& pattern, absl::TimeZone zone, std::string_view text)
      : pattern_(pattern), zone_(zone), text_(text) {}

  absl::StatusOr<ParsedNumber> Parse();

 private:
  absl::Status Refuse(std::string_view reason) const;
  // The position of the byte at `at`: in characters, from 1.
  size_t PositionOf(size_t at) const;
  // An error about the `bytes` at `at_`.
  absl::Status RefuseHere(std::string_view name, size_t bytes, std::string_view reason) const;

  // Whether the text has characters that a number may have, and as many. Sets is_ascii_.
  absl::Status CheckAll();
  // How many bytes the element at `at_` takes; the text has them.
  absl::StatusOr<size_t> BytesFor(size_t element) const;
  absl::Status Take(const NumberElement& element, std::string_view part);
  absl::Status TakeTime(const NumberElement& element, std::string_view part);
  absl::StatusOr<absl::Time> Time() const;

  const NumberPattern& pattern_;
  const absl::TimeZone zone_;
  const std::string_view text_;
  bool is_ascii_ = false;
  size_t at_ = 0;  // in bytes
  LocalTime local_ = {1, 1, 1, 0, 0, 0, 0};
  size_t day_at_ = 0;  // the place of the day, in bytes
  ParsedNumber parsed_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_NUMBER_PARSER_H_
