// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLI_CSV_ORACLE_H_
#define LOCUS_TESTS_CLI_CSV_ORACLE_H_

#include <csv.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "apps/locus/io/csv.h"

// Our record splitter and libcsv side by side, for the tests and the fuzzer.
namespace locus::csv {

struct SplitResult {
  std::string status;  // empty: OK
  struct Row {
    std::string bytes, ending;
    uint64_t line;
    std::vector<std::string> fields;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows;

  // What the rows were cut from, less a byte order mark.
  std::string Reassembled() const {
    std::string out;
    for (const Row& row : rows) out += row.bytes + row.ending;
    return out;
  }
  friend bool operator==(const SplitResult&, const SplitResult&) = default;
};

// Splits `input`, handed over in chunks of at most `chunk` bytes.
inline SplitResult Split(std::string_view input, size_t chunk,
                         size_t max_record = RecordSplitter::kMaxRecord) {
  SplitResult result;
  RecordSplitter splitter(max_record);
  Record record;
  for (;;) {
    absl::StatusOr<RecordSplitter::Step> step = splitter.Next(record);
    if (!step.ok()) {
      result.status = std::string(step.status().message());
      return result;
    }
    if (*step == RecordSplitter::Step::kEnd) return result;
    if (*step == RecordSplitter::Step::kRecord) {
      auto& row = result.rows.emplace_back(
          SplitResult::Row{std::string(record.bytes), std::string(record.ending), record.line, {}});
      for (size_t i = 0; i < record.field_ends.size(); ++i) {
        row.fields.emplace_back(record.field(i));
      }
      continue;
    }
    std::span<char> room = splitter.Room();
    size_t count = std::min({room.size(), chunk, input.size()});
    std::memcpy(room.data(), input.data(), count);
    input.remove_prefix(count);
    count == 0 ? splitter.Finish() : splitter.Filled(count);
  }
}

using Table = std::vector<std::vector<std::string>>;

// Whether ours and libcsv agree on a field by design: libcsv strips blanks around unquoted fields
// and refuses quotes inside them.
inline bool Comparable(std::string_view field) {
  std::string scratch;
  if (!field.empty() && field[0] == '"') return DecodeField(field, scratch).has_value();
  if (field.empty()) return true;
  constexpr std::string_view kBlanks = " \t";
  return field.find_first_of("\"\r") == std::string_view::npos &&
         kBlanks.find(field.front()) == std::string_view::npos &&
         kBlanks.find(field.back()) == std::string_view::npos;
}

// The decoded fields of all rows; false where libcsv would differ by design (blank lines and byte
// order marks too).
inline bool ComparableTable(const SplitResult& split, std::string_view input, Table& table) {
  if (input.starts_with("\xEF\xBB\xBF")) return false;
  for (const SplitResult::Row& row : split.rows) {
    if (row.bytes.empty()) return false;
    auto& fields = table.emplace_back();
    for (const std::string& field : row.fields) {
      if (!Comparable(field)) return false;
      std::string scratch;
      fields.emplace_back(*DecodeField(field, scratch));
    }
  }
  return true;
}

// `input` as libcsv reads it. False: it refuses it.
inline bool ParseWithLibcsv(std::string_view input, Table& table) {
  struct Rows {
    Table* table;
    std::vector<std::string> row;
  } rows{&table, {}};
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) return false;
  auto on_field = [](void* field, size_t size, void* state) {
    static_cast<Rows*>(state)->row.emplace_back(static_cast<const char*>(field), size);
  };
  auto on_row = [](int, void* state) {
    auto* rows_so_far = static_cast<Rows*>(state);
    rows_so_far->table->push_back(std::move(rows_so_far->row));
    rows_so_far->row.clear();
  };
  bool ok =
      csv_parse(&parser, input.data(), input.size(), on_field, on_row, &rows) == input.size() &&
      csv_fini(&parser, on_field, on_row, &rows) == 0;
  csv_free(&parser);
  return ok;
}

}  // namespace locus::csv

#endif  // LOCUS_TESTS_CLI_CSV_ORACLE_H_
