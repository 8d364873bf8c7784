// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_URI_PART_H_
#define LOCUS_SRC_BASE_TEXT_URI_PART_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::internal {

// Cuts `text` at the first `mark`, and returns the part after it; empty if there is no mark.
std::string_view TakeAfter(std::string_view& text, char mark);

// %XX is a byte. INVALID_ARGUMENT: the message names the fault, as in "has a zero byte".
absl::StatusOr<std::string> DecodePercents(std::string_view part);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_URI_PART_H_
