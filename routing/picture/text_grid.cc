// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/text_grid.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"

namespace locus::internal {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastTextColumns = 8;
constexpr size_t kMostBarColumns = 40;
constexpr size_t kLeastBarColumns = 8;

// In UTF-8 in steps of an eighth of a column.
std::string Bar(double part, size_t columns, bool utf8) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  size_t steps = utf8 ? 8 : 1;
  auto length = static_cast<size_t>(std::llround(part * static_cast<double>(columns * steps)));
  if (part > 0) length = std::max<size_t>(length, 1);  // little is more than nothing
  std::string bar;
  for (size_t i = 0; i < length / steps; ++i) bar += utf8 ? "█" : "#";
  return bar + kEighths[length % steps];
}

bool AllDiffer(const std::set<std::string_view>& names, size_t columns, bool utf8) {
  std::set<std::string> cut;
  for (std::string_view name : names) cut.insert(CutMiddle(name, columns, utf8));
  return cut.size() == names.size();
}

// How far names can be cut, from `widest` down, so that they differ at every width on the way.
size_t LeastDistinctColumns(const std::set<std::string_view>& names, size_t widest, bool utf8) {
  size_t columns = widest;
  while (columns > kLeastTextColumns && AllDiffer(names, columns - 1, utf8)) --columns;
  return columns;
}

}  // namespace

TextStyle TextStyleOf(const Terminal& terminal) {
  TextStyle style{.columns = terminal.width, .utf8 = false};
  size_t columns = 0;
  if (terminal.columns != nullptr && absl::SimpleAtoi(terminal.columns, &columns) && columns > 0) {
    style.columns = columns;
  }
  for (const char* locale : {terminal.lc_all, terminal.lc_ctype, terminal.lang}) {
    if (locale == nullptr || *locale == '\0') continue;
    std::string lower = absl::AsciiStrToLower(locale);
    style.utf8 = absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
    break;
  }
  return style;
}

TextStyle StdoutStyle() {
  Terminal terminal{.columns = std::getenv("COLUMNS"),
                    .lc_all = std::getenv("LC_ALL"),
                    .lc_ctype = std::getenv("LC_CTYPE"),
                    .lang = std::getenv("LANG")};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
  return TextStyleOf(terminal);
}

std::vector<size_t> TextGrid::WidthsOf(const std::vector<Row>& rows, TextStyle style) const {
  std::vector<size_t> widths(alignments_.size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], ColumnsOf(row.cells[i]));
    }
  }
  if (style.columns == 0 || widths.empty()) return widths;
  size_t line = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  if (line <= style.columns) return widths;
  std::vector<size_t> least = widths;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (alignments_[i] != Align::kLeft) continue;
    std::set<std::string_view> names;
    for (const Row& row : rows) names.insert(row.cells[i]);
    least[i] = LeastDistinctColumns(names, widths[i], style.utf8);
  }
  for (; line > style.columns; --line) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= least[i]) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

void TextGrid::AppendTo(std::string& out, TextStyle style) const {
  std::vector<Row> rows = rows_;
  if (!style.utf8) {
    for (Row& row : rows) {
      for (std::string& cell : row.cells) cell = ToAscii(cell);
    }
  }
  std::vector<size_t> widths = WidthsOf(rows, style);
  size_t line_columns = std::accumulate(widths.begin(), widths.end(), kGap * widths.size());
  size_t bar_columns = kMostBarColumns;
  if (style.columns > 0) {
    size_t left = style.columns > line_columns ? style.columns - line_columns : 0;
    bar_columns = left < kLeastBarColumns ? 0 : std::min(left, kMostBarColumns);
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      std::string cell = CutMiddle(row.cells[i], widths[i], style.utf8);
      std::string padding(widths[i] - ColumnsOf(cell), ' ');
      bool left = alignments_[i] != Align::kRight;
      absl::StrAppend(&line, i == 0 ? "" : "  ", left ? cell : padding, left ? padding : cell);
    }
    if (row.bar >= 0 && bar_columns > 0) {
      absl::StrAppend(&line, "  ", Bar(row.bar, bar_columns, style.utf8));
    }
    out.append(line, 0, line.find_last_not_of(' ') + 1);
    out += '\n';
  }
}

}  // namespace locus::internal
