// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/bulk_statement.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {

absl::StatusOr<std::unique_ptr<BulkStatement>> BulkStatement::Prepare(st_mysql* handle,
                                                                      const std::string& place,
                                                                      const std::string& text,
                                                                      size_t max_packet) {
  HoldSigpipeOfTls hold(handle);
  MYSQL_STMT* statement = mysql_stmt_init(handle);
  if (statement == nullptr) return absl::UnavailableError("out of memory");
  std::unique_ptr<BulkStatement> made(new BulkStatement(handle, place, statement, max_packet));
  if (mysql_stmt_prepare(statement, text.data(), text.size()) != 0) return made->Fail();
  made->columns_.resize(mysql_stmt_param_count(statement));
  made->binds_.resize(made->columns_.size());
  LOCUS_CHECK(!made->columns_.empty());
  return made;
}

BulkStatement::BulkStatement(st_mysql* handle, const std::string& place, MYSQL_STMT* statement,
                             size_t max_packet)
    : handle_(handle), place_(place), statement_(statement), max_packet_(max_packet) {}

BulkStatement::~BulkStatement() {
  HoldSigpipeOfTls hold(handle_);
  mysql_stmt_close(statement_);
}

void BulkStatement::Add(const StatementValue& value) {
  Column& column = columns_[next_];
  if (value.type != MYSQL_TYPE_NULL) {
    LOCUS_CHECK(column.type == MYSQL_TYPE_NULL ||
                (column.type == value.type && column.is_unsigned == value.is_unsigned));
    column.type = value.type;
    column.is_unsigned = value.is_unsigned;
  }
  column.values.push_back(value);
  next_ = next_ + 1 == columns_.size() ? 0 : next_ + 1;
}

// The library wants numbers side by side, and an array of pointers for all other types.
void BulkStatement::Lay(Column& column, size_t begin, size_t end, MYSQL_BIND& bind) {
  const size_t rows = end - begin;
  bind = MYSQL_BIND{};
  // A column of nothing but NULL has no type of its own. Bytes fit every column; the server refuses
  // numbers for UUID, INET4, INET6 and shapes, also where they are NULL.
  bind.buffer_type = column.type == MYSQL_TYPE_NULL ? MYSQL_TYPE_BLOB : column.type;
  bind.is_unsigned = column.is_unsigned;
  column.indicators.assign(rows, STMT_INDICATOR_NONE);
  column.words.assign(rows, 0);
  column.reals.assign(rows, 0);
  column.pointers.assign(rows, nullptr);
  column.lengths.assign(rows, 0);
  for (size_t i = 0; i < rows; ++i) {
    StatementValue& value = column.values[begin + i];
    if (value.type == MYSQL_TYPE_NULL) column.indicators[i] = STMT_INDICATOR_NULL;
    if (value.type == MYSQL_TYPE_FLOAT) {
      column.reals[i] = value.real;
    } else {
      column.words[i] = value.natural;
    }
    column.pointers[i] = &value.time;
    if (value.bytes != nullptr) {
      column.pointers[i] = const_cast<char*>(value.bytes->data());
      column.lengths[i] = value.bytes->size();
    }
  }
  switch (bind.buffer_type) {
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DOUBLE:
      bind.buffer = column.words.data();
      break;
    case MYSQL_TYPE_FLOAT:
      bind.buffer = column.reals.data();
      break;
    default:
      bind.buffer = column.pointers.data();
      bind.length = column.lengths.data();
  }
  bind.u.indicator = column.indicators.data();
}

void BulkStatement::Clear() {
  for (Column& column : columns_) {
    column.values.clear();
    column.type = MYSQL_TYPE_NULL;
  }
  next_ = 0;
}

size_t BulkStatement::Fitting(size_t begin) const {
  // A packet has a head and the types; a value has an indicator and a length, or is the longest
  // number.
  constexpr size_t kHead = 64, kHeadOfColumn = 2, kValue = 16;
  size_t size = kHead + kHeadOfColumn * columns_.size();
  const size_t rows = columns_[0].values.size();
  for (size_t row = begin; row < rows; ++row) {
    for (const Column& column : columns_) {
      const std::string* bytes = column.values[row].bytes;
      size += kValue + (bytes == nullptr ? 0 : bytes->size());
    }
    if (size > max_packet_) return row - begin;
  }
  return rows - begin;
}

absl::Status BulkStatement::Execute() {
  HoldSigpipeOfTls hold(handle_);
  LOCUS_CHECK(next_ == 0);
  error_ = 0;
  conflict_ = false;
  absl::Status status;
  const size_t rows = columns_[0].values.size();
  for (size_t begin = 0; begin < rows && status.ok();) {
    const size_t fitting = Fitting(begin);
    status = ExecuteRows(begin, begin + fitting);
    begin += fitting;
  }
  Clear();
  return status;
}

absl::Status BulkStatement::ExecuteRows(size_t begin, size_t end) {
  if (begin == end) {
    // The server would only cut the connection, without an error that names the cause.
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": a row is larger than max_allowed_packet, ", max_packet_,
                     "; raise it there to what the other shard has"));
  }
  for (size_t i = 0; i < columns_.size(); ++i) Lay(columns_[i], begin, end, binds_[i]);
  unsigned rows = static_cast<unsigned>(end - begin);
  const bool done = mysql_stmt_attr_set(statement_, STMT_ATTR_ARRAY_SIZE, &rows) == 0 &&
                    mysql_stmt_bind_param(statement_, binds_.data()) == 0 &&
                    mysql_stmt_execute(statement_) == 0;
  return done ? absl::OkStatus() : Fail();
}

absl::Status BulkStatement::Fail() {
  error_ = mysql_stmt_errno(statement_);
  const std::string text = mysql_stmt_error(statement_);
  const Verdict verdict = Judge(error_, mysql_stmt_sqlstate(statement_));
  conflict_ = verdict.conflict && error_ != kDuplicateKey;
  return StatusOf(verdict, place_, error_, TextWithoutValues(error_, text));
}

}  // namespace locus::mysql
