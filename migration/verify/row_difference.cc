// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/row_difference.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

std::string ValueText(const std::optional<SeenValue>& value) {
  if (!value) return "NULL";
  if (value->shown) {
    return absl::StrCat(
        "'", Printable(*value->shown), "'",
        value->shown->size() < value->bytes ? absl::StrCat("... (", value->bytes, " bytes)") : "");
  }
  return absl::StrCat(value->bytes, " bytes ", absl::string_view(value->hash).substr(0, 16));
}

std::string StateText(const char* side, const RowState& state) {
  if (!state.deleted) return absl::StrCat("version ", state.version, " on the ", side);
  if (state.version == 0) return absl::StrCat("never seen on the ", side);
  return absl::StrCat("deleted at version ", state.version, " on the ", side);
}

const char* WordsOf(RowDifference::Kind kind) {
  switch (kind) {
    case RowDifference::Kind::kMissingOnSource:
      return "missing on the source";
    case RowDifference::Kind::kMissingOnTarget:
      return "missing on the target";
    case RowDifference::Kind::kVersions:
      return "different versions";
    case RowDifference::Kind::kColumns:
      return "one version with different columns";
    case RowDifference::Kind::kStillChanging:
      break;
  }
  return "still changing, not compared";
}

}  // namespace

std::string_view ToString(RowDifference::Kind kind) {
  switch (kind) {
    case RowDifference::Kind::kMissingOnSource:
      return "missing_on_source";
    case RowDifference::Kind::kMissingOnTarget:
      return "missing_on_target";
    case RowDifference::Kind::kVersions:
      return "versions";
    case RowDifference::Kind::kColumns:
      return "columns";
    case RowDifference::Kind::kStillChanging:
      break;
  }
  return "still_changing";
}

std::string TextOf(const RowDifference& difference) {
  std::string text = absl::StrCat(
      Printable(difference.table), " ", difference.key, ": ", WordsOf(difference.kind), " (",
      StateText("source", difference.source), ", ", StateText("target", difference.target), ")");
  for (const ColumnDifference& column : difference.columns) {
    absl::StrAppend(&text, "; ", Printable(column.name), ": ", ValueText(column.source), " <> ",
                    ValueText(column.target));
  }
  return text;
}

}  // namespace locus::internal
