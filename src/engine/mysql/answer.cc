// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/answer.h"

#include <mysql.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {

using internal::Quoted;
using internal::ToAbsl;

namespace {

// Of what comes before the rows: column descriptions, or an error, or the number of rows changed.
// The library reads descriptions into memory until the server says that they end.
constexpr size_t kMostHeadBytes = 64 << 10;
// Of statements without rows, which have no shapes to count.
constexpr size_t kMostResults = 64;

struct FreeRows {
  void operator()(MYSQL_RES* rows) const { mysql_free_result(rows); }
};

// One question: asks, then reads result by result. A failure ends in answer_.
class Exchange {
 public:
  Exchange(MYSQL* handle, const std::string& place, const Question& question)
      : handle_(handle),
        place_(place),
        question_(question),
        call_(handle, question.deadline),
        answer_{std::vector<Result>()} {}

  Answer Run() && {
    call_.Allow(kMostHeadBytes);
    std::string_view text = question_.statements;
    if (mysql_real_query(handle_, text.data(), text.size()) != 0) {
      Fail();
      return std::move(answer_);
    }
    while (ReadResult()) {
      call_.Allow(kMostHeadBytes);
      int more = mysql_next_result(handle_);
      if (more > 0) Fail();
      if (more != 0) break;
    }
    size_t expected = question_.shapes.size();
    if (answer_.results.ok() && expected != 0 && answer_.results->size() != expected) {
      Misshapen(absl::StrCat(answer_.results->size(), " results where ", expected, " belong"));
    }
    return std::move(answer_);
  }

 private:
  // False: it failed.
  bool ReadResult() {
    size_t index = answer_.results->size();
    bool counted = !question_.shapes.empty();
    if (index >= (counted ? question_.shapes.size() : kMostResults)) {
      return Misshapen(absl::StrCat("more than ", index, " results"));
    }
    Shape shape = counted ? question_.shapes[index] : kNoRows;
    unsigned columns = mysql_field_count(handle_);
    if (columns != shape.columns) {
      return Misshapen(absl::StrCat("result ", index + 1, " has ", columns, " columns where ",
                                    shape.columns, " belong"));
    }
    Result result;
    if (columns == 0) {
      result.affected = mysql_affected_rows(handle_);
      result.insert_id = mysql_insert_id(handle_);
    } else if (!ReadRows(shape, result)) {
      return false;
    }
    if (result.rows.size() < shape.least_rows) {
      return Misshapen(absl::StrCat("result ", index + 1, " has no row"));
    }
    answer_.results->push_back(std::move(result));
    return true;
  }

  // Row by row, so that nothing is kept beyond the bounds.
  bool ReadRows(const Shape& shape, Result& result) {
    call_.Allow(question_.most_bytes);
    std::unique_ptr<MYSQL_RES, FreeRows> rows(mysql_use_result(handle_));
    if (rows == nullptr) return Fail();
    while (MYSQL_ROW row = mysql_fetch_row(rows.get())) {
      if (result.rows.size() == shape.most_rows) {
        return TooManyRows(shape.most_rows);
      }
      unsigned long* lengths = mysql_fetch_lengths(rows.get());
      Result::Row& out = result.rows.emplace_back(shape.columns);
      for (unsigned i = 0; i < shape.columns; ++i) {
        if (row[i] != nullptr) out[i].emplace(row[i], lengths[i]);
      }
    }
    return mysql_errno(handle_) == 0 || Fail();
  }

  // Takes the library's error. Returns false.
  bool Fail() {
    answer_.error = mysql_errno(handle_);
    std::string text = mysql_error(handle_);
    Verdict verdict = Judge(answer_.error, mysql_sqlstate(handle_));
    answer_.conflict = verdict.conflict;
    answer_.spent = verdict.leave;
    absl::Status bound = verdict.leave ? call_.Status() : absl::OkStatus();
    answer_.results = bound.ok() ? StatusOf(verdict, place_, answer_.error, text)
                                 : StatusOf({bound.code(), false, true}, place_, answer_.error,
                                            {bound.message().data(), bound.message().size()});
    return false;
  }

  // Of a statement for one row at the most, other rows come from something that is no MariaDB. Of
  // another, there are as many as were stored.
  bool TooManyRows(size_t most) {
    const std::string what = absl::StrCat("more than ", most, most == 1 ? " row" : " rows");
    if (most <= 1) return Misshapen(absl::StrCat("a result has ", what));
    return Refuse(absl::StrCat("mariadb ", place_, " has ", what,
                               " for one statement, which is the most that is read at once"));
  }

  // Nothing that this server says can be relied on. False.
  bool Misshapen(const std::string& what) {
    return Refuse(
        absl::StrCat("mariadb ", place_, " returned a result of another shape: ", what,
                     "; is it a MariaDB, and does a proxy keep a session on one connection?"));
  }

  // The rest of the answer is cut off, for which the library would wait otherwise. False.
  bool Refuse(const std::string& why) {
    call_.Cut();
    answer_.spent = true;
    answer_.results = absl::FailedPreconditionError(why);
    return false;
  }

  MYSQL* const handle_;
  const std::string& place_;
  const Question& question_;
  BoundedCall call_;
  Answer answer_;
};

}  // namespace

Answer Ask(MYSQL* handle, const std::string& place, const Question& question) {
  HoldSigpipeOfTls hold(handle);
  return Exchange(handle, place, question).Run();
}

absl::StatusOr<int64_t> NumberIn(const Result::Row& row, size_t column, std::string_view place) {
  int64_t number;
  if (row[column] && absl::SimpleAtoi(ToAbsl(*row[column]), &number)) return number;
  return absl::DataLossError(absl::StrCat("mariadb ", ToAbsl(place), " holds ",
                                          Quoted(row[column].value_or("NULL")),
                                          " instead of a number"));
}

}  // namespace locus::mysql
