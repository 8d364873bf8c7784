// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_FIELD_TEXT_H_
#define LOCUS_SRC_NUMBER_PATTERN_FIELD_TEXT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "locus/number_format.h"

namespace locus::internal {

// The value of a text in a field that has_value(): in a field of digits a number, with leading
// zeros allowed; in a buyer field a number or text. A text's value refers to `text`.
// INVALID_ARGUMENT: the field is of digits, and the text is no number.
absl::StatusOr<FieldValue> FieldValueOf(const NumberField& field, std::string_view text);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_FIELD_TEXT_H_
