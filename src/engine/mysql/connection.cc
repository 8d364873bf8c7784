// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/connection.h"

#include <mysql.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Printable;

namespace {

// The server ends a statement at its own timeout; its error then needs a moment to arrive.
constexpr auto kAnswerOnItsWay = std::chrono::seconds(1);

constexpr size_t kVariablesAsked = 6;

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const MysqlOptions& options,
                                                             const MysqlOptions::Host& host,
                                                             const char* password, Access access,
                                                             TimePoint deadline) {
  Login login = LoginOf(options, host);
  login.deadline = deadline;
  login.multi_statements = true;
  LOCUS_ASSIGN_OR_RETURN(Handle handle, LogIn(login, password));
  std::unique_ptr<Connection> connection(
      new Connection(std::move(handle), login.place(), deadline,
                     std::chrono::seconds(WholeSeconds(options.timeout)) + kAnswerOnItsWay));
  LOCUS_RETURN_IF_ERROR(connection->SetUpSession(options));
  LOCUS_RETURN_IF_ERROR(connection->ReadFacts(options, access));
  return connection;
}

absl::Status Connection::SetUpSession(const MysqlOptions& options) {
  unsigned seconds = WholeSeconds(options.timeout);
  return Run(absl::StrCat(
                 "SET SESSION autocommit=1, completion_type=0, time_zone='+00:00',"
                 " sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
                 " sql_select_limit=18446744073709551615, sql_safe_updates=0, timestamp=DEFAULT,"
                 " character_set_results=binary, innodb_lock_wait_timeout=",
                 seconds, ", max_statement_time=", seconds,
                 // Releases the locks of a process that is stopped, or cut off, inside a
                 // transaction. The other two bounds must be 0: where one applies, the server uses
                 // it instead of this one.
                 ", idle_readonly_transaction_timeout=0, idle_write_transaction_timeout=0,"
                 " idle_transaction_timeout=",
                 seconds + 1,
                 ";SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"))
      .status();
}

absl::Status Connection::ReadFacts(const MysqlOptions& options, Access access) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE"
          " VARIABLE_NAME IN ('READ_ONLY', 'INNODB_FLUSH_LOG_AT_TRX_COMMIT', 'LOG_BIN',"
          " 'SYNC_BINLOG', 'WSREP_ON', 'SERVER_UID')"
          ";SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
          " 'WSREP_READY'",
          {Rows(2, kVariablesAsked), AtMostOneRow(1)}));
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
  // By default a node retries a statement that failed certification after it has sent the rows of
  // the first attempt: we would read a number that another caller gets as well.
  if (facts_.galera) {
    LOCUS_RETURN_IF_ERROR(Run("SET SESSION wsrep_retry_autocommit = 0").status());
  }
  if (access == Access::kRead) return absl::OkStatus();
  if (read_only) {
    return absl::Status(access == Access::kPrimary ? absl::StatusCode::kUnavailable
                                                   : absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("mariadb ", place_, ": the server is read-only"));
  }
  if (options.accept_weak_durability) return absl::OkStatus();
  if (flush != "1" && flush != "3") {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": innodb_flush_log_at_trx_commit is ", Printable(flush),
                     ": a crash could lose commits; set it to 1, or accept weak durability"));
  }
  if (log_bin == "ON" && sync_binlog != "1") {
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", place_, ": sync_binlog is ", Printable(sync_binlog),
        ": a crash could lose commits from its binary log and roll them back; set it to 1, or"
        " accept weak durability"));
  }
  return absl::OkStatus();
}

uint64_t Connection::session() const { return mysql_thread_id(handle_.get()); }

absl::StatusOr<std::vector<Result>> Connection::Run(const std::string& statements,
                                                    std::span<const Shape> shapes,
                                                    size_t most_bytes) {
  TimePoint deadline = std::min(deadline_, std::chrono::steady_clock::now() + answer_time_);
  Answer answer = Ask(handle_.get(), place_, {statements, shapes, deadline, most_bytes});
  error_ = answer.error;
  conflict_ = answer.conflict;
  spent_ = spent_ || answer.spent;
  return std::move(answer.results);
}

absl::StatusOr<std::vector<Result>> Connection::RunCurrent(const std::string& statements,
                                                           std::span<const Shape> shapes,
                                                           size_t most_bytes) {
  if (!facts_.galera) return Run(statements, shapes, most_bytes);
  std::vector<Shape> all = {kNoRows};
  all.insert(all.end(), shapes.begin(), shapes.end());
  all.push_back(kNoRows);
  LOCUS_ASSIGN_OR_RETURN(auto results,
                         Run(absl::StrCat("SET SESSION wsrep_sync_wait = 1;", statements,
                                          ";SET SESSION wsrep_sync_wait = 0"),
                             all, most_bytes));
  results.erase(results.begin());
  results.pop_back();
  return results;
}

}  // namespace locus::mysql
