// SPDX-License-Identifier: Apache-2.0
#include "statement.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shop {
namespace {

bool IsNumber(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
         type == MYSQL_TYPE_LONGLONG;
}

}  // namespace

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
  if (statement_ == nullptr) return Error();
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

}  // namespace shop
