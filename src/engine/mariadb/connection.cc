// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mariadb/connection.h"

#include <fcntl.h>
#include <mysql.h>
#include <poll.h>
#include <signal.h>

#include <cstring>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/engine/mariadb/errors.h"
#include "src/loopback.h"
#include "src/secret_bytes.h"
#include "src/text.h"

namespace locus::mariadb {
namespace {

// A write to a TLS connection that the server closed raises SIGPIPE. Whoever links locus decides
// what that signal does; here it is held back, and taken if it came.
class HoldSigpipe {
 public:
  HoldSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HoldSigpipe() {
    constexpr timespec kAtOnce{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldSigpipe(const HoldSigpipe&) = delete;
  HoldSigpipe& operator=(const HoldSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

// The library ignores SIGPIPE for the whole process when it starts; that is undone.
void StartLibrary() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction before;
    sigaction(SIGPIPE, nullptr, &before);
    LOCUS_CHECK(mysql_library_init(0, nullptr, nullptr) == 0);
    sigaction(SIGPIPE, &before, nullptr);
  });
}

unsigned WholeSeconds(absl::Duration duration) {
  return static_cast<unsigned>(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

bool NeedsTls(const MariadbOptions& options, std::string_view host) {
  if (options.tls == MariadbOptions::Tls::kNever) return false;
  return options.tls == MariadbOptions::Tls::kAlways || !IsLoopback(host);
}

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
  StartLibrary();
  HoldSigpipe hold;
  MYSQL* handle = mysql_init(nullptr);
  if (handle == nullptr) return absl::UnavailableError("mariadb: out of memory");
  std::unique_ptr<Connection> connection(
      new Connection(handle, absl::StrCat(host.name, ":", host.port, "/", options.database)));
  bool tls = NeedsTls(options, host.name);
  LOCUS_RETURN_IF_ERROR(connection->SetOptions(options, tls));
  bool connected = mysql_real_connect(handle, host.name.c_str(), options.user.c_str(), password,
                                      options.database.c_str(), host.port, nullptr,
                                      CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS);
  if (handle->passwd != nullptr) {
    ExcludeFromCoreDumps(handle->passwd, std::strlen(handle->passwd));
    explicit_bzero(handle->passwd, std::strlen(handle->passwd));
  }
  WipeDeadStack();
  if (!connected) {
    absl::Status status = connection->Fail();
    if (connection->error() != kTlsFailed || options.tls_ca_file.empty()) return status;
    // The library's text names no file, also where the file is what is wrong.
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; the authorities are those of ", options.tls_ca_file));
  }
  fcntl(static_cast<int>(mysql_get_socket(handle)), F_SETFD, FD_CLOEXEC);
  if (tls && mysql_get_ssl_cipher(handle) == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", connection->place_, ": the connection came up without TLS"));
  }
  LOCUS_RETURN_IF_ERROR(connection->SetUpSession(options));
  LOCUS_RETURN_IF_ERROR(connection->LookAtServer(options, access));
  return connection;
}

Connection::~Connection() {
  HoldSigpipe hold;
  mysql_close(handle_);
}

absl::Status Connection::SetOptions(const MariadbOptions& options, bool tls) {
  auto set = [this](mysql_option option, const void* value) {
    LOCUS_CHECK(mysql_optionsv(handle_, option, value) == 0);
  };
  unsigned connect_seconds = WholeSeconds(options.connect_timeout);
  unsigned seconds = WholeSeconds(options.timeout);
  unsigned tcp = MYSQL_PROTOCOL_TCP;
  unsigned no = 0;
  my_bool off = 0, on = 1;
  set(MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  set(MYSQL_OPT_READ_TIMEOUT, &seconds);
  set(MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  set(MYSQL_OPT_PROTOCOL, &tcp);
  set(MYSQL_OPT_LOCAL_INFILE, &no);  // no server reads our files
  set(MYSQL_OPT_RECONNECT, &off);    // a session that is not set up as ours is none
  set(MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // None that hands the password over readable.
  set(MARIADB_OPT_RESTRICTED_AUTH, "mysql_native_password,client_ed25519,caching_sha2_password");
  if (!tls) return absl::OkStatus();
  set(MYSQL_OPT_SSL_ENFORCE, &on);
  set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
  set(MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
  if (!options.tls_ca_file.empty()) set(MYSQL_OPT_SSL_CA, options.tls_ca_file.c_str());
  return absl::OkStatus();
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
  if (mysql_real_query(handle_, statements.data(), statements.size()) != 0) return Fail();
  std::vector<Result> results;
  while (true) {
    if (mysql_field_count(handle_) > 0) {
      MYSQL_RES* rows = mysql_store_result(handle_);
      if (rows == nullptr) return Fail();
      results.push_back(StoredRows(rows));
      mysql_free_result(rows);
    } else {
      results.push_back({{}, mysql_affected_rows(handle_), mysql_insert_id(handle_)});
    }
    int more = mysql_next_result(handle_);
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
  error_ = mysql_errno(handle_);
  std::string text = mysql_error(handle_);
  Verdict verdict = Judge(error_, mysql_sqlstate(handle_), text);
  conflict_ = verdict.conflict;
  spent_ = spent_ || verdict.leave;
  return StatusOf(verdict, place_, error_, text);
}

bool Connection::Stale() const {
  pollfd poll_fd{static_cast<int>(mysql_get_socket(handle_)), POLLIN, 0};
  return poll(&poll_fd, 1, 0) != 0;
}

}  // namespace locus::mariadb
