// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/field_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

constexpr size_t kUint64Digits = 20;  // of a uint64

// Decimal; leading zeros are allowed, as in numbers.
std::optional<uint64_t> ParseDigits(std::string_view text) {
  if (text.empty() || text.size() > kUint64Digits) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return ParseDecimal(text, UINT64_MAX);
}

}  // namespace

absl::StatusOr<FieldValue> FieldValueOf(const NumberField& field, std::string_view text) {
  if (field.kind == NumberField::Kind::kText) return FieldValue::Text(text);
  std::optional<uint64_t> number = ParseDigits(text);
  if (number) return FieldValue::Uint64(*number);
  if (field.kind == NumberField::Kind::kBuyer) return FieldValue::Text(text);
  return absl::InvalidArgumentError(absl::StrCat("field ", QuotedUtf8(field.name), ": ",
                                                 QuotedUtf8(text), " is not a number of up to ",
                                                 field.max_width, " digits"));
}

}  // namespace locus::internal
