// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_PARTITIONS_H_
#define LOCUS_MIGRATION_PREFLIGHT_PARTITIONS_H_

#include <string>
#include <vector>

namespace locus::preflight {

// As information_schema.PARTITIONS has it.
struct Partition {
  std::string method, expression, description;
};

// Which rows a table of these partitions takes, in their order: equal texts take the same rows,
// however they are divided. Empty: all rows.
std::string RowsTaken(const std::vector<Partition>& partitions);

}  // namespace locus::preflight

#endif  // LOCUS_MIGRATION_PREFLIGHT_PARTITIONS_H_
