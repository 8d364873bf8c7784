// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_ROWS_H_
#define LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/preflight/facts.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/answer.h"

namespace locus::mysql {

// Asks a shard one statement with so many columns.
using AskRows =
    std::function<absl::StatusOr<std::vector<Result::Row>>(const std::string&, unsigned)>;

// A value of a row; of NULL "", and 0 of what is no number.
inline std::string Text(const Result::Row& row, size_t column) { return row[column].value_or(""); }
inline uint64_t Natural(const Result::Row& row, size_t column) {
  return internal::ParseDecimal(Text(row, column), UINT64_MAX).value_or(0);
}

// Tables of the target that have rows of the moving vnodes.
absl::StatusOr<std::vector<std::string>> FindStrays(const AskRows& target,
                                                    const preflight::Facts& facts);

// Unique keys that have neither the order nor the primary key, and how many of up to 1,000 values
// of the source's moving rows are in the target.
absl::StatusOr<std::vector<preflight::Collision>> FindCollisions(const AskRows& source,
                                                                 const AskRows& target,
                                                                 const preflight::Facts& facts);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_ROWS_H_
