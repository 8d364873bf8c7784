// SPDX-License-Identifier: Apache-2.0
#include "src/sequence_type/number_form.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::internal {

absl::StatusOr<NumberForm> NumberForm::Of(const SequenceType& type) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  NumberForm form;
  form.type_ = type.name;
  if (type.pattern.empty()) {
    if (type.period == SequenceType::Period::kNone) return form;
    return absl::InvalidArgumentError(absl::StrCat(
        "sequence type ", Quoted(type.name), " begins again each ", ToAbsl(ToString(type.period)),
        " and has no pattern: its numbers alone would be given twice"));
  }
  LOCUS_ASSIGN_OR_RETURN(form.format_, type.Format());
  for (const NumberField& field : form.format_->fields()) {
    if (field.name == "seq") break;
    form.seq_at_ += field.has_value();
  }
  return form;
}

absl::StatusOr<std::string> NumberForm::Text(absl::Time shown, int64_t number,
                                             std::span<const FieldValue> values) const {
  if (!format_) {
    if (values.empty()) return absl::StrCat(number);
    return absl::InvalidArgumentError(absl::StrCat(values.size(), " values are given for type ",
                                                   Quoted(type_), ", which has no pattern"));
  }
  const FieldValue seq = FieldValue::Uint64(static_cast<uint64_t>(number));
  std::array<char, NumberFormat::kMaxLength> out;
  absl::StatusOr<size_t> size;
  if (values.empty()) {
    size = format_->FormatTo(shown, {&seq, 1}, out);
  } else {
    std::vector<FieldValue> all(values.begin(), values.end());
    // Too few or too many of them are refused by the format.
    all.insert(all.begin() + static_cast<ptrdiff_t>(std::min(seq_at_, all.size())), seq);
    size = format_->FormatTo(shown, all, out);
  }
  if (!size.ok()) return size.status();
  return std::string(out.data(), *size);
}

}  // namespace locus::internal
