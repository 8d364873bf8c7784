// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/login.h"

#include <errmsg.h>
#include <fcntl.h>
#include <mysql.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/os/resolve.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/text/password_hint.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {

using internal::ExcludeFromCoreDumps;
using internal::IsLoopback;
using internal::Resolve;
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
  if (login.tls == MysqlOptions::Tls::kNever) return false;
  return login.tls == MysqlOptions::Tls::kAlways || !IsLoopback(login.host.name);
}

void SetOptions(MYSQL* handle, const Login& login, absl::Duration connect_timeout) {
  auto set = [handle](mysql_option option, const void* value) {
    LOCUS_CHECK(mysql_optionsv(handle, option, value) == 0);
  };
  unsigned connect_seconds = WholeSeconds(connect_timeout);
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

// Whether something accepts connections at a numeric address.
bool Accepts(const std::string& address, uint32_t port, TimePoint deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) return false;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool accepts = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  if (fd >= 0 && !accepts && errno == EINPROGRESS) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd poll_fd{fd, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    accepts = poll(&poll_fd, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) == 1 &&
              getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return accepts;
}

// When the attempt at the first of `left` addresses has to end, so that the others have their share
// of the time.
TimePoint ShareOf(TimePoint deadline, size_t left) {
  const TimePoint now = std::chrono::steady_clock::now();
  return now + (deadline - now) / static_cast<int64_t>(left);
}

// The hosts that the client library tries in turn: addresses where possible, not the name. The
// library would look the name up without a time limit, and wait for its second address as long as
// the system's default. TLS needs the name, for the certificate; then one of its addresses must
// accept connections.
absl::StatusOr<std::vector<std::string>> HostsFor(const Login& login, TimePoint deadline) {
  absl::StatusOr<std::vector<std::string>> addresses = Resolve(login.host.name, deadline);
  if (!addresses.ok()) {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", login.place(), ": ", addresses.status().message()));
  }
  if (!NeedsTls(login)) return addresses;
  const size_t count = addresses->size();
  bool accepts = count == 1;  // the library's own timeout holds for the first
  for (size_t i = 0; i < count && !accepts; ++i) {
    accepts = Accepts((*addresses)[i], login.host.port, ShareOf(deadline, count - i));
  }
  if (accepts) return std::vector<std::string>{login.host.name};
  return absl::UnavailableError(absl::StrCat("mariadb ", login.place(), ": none of its ", count,
                                             " addresses accepts connections"));
}

// What an account that no host accepted may lack. The server's text does not say.
std::string_view HintOf(MYSQL* handle, const Login& login, bool has_password) {
  constexpr unsigned kAccessDenied = 1045;
  if (mysql_errno(handle) != kAccessDenied) return "";
  if (!has_password) return internal::kNoPasswordHint;
  return NeedsTls(login) ? ""
                         : "; this was without TLS: an account that requires it needs ?tls=on (of "
                           "the library: MysqlOptions::tls)";
}

// Whether a failed TLS handshake will fail again until the configuration changes. A wrong
// certificate does not count: a handshake that the network cut off has the same number.
bool IsSettled(MYSQL* handle, const Login& login) {
  if (!login.tls_ca_file.empty() && access(login.tls_ca_file.c_str(), R_OK) != 0) return true;
  // As the server greeted; 0: it did not.
  unsigned long capabilities = 0;
  mariadb_get_infov(handle, MARIADB_CONNECTION_SERVER_CAPABILITIES, &capabilities);
  return capabilities != 0 && (capabilities & CLIENT_SSL) == 0;
}

// Its VERSION() if the server is MySQL, whose SQL is another; empty: it is MariaDB. A proxy greets
// with a version of its own, so the server behind it is asked.
absl::StatusOr<std::string> VersionOfMysql(MYSQL* handle, const std::string& place) {
  if (mariadb_connection(handle)) return "";
  if (mysql_query(handle, "SELECT VERSION()") != 0) return ErrorOf(handle, place);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle),
                                                                        mysql_free_result);
  const MYSQL_ROW row = result == nullptr ? nullptr : mysql_fetch_row(result.get());
  const std::string version = row == nullptr || row[0] == nullptr ? "of no version" : row[0];
  return absl::StrContains(version, "MariaDB") ? "" : version;
}

// An attempt at one host. `reached`: whether it got a connection, so that other addresses of the
// same server would answer no better.
absl::StatusOr<Handle> LogInAt(const Login& login, const std::string& host,
                               absl::Duration connect_timeout, TimePoint deadline,
                               const char* password, bool& reached) {
  Handle handle(mysql_init(nullptr));
  if (handle == nullptr) return absl::UnavailableError("mariadb: out of memory");
  SetOptions(handle.get(), login, connect_timeout);
  unsigned long flags = login.multi_statements ? CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS
                                               : CLIENT_MULTI_RESULTS;
  absl::Status bound;
  bool connected = false;
  {
    BoundedCall call(handle.get(), deadline);
    connected =
        mysql_real_connect(handle.get(), host.c_str(), login.user.c_str(), password,
                           login.database.c_str(), login.host.port, nullptr, flags) != nullptr;
    bound = call.Status();
  }
  if (handle->passwd != nullptr) {
    ExcludeFromCoreDumps(handle->passwd, std::strlen(handle->passwd));
    explicit_bzero(handle->passwd, std::strlen(handle->passwd));
  }
  WipeDeadStack();
  if (!connected) {
    const unsigned error = mysql_errno(handle.get());
    reached = error != CR_CONNECTION_ERROR && error != CR_CONN_HOST_ERROR;
    absl::Status status = ErrorOf(handle.get(), login.place());
    if (!bound.ok() && absl::IsUnavailable(status)) {
      return absl::UnavailableError(absl::StrCat("mariadb ", login.place(), ": ", bound.message()));
    }
    if (error == kTlsFailed && IsSettled(handle.get(), login)) {
      status = absl::FailedPreconditionError(status.message());
    }
    const std::string_view hint = HintOf(handle.get(), login, *password != '\0');
    if (!hint.empty()) {
      return absl::Status(status.code(), absl::StrCat(status.message(), internal::ToAbsl(hint)));
    }
    if (error != kTlsFailed || login.tls_ca_file.empty()) return status;
    // The library's text does not name the file, which may be what is wrong.
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; the authorities are those of ", login.tls_ca_file));
  }
  reached = true;
  fcntl(static_cast<int>(mysql_get_socket(handle.get())), F_SETFD, FD_CLOEXEC);
  if (NeedsTls(login) && mysql_get_ssl_cipher(handle.get()) == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", login.place(), ": the connection was made without TLS"));
  }
  BoundedCall call(handle.get(), deadline);
  LOCUS_ASSIGN_OR_RETURN(const std::string mysql, VersionOfMysql(handle.get(), login.place()));
  if (!mysql.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", login.place(), ": this is MySQL ", internal::Printable(mysql),
                     "; locus works with MariaDB 10.5 or later, and not with MySQL"));
  }
  return handle;
}

}  // namespace

unsigned WholeSeconds(absl::Duration duration) {
  return static_cast<unsigned>(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

std::string Login::place() const { return absl::StrCat(host.name, ":", host.port, "/", database); }

Login LoginOf(const MysqlOptions& options, const MysqlOptions::Host& host) {
  Login login;
  login.host = host;
  login.user = options.user;
  login.database = options.database;
  login.connect_timeout = options.connect_timeout;
  login.timeout = options.timeout;
  login.tls = options.tls;
  login.tls_ca_file = options.tls_ca_file;
  return login;
}

absl::StatusOr<Handle> LogInToAny(const MysqlOptions& options, const char* password,
                                  std::string& place) {
  absl::Status last = absl::InvalidArgumentError("there is no host");
  for (const MysqlOptions::Host& host : options.hosts) {
    const Login login = LoginOf(options, host);
    absl::StatusOr<Handle> handle = LogIn(login, password);
    place = login.place();
    if (handle.ok()) return handle;
    last = handle.status();
  }
  return last;
}

MysqlOptions WithoutPassword(MysqlOptions options) {
  explicit_bzero(options.password.data(), options.password.size());
  options.password.clear();
  return options;
}

void CloseHandle::operator()(MYSQL* handle) const {
  HoldSigpipe hold;
  mysql_close(handle);
}

absl::Status ErrorOf(MYSQL* handle, const std::string& place) {
  unsigned number = mysql_errno(handle);
  std::string text = mysql_error(handle);
  return StatusOf(Judge(number, mysql_sqlstate(handle)), place, number, text);
}

bool IsStale(MYSQL* handle) {
  pollfd poll_fd{static_cast<int>(mysql_get_socket(handle)), POLLIN, 0};
  return poll(&poll_fd, 1, 0) != 0;
}

absl::StatusOr<Handle> LogIn(const Login& login, const char* password) {
  const TimePoint start = std::chrono::steady_clock::now();
  const auto patience = absl::ToChronoNanoseconds(login.connect_timeout);
  const TimePoint connect_by = std::min(login.deadline, start + patience);
  const TimePoint end = std::min(login.deadline, start + 2 * patience);
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> hosts, HostsFor(login, connect_by));
  StartLibrary();
  HoldSigpipe hold;
  for (size_t i = 0;; ++i) {
    const absl::Duration share =
        absl::FromChrono(ShareOf(connect_by, hosts.size() - i) - std::chrono::steady_clock::now());
    bool reached = false;
    absl::StatusOr<Handle> handle =
        LogInAt(login, hosts[i], std::clamp(share, absl::Seconds(1), login.connect_timeout), end,
                password, reached);
    if (handle.ok() || reached || i + 1 == hosts.size()) return handle;
    if (std::chrono::steady_clock::now() >= end) return handle;
  }
}

}  // namespace locus::mysql
