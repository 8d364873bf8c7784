// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_ANSWER_H_
#define LOCUS_SRC_ENGINE_MYSQL_ANSWER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/engine/mysql/bounded_call.h"

struct st_mysql;

// Asks a server, and reads its answers: every shape that a result can have, its size and its time
// are checked here, whatever the server sends.

namespace locus::mysql {

// A server's answer to one statement.
struct Result {
  using Row = std::vector<std::optional<std::string>>;  // nullopt: NULL
  std::vector<Row> rows;
  uint64_t affected = 0;   // of a statement without rows
  uint64_t insert_id = 0;  // likewise: what LAST_INSERT_ID(expression) was given
};

// The expected answer to one statement. No columns: no rows, only the number of rows it changed.
struct Shape {
  unsigned columns = 0;
  size_t least_rows = 0;
  size_t most_rows = 0;
};
constexpr Shape kNoRows{};
constexpr Shape OneRow(unsigned columns) { return {columns, 1, 1}; }
constexpr Shape AtMostOneRow(unsigned columns) { return {columns, 0, 1}; }
constexpr Shape Rows(unsigned columns, size_t most) { return {columns, 0, most}; }

struct Question {
  std::string_view statements;  // separated by ';'
  // One for each statement; empty: there is at least one, and none has rows.
  std::span<const Shape> shapes;
  TimePoint deadline;
  // The size of one statement's rows on the wire. 65,536 sections take 4 MB.
  size_t most_bytes = kMostBytes;

  static constexpr size_t kMostBytes = 16 << 20;
};

struct Answer {
  // As many as there are shapes, each of its shape; or why there are none. `error`, `conflict` and
  // `spent` say more of a failure.
  absl::StatusOr<std::vector<Result>> results;
  unsigned error = 0;     // the server's number, 0: none
  bool conflict = false;  // the same transaction may go through when it is tried again
  bool spent = false;     // the handle is of no further use
};

// Runs statements in one round trip, up to the first that fails. UNAVAILABLE: also where the answer
// passes the deadline or a bound of bytes. FAILED_PRECONDITION: also where it has another shape, or
// more rows than one may have: only the former says that this may be no MariaDB. A statement whose
// rows others may add to has a LIMIT of its shape's most_rows, and its caller reads on behind them.
// Messages begin "mariadb PLACE: ".
Answer Ask(st_mysql* handle, const std::string& place, const Question& question);

// The number in a column that cannot be NULL; DATA_LOSS: there is none. `row` has the column.
absl::StatusOr<int64_t> NumberIn(const Result::Row& row, size_t column, std::string_view place);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_ANSWER_H_
