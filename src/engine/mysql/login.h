// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_LOGIN_H_
#define LOCUS_SRC_ENGINE_MYSQL_LOGIN_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/bounded_call.h"

struct st_mysql;

namespace locus::mysql {

// Where to connect and how. The password is passed separately.
struct Login {
  MysqlOptions::Host host;
  std::string user;
  std::string database;
  absl::Duration connect_timeout;
  absl::Duration timeout;  // of one read or write, once connected
  // For all of LogIn, name lookup included; it never takes longer than twice the connect_timeout.
  // Except: with TLS, where a name has addresses that accept connections and, before those, two
  // that do not answer.
  TimePoint deadline = TimePoint::max();
  MysqlOptions::Tls tls = MysqlOptions::Tls::kBeyondLoopback;
  std::string tls_ca_file;
  bool multi_statements = false;  // several in one text, separated by ';'

  // "host:port/database", for messages.
  std::string place() const;
};

// As the options say, for one of their hosts.
Login LoginOf(const MysqlOptions& options, const MysqlOptions::Host& host);

struct CloseHandle {
  void operator()(st_mysql* handle) const;
};
using Handle = std::unique_ptr<st_mysql, CloseHandle>;

// Connects and authenticates: by TCP, with a verified certificate if `login` asks for TLS, with
// timeouts, closed on exec. The session is the server's default, except for the character set
// utf8mb4. `password` ends with a NUL; the client library's copy of it is wiped.
absl::StatusOr<Handle> LogIn(const Login& login, const char* password);

// To the first of the hosts that lets the account in; `place` becomes its. `password` ends with a
// NUL. Otherwise the last host's error.
absl::StatusOr<Handle> LogInToAny(const MysqlOptions& options, const char* password,
                                  std::string& place);

// `options` without the password, which is overwritten: for owners that keep options longer than
// they need the password.
MysqlOptions WithoutPassword(MysqlOptions options);

// The error of the handle's last call.
absl::Status ErrorOf(st_mysql* handle, const std::string& place);

// Whether the server closed the idle connection, or sent something on it.
bool IsStale(st_mysql* handle);

// Rounded up; the unit of the client library and of the server's variables.
unsigned WholeSeconds(absl::Duration duration);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_LOGIN_H_
