// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/text_grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"

namespace locus {

void TextGrid::AppendTo(std::string& out) const {
  std::vector<size_t> widths(alignments_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], ColumnsOf(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string padding(widths[i] - ColumnsOf(row[i]), ' ');
      bool left = alignments_[i] == Align::kLeft;
      absl::StrAppend(&line, i == 0 ? "" : "  ", left ? row[i] : padding, left ? padding : row[i]);
    }
    out.append(line, 0, line.find_last_not_of(' ') + 1);
    out += '\n';
  }
}

}  // namespace locus
