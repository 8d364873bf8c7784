// SPDX-License-Identifier: Apache-2.0
#include "src/number/number_form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/pattern/field_text.h"

namespace locus::internal {
namespace {

constexpr std::string_view kSeq = "seq";

}  // namespace

absl::StatusOr<NumberForm> NumberForm::Of(const SequenceType& type) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  NumberForm form;
  form.type_ = type.name;
  form.period_ = type.period;
  if (type.pattern.empty()) return form;
  LOCUS_ASSIGN_OR_RETURN(form.format_, type.Format());
  for (const NumberField& field : form.format_->fields()) {
    if (field.name == kSeq) break;
    form.seq_at_ += field.has_value();
  }
  return form;
}

absl::StatusOr<std::vector<FieldValue>> NumberForm::ValuesOf(
    std::span<const NamedValue> named) const {
  auto refuse = [&](std::string_view name, std::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", QuotedUtf8(name), " of type ", Quoted(type_), " ", ToAbsl(reason)));
  };
  std::vector<FieldValue> values;
  const std::span<const NumberField> fields =
      format_ ? std::span<const NumberField>(format_->fields()) : std::span<const NumberField>();
  for (const NamedValue& each : named) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const NumberField& of) { return of.name == each.name; });
    if (field == fields.end()) return refuse(each.name, "is not in its pattern");
    if (!field->has_value() || field->name == kSeq) {
      return refuse(each.name, "is not given: the counter and the clock have it");
    }
  }
  for (const NumberField& field : fields) {
    if (!field.has_value() || field.name == kSeq) continue;
    auto is_it = [&](const NamedValue& each) { return each.name == field.name; };
    const auto given = std::find_if(named.begin(), named.end(), is_it);
    if (given == named.end()) return refuse(field.name, "needs a value");
    if (std::count_if(given, named.end(), is_it) > 1) return refuse(field.name, "has two values");
    LOCUS_ASSIGN_OR_RETURN(FieldValue value, FieldValueOf(field, given->text));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::string> NumberForm::Text(absl::Time shown, int64_t number,
                                             std::span<const FieldValue> values) const {
  if (!format_) {
    if (period_ != SequenceType::Period::kNone) {
      return absl::FailedPreconditionError(absl::StrCat(
          "sequence type ", Quoted(type_), " begins again each ", ToAbsl(ToString(period_)),
          " and has no pattern: its numbers alone would be given twice"));
    }
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
