// SPDX-License-Identifier: Apache-2.0
// What a MariaDB answers: any results of the shapes that Ask lets through, read as a space, a row
// of routing_table, numbers, and errors of any number and text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "routing/engine/mysql/table_rows.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/space_rows.h"

namespace {

using locus::mysql::Result;
using locus::mysql::Shape;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Cells, each a length and its bytes; the length 255 is a NULL.
class Cells {
 public:
  explicit Cells(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::optional<std::string> Next() {
    if (bytes_.empty()) return std::nullopt;
    size_t size = static_cast<unsigned char>(bytes_[0]);
    bytes_.remove_prefix(1);
    if (size == 255) return std::nullopt;
    std::string cell(bytes_.substr(0, size));
    bytes_.remove_prefix(cell.size());
    return cell;
  }
  // As many rows as the shape allows and the bytes fill; at least as many as it asks for.
  Result Fill(const Shape& shape, size_t most) {
    Result result;
    while (result.rows.size() < shape.least_rows ||
           (!empty() && result.rows.size() < std::min(shape.most_rows, most))) {
      Result::Row& row = result.rows.emplace_back();
      for (unsigned i = 0; i < shape.columns; ++i) row.push_back(Next());
    }
    return result;
  }

 private:
  std::string_view bytes_;
};

void CheckSpace(Cells cells) {
  std::vector<Result> results;
  for (const Shape& shape : locus::mysql::kStateShapes) results.push_back(cells.Fill(shape, 3));
  auto state = locus::mysql::ParseState(results, "db");
  if (!state.ok()) {
    for (char c : state.status().message()) Require(c >= ' ' && c <= '~');
    return;
  }
  for (const auto& [section, row] : state->sections) Require(row.version > 0);
}

void CheckTable(Cells cells) {
  auto row = locus::mysql::ParseRow(cells.Fill(locus::mysql::kNewestShape, 1), "db");
  if (!row.ok() || !*row) return;
  Require(!(*row)->version().empty());
  std::string select = locus::mysql::SelectDocument(**row);
  for (char c : select) Require(c >= ' ' && c <= '~');
}

void CheckError(std::string_view text) {
  unsigned number = text.size() < 2 ? 0
                                    : static_cast<unsigned char>(text[0]) * 256u +
                                          static_cast<unsigned char>(text[1]);
  std::string_view state = text.substr(0, 5);
  locus::mysql::Verdict verdict = locus::mysql::Judge(number, state);
  Require(verdict.code != absl::StatusCode::kOk);
  absl::Status status = locus::mysql::StatusOf(verdict, "db", number, text);
  for (char c : status.message()) Require(static_cast<unsigned char>(c) >= ' ' && c != '\x7F');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  if (bytes[0] == 's') CheckSpace(Cells(text));
  if (bytes[0] == 't') CheckTable(Cells(text));
  if (bytes[0] == 'e') CheckError(text);
  return 0;
}
