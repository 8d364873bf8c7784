// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_TEXT_GRID_H_
#define LOCUS_ROUTING_PICTURE_TEXT_GRID_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "locus/routing/text_style.h"

namespace locus::internal {

// The input of TextStyleOf. A null pointer: the variable is not set.
struct Terminal {
  const char* columns = nullptr;   // COLUMNS
  const char* lc_all = nullptr;    // LC_ALL
  const char* lc_ctype = nullptr;  // LC_CTYPE
  const char* lang = nullptr;      // LANG
  size_t width = 0;                // of the terminal; 0: the output is none
};

// COLUMNS, where it is a number above 0, else the terminal's width. UTF-8 if the first of LC_ALL,
// LC_CTYPE and LANG that is set and not empty names it.
TextStyle TextStyleOf(const Terminal& terminal);

// Of stdout: reads the environment and asks the terminal.
TextStyle StdoutStyle();

// kLeft is for names, which may be cut to fit; kRight and kLeftWhole, for numbers and moments, are
// never cut.
enum class Align { kLeft, kLeftWhole, kRight };

// A table for a terminal: rows of cells, two spaces between columns. Cells are text that
// IsPrintableUtf8 accepts.
class TextGrid {
 public:
  explicit TextGrid(std::vector<Align> alignments) : alignments_(std::move(alignments)) {}

  // A row has as many cells as there are alignments.
  void Add(std::vector<std::string> row) { rows_.push_back({std::move(row), -1}); }
  // A row that ends in a bar of this part, 0..1, of the longest one. Bars take up to 40 columns of
  // what the cells leave of the line, and are left out where they leave less than 8.
  void AddWithBar(std::vector<std::string> row, double part) {
    rows_.push_back({std::move(row), part});
  }

  // Where lines would be longer than style.columns, the widest columns of names are cut, to 8
  // columns at the least, and never so far that two names of a column look the same: lines may stay
  // longer than style.columns.
  void AppendTo(std::string& out, TextStyle style = {}) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    double bar;  // below 0: none
  };

  std::vector<size_t> WidthsOf(const std::vector<Row>& rows, TextStyle style) const;

  std::vector<Align> alignments_;
  std::vector<Row> rows_;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_TEXT_GRID_H_
