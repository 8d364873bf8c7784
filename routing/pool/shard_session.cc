// SPDX-License-Identifier: Apache-2.0
#include "routing/pool/shard_session.h"

#include <mysql.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::internal {
namespace {

using mysql::WholeSeconds;

// The server ends a slow statement first; its error needs this long to arrive, and the connection
// stays usable.
constexpr absl::Duration kAnswerOnItsWay = absl::Seconds(1);

// A process that is stopped, or cut off, inside a transaction keeps its rows locked, and the fence
// of its vnodes, for so many seconds; by default the server would wait for hours.
constexpr unsigned kIdleTransaction = 60;

// The most bytes of an answer to the session's own statements.
constexpr size_t kMostBytes = 4096;
constexpr size_t kLongestWord = 512;  // a database's name has at most 256 bytes, in hex

// The name of a role as SQL writes it.
std::string Identifier(absl::string_view name) {
  return absl::StrCat("`", absl::StrReplaceAll(name, {{"`", "``"}}), "`");
}

// Waits for an answer to the millisecond; the client library knows whole seconds only.
bool AnswersBy(MYSQL* handle, ShardSession::TimePoint deadline) {
  pollfd poll_fd{static_cast<int>(mysql_get_socket(handle)), POLLIN, 0};
  while (true) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    int64_t wait = std::clamp<int64_t>(left.count(), 0, 60'000);
    int ready = poll(&poll_fd, 1, static_cast<int>(wait));
    if (ready > 0) return true;
    if (ready == 0 && left.count() <= wait) return false;
  }
}

}  // namespace

ShardSession::ShardSession(mysql::Handle handle, std::string place,
                           std::chrono::nanoseconds answer_time)
    : handle_(std::move(handle)), place_(std::move(place)), answer_time_(answer_time) {}

absl::StatusOr<std::unique_ptr<ShardSession>> ShardSession::Open(const ShardEndpoint& endpoint,
                                                                 const ShardPoolsSettings& options,
                                                                 const char* password) {
  mysql::Login login;
  login.host = endpoint.host;
  login.user = options.user;
  login.database = endpoint.database;
  login.connect_timeout = options.connect_timeout;
  login.timeout = options.timeout + kAnswerOnItsWay;
  login.tls = endpoint.tls ? MysqlOptions::Tls::kAlways : options.tls;
  login.tls_ca_file = endpoint.tls_ca_file.empty() ? options.tls_ca_file : endpoint.tls_ca_file;
  LOCUS_ASSIGN_OR_RETURN(mysql::Handle handle, mysql::LogIn(login, password));
  std::unique_ptr<ShardSession> session(
      new ShardSession(std::move(handle), login.place(), absl::ToChronoNanoseconds(login.timeout)));
  LOCUS_RETURN_IF_ERROR(session->LookAround(options));
  LOCUS_RETURN_IF_ERROR(session->SetUp());
  return session;
}

// Composes the statement that sets the session up, also after each reset. The statement checks the
// session at no extra cost: if the session has moved to another database, or the server has become
// read-only, it names an sql_mode that does not exist and fails. It sets the role because
// COM_RESET_CONNECTION keeps the one that the last holder took.
absl::Status ShardSession::LookAround(const ShardPoolsSettings& options) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<mysql::Result> results,
      Run("SELECT HEX(DATABASE()), @@GLOBAL.read_only, CURRENT_ROLE()", mysql::OneRow(3)));
  const mysql::Result::Row& row = results[0].rows[0];
  // These values go into a statement: hex digits, a number or a word, and a name that is quoted.
  auto is_plain = [](const std::optional<std::string>& text) {
    return text && text->size() <= kLongestWord &&
           std::all_of(text->begin(), text->end(), absl::ascii_isalnum);
  };
  if (!is_plain(row[0]) || !is_plain(row[1]) || row[2].value_or("").size() > kLongestWord) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": its database is ", Quoted(row[0].value_or("NULL")),
                     " in hex, its read_only ", Quoted(row[1].value_or("NULL")), " and its role ",
                     Quoted(row[2].value_or("NULL")), ", which MariaDB never returns"));
  }
  const std::string &database = *row[0], &read_only = *row[1];
  if (read_only != "0" && read_only != "OFF" && !options.accept_read_only) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, ": the server is read-only"));
  }
  unsigned seconds = WholeSeconds(options.timeout);
  set_up_ = absl::StrCat(
      "SET SESSION sql_mode = IF(HEX(DATABASE()) <=> '", database, "'",
      options.accept_read_only ? "" : absl::StrCat(" AND @@GLOBAL.read_only = '", read_only, "'"),
      ", 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', 'not as it was'), autocommit = 1,"
      " max_statement_time = ",
      seconds, ", innodb_lock_wait_timeout = ", seconds,
      ", idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0,"
      " idle_transaction_timeout = ",
      std::max(seconds + 1, kIdleTransaction), ", ROLE ", row[2] ? Identifier(*row[2]) : "NONE");
  return absl::OkStatus();
}

absl::Status ShardSession::SetUp() { return Run(set_up_, mysql::kNoRows).status(); }

absl::StatusOr<std::vector<mysql::Result>> ShardSession::Run(const std::string& statement,
                                                             const mysql::Shape& shape) {
  auto deadline = std::chrono::steady_clock::now() + answer_time_;
  mysql::Answer answer =
      mysql::Ask(handle(), place_, {statement, {&shape, 1}, deadline, kMostBytes});
  if (answer.results.ok()) proven_at_ = std::chrono::steady_clock::now();
  return std::move(answer.results);
}

bool ShardSession::Lost() const {
  unsigned error = mysql_errno(handle());
  return error != 0 && mysql::Judge(error, mysql_sqlstate(handle())).leave;
}

bool ShardSession::Broken() const {
  return Lost() || handle_->status != MYSQL_STATUS_READY ||
         (handle_->server_status & SERVER_MORE_RESULTS_EXIST) != 0 ||
         // A reset would restore this on the server, but not in the client library.
         std::strcmp(mysql_character_set_name(handle()), "utf8mb4") != 0;
}

absl::Status ShardSession::Ping(TimePoint deadline) {
  mysql::HoldSigpipeOfTls hold(handle());
  constexpr std::string_view kStatement = "DO 1";
  if (mysql_send_query(handle(), kStatement.data(), kStatement.size()) != 0) return Error();
  absl::Status answer = ReadAnswer(deadline);
  if (answer.ok()) proven_at_ = std::chrono::steady_clock::now();
  return answer;
}

absl::Status ShardSession::ReadAnswer(TimePoint deadline) {
  if (!AnswersBy(handle(), deadline)) {
    return absl::DeadlineExceededError(
        absl::StrCat("mariadb ", place_, ": the server does not respond"));
  }
  // Not bounded by `deadline`: a session whose answer is late stays good.
  mysql::BoundedCall call(handle(), std::chrono::steady_clock::now() + answer_time_);
  if (mysql_read_query_result(handle()) != 0) return Error();
  if (mysql_field_count(handle()) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("mariadb ", place_, ": the server returned rows for a statement that has none"));
}

absl::Status ShardSession::BeginReset() {
  mysql::HoldSigpipeOfTls hold(handle());
  mysql::BoundedCall call(handle(), std::chrono::steady_clock::now() + answer_time_);
  if (mysql_reset_connection(handle()) != 0) return Error();
  proven_at_ = std::chrono::steady_clock::now();
  if (mysql_send_query(handle(), set_up_.data(), set_up_.size()) != 0) return Error();
  reset_unfinished_ = true;
  return absl::OkStatus();
}

// The answer may have come long ago, so it proves nothing: proven_at_ stays.
absl::Status ShardSession::FinishReset(TimePoint deadline) {
  if (!reset_unfinished_) return absl::OkStatus();
  mysql::HoldSigpipeOfTls hold(handle());
  absl::Status answer = ReadAnswer(deadline);
  reset_unfinished_ = absl::IsDeadlineExceeded(answer);
  return answer;
}

}  // namespace locus::internal
