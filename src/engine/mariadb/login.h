// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MARIADB_LOGIN_H_
#define LOCUS_SRC_ENGINE_MARIADB_LOGIN_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mariadb.h"

struct st_mysql;

namespace locus::mariadb {

// Whom to connect to and how; the password comes apart.
struct Login {
  MariadbOptions::Host host;
  std::string user;
  std::string database;
  absl::Duration connect_timeout;
  absl::Duration timeout;  // of one answer
  MariadbOptions::Tls tls = MariadbOptions::Tls::kBeyondLoopback;
  std::string tls_ca_file;
  bool multi_statements = false;  // several in one text, separated by ';'

  // "host:port/database", for messages.
  std::string place() const;
};

struct CloseHandle {
  void operator()(st_mysql* handle) const;
};
using Handle = std::unique_ptr<st_mysql, CloseHandle>;

// An authenticated connection: by TCP, with a verified certificate where `login` asks for TLS, with
// timeouts, closed on exec. Its session is as the server makes it, but for the character set
// utf8mb4. `password` ends with a NUL; the client library's copy of it is wiped.
absl::StatusOr<Handle> LogIn(const Login& login, const char* password);

// What the handle's last call failed with.
absl::Status ErrorOf(st_mysql* handle, const std::string& place);

// Whether the server closed the connection, or said something, while nobody asked.
bool IsStale(st_mysql* handle);

// Rounded up: the unit of the client library and of the server's variables.
unsigned WholeSeconds(absl::Duration duration);

}  // namespace locus::mariadb

#endif  // LOCUS_SRC_ENGINE_MARIADB_LOGIN_H_
