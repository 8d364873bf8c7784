// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mariadb/login.h"

#include <fcntl.h>
#include <mysql.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/loopback.h"
#include "src/base/secret_bytes.h"
#include "src/engine/mariadb/errors.h"
#include "src/engine/mariadb/sigpipe.h"

namespace locus::mariadb {

using internal::ExcludeFromCoreDumps;
using internal::IsLoopback;
using internal::WipeDeadStack;

namespace {

// Starting the library makes the whole process ignore SIGPIPE; undo that.
void StartLibrary() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction before;
    sigaction(SIGPIPE, nullptr, &before);
    LOCUS_CHECK(mysql_library_init(0, nullptr, nullptr) == 0);
    sigaction(SIGPIPE, &before, nullptr);
    BoundedCall::Install();
  });
}

bool NeedsTls(const Login& login) {
  if (login.tls == MariadbOptions::Tls::kNever) return false;
  return login.tls == MariadbOptions::Tls::kAlways || !IsLoopback(login.host.name);
}

void SetOptions(MYSQL* handle, const Login& login) {
  auto set = [handle](mysql_option option, const void* value) {
    LOCUS_CHECK(mysql_optionsv(handle, option, value) == 0);
  };
  unsigned connect_seconds = WholeSeconds(login.connect_timeout);
  unsigned seconds = WholeSeconds(login.timeout);
  unsigned tcp = MYSQL_PROTOCOL_TCP;
  unsigned no = 0;
  my_bool off = 0, on = 1;
  set(MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  set(MYSQL_OPT_READ_TIMEOUT, &seconds);
  set(MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  set(MYSQL_OPT_PROTOCOL, &tcp);
  set(MYSQL_OPT_LOCAL_INFILE, &no);  // no server reads our files
  set(MYSQL_OPT_RECONNECT, &off);    // a new session would lack our settings
  set(MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // Only plugins that never send the password in readable form.
  set(MARIADB_OPT_RESTRICTED_AUTH, "mysql_native_password,client_ed25519,caching_sha2_password");
  if (!NeedsTls(login)) return;
  set(MYSQL_OPT_SSL_ENFORCE, &on);
  set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
  set(MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
  if (!login.tls_ca_file.empty()) set(MYSQL_OPT_SSL_CA, login.tls_ca_file.c_str());
}

}  // namespace

unsigned WholeSeconds(absl::Duration duration) {
  return static_cast<unsigned>(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

std::string Login::place() const { return absl::StrCat(host.name, ":", host.port, "/", database); }

void CloseHandle::operator()(MYSQL* handle) const {
  HoldSigpipe hold;
  mysql_close(handle);
}

absl::Status ErrorOf(MYSQL* handle, const std::string& place) {
  unsigned number = mysql_errno(handle);
  std::string text = mysql_error(handle);
  return StatusOf(Judge(number, mysql_sqlstate(handle), text), place, number, text);
}

bool IsStale(MYSQL* handle) {
  pollfd poll_fd{static_cast<int>(mysql_get_socket(handle)), POLLIN, 0};
  return poll(&poll_fd, 1, 0) != 0;
}

absl::StatusOr<Handle> LogIn(const Login& login, const char* password) {
  StartLibrary();
  HoldSigpipe hold;
  Handle handle(mysql_init(nullptr));
  if (handle == nullptr) return absl::UnavailableError("mariadb: out of memory");
  SetOptions(handle.get(), login);
  unsigned long flags = login.multi_statements ? CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS
                                               : CLIENT_MULTI_RESULTS;
  auto most = 2 * absl::ToChronoNanoseconds(login.connect_timeout);
  TimePoint deadline = std::min(login.deadline, std::chrono::steady_clock::now() + most);
  absl::Status bound;
  bool connected = false;
  {
    BoundedCall call(handle.get(), deadline);
    connected =
        mysql_real_connect(handle.get(), login.host.name.c_str(), login.user.c_str(), password,
                           login.database.c_str(), login.host.port, nullptr, flags) != nullptr;
    bound = call.Status();
  }
  if (handle->passwd != nullptr) {
    ExcludeFromCoreDumps(handle->passwd, std::strlen(handle->passwd));
    explicit_bzero(handle->passwd, std::strlen(handle->passwd));
  }
  WipeDeadStack();
  if (!connected) {
    absl::Status status = ErrorOf(handle.get(), login.place());
    if (!bound.ok() && absl::IsUnavailable(status)) {
      return absl::UnavailableError(absl::StrCat("mariadb ", login.place(), ": ", bound.message()));
    }
    if (mysql_errno(handle.get()) != kTlsFailed || login.tls_ca_file.empty()) return status;
    // The library's text does not name the file, which may be what is wrong.
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; the authorities are those of ", login.tls_ca_file));
  }
  fcntl(static_cast<int>(mysql_get_socket(handle.get())), F_SETFD, FD_CLOEXEC);
  if (NeedsTls(login) && mysql_get_ssl_cipher(handle.get()) == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", login.place(), ": the connection was made without TLS"));
  }
  return handle;
}

}  // namespace locus::mariadb
