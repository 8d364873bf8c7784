// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ParseDecimal;

size_t HelpWidth() {
  constexpr size_t kUsual = 80, kLeast = 40, kMost = 100;
  const char* columns = std::getenv("COLUMNS");
  std::optional<uint64_t> width;
  if (columns != nullptr) width = ParseDecimal(columns, 10'000);
  winsize window = {};
  if (!width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    width = window.ws_col;
  }
  return std::clamp<size_t>(width.value_or(kUsual), kLeast, kMost);
}

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  std::string line;
  auto end_line = [&] {
    absl::StrAppend(&out, std::string(indent, ' '), line, "\n");
    line.clear();
  };
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) end_line();
  return out;
}

std::string TermsTable(const std::vector<std::pair<std::string, std::string>>& terms, size_t width,
                       size_t widest) {
  constexpr size_t kIndent = 2, kWidestTerm = 28;
  size_t column = widest == 0 ? 0 : kIndent + widest + 2;
  for (const auto& [term, meaning] : terms) {
    if (term.size() <= kWidestTerm) column = std::max(column, kIndent + term.size() + 2);
  }
  column = std::min(column, width / 2);
  std::string out;
  for (const auto& [term, meaning] : terms) {
    std::string head = std::string(kIndent, ' ') + term;
    std::string body = Wrapped(meaning, column, width);
    bool beside = head.size() + 2 <= column;
    if (!beside || body.empty()) {
      absl::StrAppend(&out, head, "\n", body);
    } else {
      absl::StrAppend(&out, head, body.substr(head.size()));
    }
  }
  return out;
}

}  // namespace locus::cli
