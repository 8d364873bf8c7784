// SPDX-License-Identifier: Apache-2.0
#include "statement.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shop {
namespace {

constexpr std::string_view kFenced = "LOCUS_FENCED ";

constexpr std::array<unsigned, 3> kLost = {1213, 1205, 1020};

bool IsLost(unsigned error) { return std::find(kLost.begin(), kLost.end(), error) != kLost.end(); }

absl::StatusCode CodeOf(unsigned error, absl::string_view state, std::string_view text) {
  // The guard of a shard: it does not have this order, or not any more.
  if (text.substr(0, kFenced.size()) == kFenced || IsLost(error)) return absl::StatusCode::kAborted;
  if (error == 1062) return absl::StatusCode::kAlreadyExists;
  // 42: rights, unknown tables and columns, syntax.
  if (absl::StartsWith(state, "42")) return absl::StatusCode::kFailedPrecondition;
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

bool LostAgainstAnother(const absl::Status& status) {
  return absl::IsAborted(status) && std::any_of(kLost.begin(), kLost.end(), [&](unsigned error) {
           return absl::StrContains(status.message(), absl::StrCat(", error ", error, ": "));
         });
}

Statement::Statement(locus::ShardConnection& connection, std::string_view text)
    : connection_(connection), text_(text), statement_(mysql_stmt_init(connection.handle())) {}

Statement::~Statement() {
  if (statement_ != nullptr) mysql_stmt_close(statement_);
}

Statement& Statement::Bind(uint64_t number) {
  values_[parameter_count_].number = number;
  MYSQL_BIND& bind = parameters_[parameter_count_];
  bind.buffer_type = MYSQL_TYPE_LONGLONG;
  bind.is_unsigned = 1;
  bind.buffer = &values_[parameter_count_++].number;
  return *this;
}

Statement& Statement::Bind(std::string_view bytes) {
  values_[parameter_count_].length = bytes.size();
  MYSQL_BIND& bind = parameters_[parameter_count_];
  bind.buffer_type = MYSQL_TYPE_BLOB;  // bytes, of no character set
  bind.buffer = const_cast<char*>(bytes.data());
  bind.buffer_length = bytes.size();
  bind.length = &values_[parameter_count_++].length;
  return *this;
}

absl::Status Statement::Execute() {
  if (statement_ == nullptr) return absl::UnavailableError("out of memory");
  // Preparing and executing share one round trip.
  mysql_stmt_attr_set(statement_, STMT_ATTR_PREBIND_PARAMS, &parameter_count_);
  if (mysql_stmt_bind_param(statement_, parameters_.data()) != 0 ||
      mariadb_stmt_execute_direct(statement_, text_.data(), text_.size()) != 0) {
    return Error();
  }
  if (mysql_stmt_field_count(statement_) == 0) return absl::OkStatus();
  return BindColumns();
}

absl::Status Statement::BindColumns() {
  MYSQL_RES* about = mysql_stmt_result_metadata(statement_);
  if (about == nullptr) return Error();
  std::array<MYSQL_BIND, kMost> binds{};
  for (unsigned i = 0; i < mysql_stmt_field_count(statement_) && i < kMost; ++i) {
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
  // All rows at once, so that the connection is free whatever the caller reads of them.
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
      return absl::DataLossError("a value is longer than its column's");
    default:
      return Error();
  }
}

absl::Status Statement::Error() {
  const unsigned error = mysql_stmt_errno(statement_);
  const std::string text = mysql_stmt_error(statement_);
  if (error >= 2000 && error < 3000) connection_.Spoil();  // of the client library: it is lost
  return absl::Status(CodeOf(error, mysql_stmt_sqlstate(statement_), text),
                      absl::StrCat(connection_.place(), ", error ", error, ": ", text));
}

}  // namespace shop
