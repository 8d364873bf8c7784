// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mariadb/connection.h"

#include <mysql.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/engine/mariadb/errors.h"
#include "src/engine/mariadb/sigpipe.h"

namespace locus::mariadb {
namespace {

Result StoredRows(MYSQL_RES* rows) {
  Result result;
  unsigned columns = mysql_num_fields(rows);
  while (MYSQL_ROW row = mysql_fetch_row(rows)) {
    unsigned long* lengths = mysql_fetch_lengths(rows);
    Result::Row& out = result.rows.emplace_back(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (row[i] != nullptr) out[i].emplace(row[i], lengths[i]);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<int64_t> NumberIn(const Result::Row& row, size_t column, std::string_view place) {
  int64_t number;
  LOCUS_CHECK(column < row.size());
  if (row[column] && absl::SimpleAtoi(ToAbsl(*row[column]), &number)) return number;
  return absl::DataLossError(absl::StrCat("mariadb ", ToAbsl(place), " holds ",
                                          Quoted(row[column].value_or("NULL")),
                                          " where a number must stand"));
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const MariadbOptions& options,
                                                             const MariadbOptions::Host& host,
                                                             const char* password, Access access) {
  Login login{host,
              options.user,
              options.database,
              options.connect_timeout,
              options.timeout,
              options.tls,
              options.tls_ca_file,
              true};
  LOCUS_ASSIGN_OR_RETURN(Handle handle, LogIn(login, password));
  std::unique_ptr<Connection> connection(new Connection(std::move(handle), login.place()));
  LOCUS_RETURN_IF_ERROR(connection->SetUpSession(options));
  LOCUS_RETURN_IF_ERROR(connection->LookAtServer(options, access));
  return connection;
}

absl::Status Connection::SetUpSession(const MariadbOptions& options) {
  unsigned seconds = WholeSeconds(options.timeout);
  return Run(absl::StrCat(
                 "SET SESSION autocommit=1, completion_type=0, time_zone='+00:00',"
                 " sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
                 " sql_select_limit=18446744073709551615, sql_safe_updates=0, timestamp=DEFAULT,"
                 " character_set_results=binary, innodb_lock_wait_timeout=",
                 seconds, ", max_statement_time=", seconds,
                 ";SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"))
      .status();
}

absl::Status Connection::LookAtServer(const MariadbOptions& options, Access access) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE"
          " VARIABLE_NAME IN ('READ_ONLY', 'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'LOG_BIN',"
          " 'SYNC_BINLOG', 'WSREP_ON', 'SERVER_UID')"
          ";SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
          " 'WSREP_READY'"));
  std::string flush, log_bin, sync_binlog;
  bool read_only = false;
  for (const Result::Row& row : results[0].rows) {
    std::string name = row[0].value_or(""), value = row[1].value_or("");
    if (name == "READ_ONLY") read_only = value != "OFF";
    if (name == "INNODB_FLUSH_LOG_AT_TRX_COMMIT") flush = value;
    if (name == "LOG_BIN") log_bin = value;
    if (name == "SYNC_BINLOG") sync_binlog = value;
    if (name == "WSREP_ON") facts_.galera = value == "ON";
    if (name == "SERVER_UID") facts_.has_uid = true;
  }
  if (facts_.galera && (results[1].rows.empty() || results[1].rows[0][0] != "ON")) {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", place_, ": the Galera node is not in its primary component"));
  }
  // By itself a node tries a statement again that failed certification, after it has sent the rows
  // of the first attempt: whoever reads those is given a number that another has.
  if (facts_.galera) {
    LOCUS_RETURN_IF_ERROR(Run("SET SESSION wsrep_retry_autocommit = 0").status());
  }
  if (access == Access::kRead) return absl::OkStatus();
  if (read_only) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": the server is read-only"));
  }
  if (options.accept_weak_durability) return absl::OkStatus();
  if (flush != "1" && flush != "3") {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": innodb_flush_log_at_trx_commit is ", flush,
                     ": a crash would forget commits; set it to 1, or accept weak durability"));
  }
  if (log_bin == "ON" && sync_binlog != "1") {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": sync_binlog is ", sync_binlog,
                     ": a crash would roll back commits that its binary log has lost; set it to 1,"
                     " or accept weak durability"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Result>> Connection::Run(const std::string& statements) {
  HoldSigpipe hold;
  error_ = kNone;
  conflict_ = false;
  if (mysql_real_query(handle_.get(), statements.data(), statements.size()) != 0) return Fail();
  std::vector<Result> results;
  while (true) {
    if (mysql_field_count(handle_.get()) > 0) {
      MYSQL_RES* rows = mysql_store_result(handle_.get());
      if (rows == nullptr) return Fail();
      results.push_back(StoredRows(rows));
      mysql_free_result(rows);
    } else {
      results.push_back({{}, mysql_affected_rows(handle_.get()), mysql_insert_id(handle_.get())});
    }
    int more = mysql_next_result(handle_.get());
    if (more < 0) return results;
    if (more > 0) return Fail();
  }
}

absl::StatusOr<std::vector<Result>> Connection::RunCurrent(const std::string& statements) {
  if (!facts_.galera) return Run(statements);
  LOCUS_ASSIGN_OR_RETURN(auto results,
                         Run(absl::StrCat("SET SESSION wsrep_sync_wait = 1;", statements,
                                          ";SET SESSION wsrep_sync_wait = 0")));
  results.erase(results.begin());
  results.pop_back();
  return results;
}

absl::Status Connection::Fail() {
  error_ = mysql_errno(handle_.get());
  std::string text = mysql_error(handle_.get());
  Verdict verdict = Judge(error_, mysql_sqlstate(handle_.get()), text);
  conflict_ = verdict.conflict;
  spent_ = spent_ || verdict.leave;
  return StatusOf(verdict, place_, error_, text);
}

}  // namespace locus::mariadb
