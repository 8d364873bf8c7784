// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/partitions.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace locus::preflight {

std::string RowsTaken(const std::vector<Partition>& partitions) {
  if (partitions.empty()) return "";
  const Partition& last = partitions.back();
  const std::string by = absl::StrCat(last.method, " (", last.expression, ")");
  if (absl::StartsWith(last.method, "RANGE")) {
    // Each partition takes values below its end that no earlier one takes.
    if (absl::StartsWith(last.description, "MAXVALUE")) return "";
    return absl::StrCat(by, " below ", last.description);
  }
  if (!absl::StartsWith(last.method, "LIST")) return "";
  std::set<std::string> values;
  for (const Partition& partition : partitions) {
    if (partition.description == "DEFAULT") return "";
    for (absl::string_view value : absl::StrSplit(partition.description, ',')) {
      values.insert(std::string(value));
    }
  }
  return absl::StrCat(by, " of ", absl::StrJoin(values, ", "));
}

}  // namespace locus::preflight
