// SPDX-License-Identifier: Apache-2.0
#include "statement.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shop {
namespace {

constexpr std::string_view kFenced = "LOCUS_FENCED ";

// Under this name a status carries MariaDB's error number.
constexpr char kErrorNumber[] = "order_dao/mariadb_error";

bool LostConflict(unsigned error) { return error == 1213 || error == 1205 || error == 1020; }

// Errors of the client library: the connection is lost.
bool IsClientError(unsigned error) {
  return (error >= 2000 && error < 3000) || (error >= 5000 && error < 6000);
}

unsigned NumberOf(const absl::Status& status) {
  unsigned number = 0;
  if (auto payload = status.GetPayload(kErrorNumber)) {
    (void)absl::SimpleAtoi(std::string(*payload), &number);
  }
  return number;
}

// What the caller does next. A SQLSTATE begins with the class of the error.
absl::StatusCode CodeOf(unsigned error, absl::string_view state, std::string_view text) {
  if (text.substr(0, kFenced.size()) == kFenced || LostConflict(error)) {
    return absl::StatusCode::kAborted;
  }
  if (IsClientError(error)) return absl::StatusCode::kUnavailable;
  if (error == 1062) return absl::StatusCode::kAlreadyExists;
  const absl::string_view kind = state.substr(0, 2);
  if (kind == "22") return absl::StatusCode::kInvalidArgument;
  if (kind == "23" || kind == "42" || kind == "45") return absl::StatusCode::kFailedPrecondition;
  return absl::StatusCode::kUnavailable;
}

bool IsNumber(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
         type == MYSQL_TYPE_LONGLONG;
}

}  // namespace

std::string_view ShardThatHasIt(const absl::Status& status) {
  std::string_view message(status.message().data(), status.message().size());
  const size_t found = message.find(kFenced);
  if (!absl::IsAborted(status) || found == std::string_view::npos) return {};
  std::string_view rest = message.substr(found + kFenced.size());
  const size_t space = rest.find(' ');
  return space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
}

bool LostAgainstAnother(const absl::Status& status) { return LostConflict(NumberOf(status)); }

bool AnswerLost(const absl::Status& status) { return IsClientError(NumberOf(status)); }

Statement::Statement(locus::ShardConnection& connection, std::string_view text)
    : connection_(connection), text_(text), statement_(mysql_stmt_init(connection.handle())) {}

Statement::~Statement() {
  if (statement_ != nullptr) mysql_stmt_close(statement_);
}

size_t Statement::Next() { return std::min<size_t>(parameter_count_++, kMost - 1); }

Statement& Statement::Bind(uint64_t number) {
  const size_t next = Next();
  values_[next].number = number;
  MYSQL_BIND& bind = parameters_[next];
  bind.buffer_type = MYSQL_TYPE_LONGLONG;
  bind.is_unsigned = 1;
  bind.buffer = &values_[next].number;
  return *this;
}

Statement& Statement::Bind(std::string_view bytes) {
  const size_t next = Next();
  values_[next].length = bytes.size();
  MYSQL_BIND& bind = parameters_[next];
  bind.buffer_type = MYSQL_TYPE_BLOB;  // bytes, of no character set
  bind.buffer = const_cast<char*>(bytes.data());
  bind.buffer_length = bytes.size();
  bind.length = &values_[next].length;
  return *this;
}

absl::Status Statement::Execute() {
  if (statement_ == nullptr) return absl::UnavailableError("out of memory");
  if (parameter_count_ > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a statement has ", parameter_count_, " parameters, at most ", kMost, " are possible"));
  }
  // Binding before preparing lets both share one round trip. The client library refuses to bind
  // nothing, so a statement without parameters skips it.
  if (parameter_count_ > 0) {
    mysql_stmt_attr_set(statement_, STMT_ATTR_PREBIND_PARAMS, &parameter_count_);
    if (mysql_stmt_bind_param(statement_, parameters_.data()) != 0) return Error();
  }
  if (mariadb_stmt_execute_direct(statement_, text_.data(), text_.size()) != 0) return Error();
  if (mysql_stmt_field_count(statement_) == 0) return absl::OkStatus();
  return BindColumns();
}

absl::Status Statement::BindColumns() {
  if (mysql_stmt_field_count(statement_) > kMost) {
    connection_.Spoil();  // its rows have not been read
    return absl::InvalidArgumentError(absl::StrCat("a statement returns ",
                                                   mysql_stmt_field_count(statement_),
                                                   " columns, at most ", kMost, " are possible"));
  }
  MYSQL_RES* about = mysql_stmt_result_metadata(statement_);
  if (about == nullptr) return Error();
  std::array<MYSQL_BIND, kMost> binds{};
  for (unsigned i = 0; i < mysql_stmt_field_count(statement_); ++i) {
    if (IsNumber(mysql_fetch_field_direct(about, i)->type)) {
      binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
      binds[i].is_unsigned = 1;
      binds[i].buffer = &columns_[i].number;
    } else {
      binds[i].buffer_type = MYSQL_TYPE_BLOB;
      binds[i].buffer = columns_[i].bytes.data();
      binds[i].buffer_length = columns_[i].bytes.size();
      binds[i].length = &columns_[i].length;
    }
  }
  mysql_free_result(about);
  if (mysql_stmt_bind_result(statement_, binds.data()) != 0) return Error();
  // Reads all rows now, so that the connection is free however many the caller fetches.
  if (mysql_stmt_store_result(statement_) != 0) return Error();
  return absl::OkStatus();
}

absl::Status Statement::Fetch() {
  switch (mysql_stmt_fetch(statement_)) {
    case 0:
      return absl::OkStatus();
    case MYSQL_NO_DATA:
      return absl::NotFoundError("no such row");
    case MYSQL_DATA_TRUNCATED:
      return absl::DataLossError("a column holds more than 16 bytes or no number");
    default:
      return Error();
  }
}

absl::Status Statement::Error() {
  const unsigned error = mysql_stmt_errno(statement_);
  const std::string text = mysql_stmt_error(statement_);
  if (IsClientError(error)) connection_.Spoil();
  absl::Status status(CodeOf(error, mysql_stmt_sqlstate(statement_), text),
                      absl::StrCat(connection_.place(), ", error ", error, ": ", text));
  status.SetPayload(kErrorNumber, absl::Cord(absl::StrCat(error)));
  return status;
}

}  // namespace shop
