// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_NUMBER_FORM_H_
#define LOCUS_SRC_NUMBER_NUMBER_FORM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/number_format.h"
#include "locus/number_generator.h"
#include "locus/sequence_type.h"

namespace locus::internal {

// How the numbers of a type are written: by its pattern, or as decimals where it has none.
class NumberForm {
 public:
  // INVALID_ARGUMENT: SequenceType::Check.
  static absl::StatusOr<NumberForm> Of(const SequenceType& type);

  // The values of all fields except {seq:N}, in pattern order; they refer to the texts of `named`.
  // INVALID_ARGUMENT: a name is not such a field, is given twice or is missing, or a value is of
  // the wrong kind.
  absl::StatusOr<std::vector<FieldValue>> ValuesOf(std::span<const NamedValue> named) const;

  // `values` are the values of all fields except {seq:N}. The errors of NumberFormat::Format.
  // FAILED_PRECONDITION: the type has a period and no pattern.
  absl::StatusOr<std::string> Text(absl::Time shown, int64_t number,
                                   std::span<const FieldValue> values) const;

 private:
  std::string type_;
  SequenceType::Period period_ = SequenceType::Period::kNone;
  std::optional<NumberFormat> format_;
  size_t seq_at_ = 0;  // among the fields that have a value
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_NUMBER_FORM_H_
