// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_TEXT_GRID_H_
#define LOCUS_ROUTING_PICTURE_TEXT_GRID_H_

#include <string>
#include <utility>
#include <vector>

namespace locus {

enum class Align { kLeft, kRight };

// Rows of cells for a terminal, printed with two spaces between columns. Cells are text that
// IsPrintableUtf8 accepts.
class TextGrid {
 public:
  explicit TextGrid(std::vector<Align> alignments) : alignments_(std::move(alignments)) {}

  // As many cells as there are alignments.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void AppendTo(std::string& out) const;

 private:
  std::vector<Align> alignments_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_PICTURE_TEXT_GRID_H_
