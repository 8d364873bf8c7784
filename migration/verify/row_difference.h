// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_ROW_DIFFERENCE_H_
#define LOCUS_MIGRATION_VERIFY_ROW_DIFFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "migration/cut_over/version_rule.h"

namespace locus::internal {

// A value of a row, as far as it is shown.
struct SeenValue {
  uint64_t bytes = 0;                // of the value in the form that is compared
  std::string hash;                  // SHA-1, 40 hex digits
  std::optional<std::string> shown;  // its first bytes, only where values are asked for

  friend bool operator==(const SeenValue& a, const SeenValue& b) {
    return a.bytes == b.bytes && a.hash == b.hash;
  }
};

struct ColumnDifference {
  std::string name;
  std::optional<SeenValue> source;  // nullopt: NULL
  std::optional<SeenValue> target;
};

// A row that is not the same on both shards.
struct RowDifference {
  enum class Kind {
    kMissingOnSource,  // the target has the row
    kMissingOnTarget,
    kVersions,       // both have it, with different versions
    kColumns,        // both have it with one version, and different columns
    kStillChanging,  // it was written each time that it was looked at; not known to be equal
  };
  Kind kind = Kind::kColumns;
  std::string table;
  std::string key;  // columns of the primary key: "7,x6100", numbers and bytes
  RowState source;
  RowState target;
  std::vector<ColumnDifference> columns;  // where both have a row; without the version
};

std::string_view ToString(RowDifference::Kind kind);  // "missing_on_source", ...

// One line: "orders 7: missing on the target (version 3 on the source)".
std::string TextOf(const RowDifference& difference);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_VERIFY_ROW_DIFFERENCE_H_
