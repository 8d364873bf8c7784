// SPDX-License-Identifier: Apache-2.0
// The beginning of a connection: connect, AUTH, SELECT, INFO.
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/resolve.h"
#include "src/base/text/password_hint.h"
#include "src/base/text/text.h"
#include "src/engine/redis/connection.h"
#include "src/engine/redis/errors.h"

namespace locus::redis {

using internal::CopySecret;
using internal::Printable;
using internal::Quoted;
using internal::Resolve;
using internal::SecretBytes;

namespace {

constexpr uint64_t kOldestMajor = 5;  // the first that replicates a script by its effects
constexpr size_t kLongestField = 128;

bool IsLoopback(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  if (peer.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<sockaddr_in*>(&peer)->sin_addr.s_addr) >> 24 == 127;
  }
  if (peer.ss_family != AF_INET6) return false;
  const in6_addr& address = reinterpret_cast<sockaddr_in6*>(&peer)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

std::string_view Field(std::string_view text, std::string_view name) {
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
    std::string_view rest = text.substr(at + name.size());
    if ((at != 0 && text[at - 1] != '\n') || !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    std::string_view value = rest.substr(0, rest.find_first_of("\r\n"));
    return value.size() <= kLongestField ? value : std::string_view();
  }
  return {};
}

// Appends words to memory that has exactly the room they need.
class SecretWriter {
 public:
  explicit SecretWriter(SecretBytes& out) : out_(out) {}
  void Append(std::string_view text) {
    CopySecret(text.data(), out_.data() + at_, text.size());
    at_ += text.size();
  }
  void AppendWord(std::string_view word) {
    Append(absl::StrCat("$", word.size(), "\r\n"));
    Append(word);
    Append("\r\n");
  }

 private:
  SecretBytes& out_;
  size_t at_ = 0;
};

absl::StatusOr<int> ConnectBy(const std::string& host, uint32_t port, Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  int64_t us = std::max<int64_t>(left.count(), 1000);
  timeval timeout{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
  redisContext* context = redisConnectWithTimeout(host.c_str(), static_cast<int>(port), timeout);
  LOCUS_CHECK(context != nullptr);
  if (context->err == 0) return redisFreeKeepFd(context);
  absl::Status status = absl::UnavailableError(context->errstr);
  redisFree(context);
  return status;
}

// A socket. hiredis would resolve the name for as long as the system likes, and would wait for the
// whole timeout at each of its addresses.
absl::StatusOr<int> Connect(const Address& address, Deadline deadline) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> hosts, Resolve(address.host, deadline));
  absl::StatusOr<int> fd;
  for (size_t i = 0; i < hosts.size(); ++i) {
    // An address that does not answer leaves the others their share of the time.
    const Deadline now = std::chrono::steady_clock::now();
    const auto share = (deadline - now) / static_cast<int64_t>(hosts.size() - i);
    fd = ConnectBy(hosts[i], address.port, now + share);
    if (fd.ok()) break;
  }
  return fd;
}

size_t WordSize(std::string_view word) {
  return absl::StrCat("$", word.size(), "\r\n").size() + word.size() + 2;
}

}  // namespace

std::string ToString(const Address& address) {
  return absl::StrCat(address.host, ":", address.port);
}

absl::StatusOr<Credentials> Credentials::Make(std::string_view user, std::string_view password) {
  Credentials credentials;
  if (password.empty()) return credentials;
  std::string_view head = user.empty() ? "*2\r\n" : "*3\r\n";
  size_t size = head.size() + WordSize("AUTH") + WordSize(password);
  if (!user.empty()) size += WordSize(user);
  LOCUS_ASSIGN_OR_RETURN(credentials.auth_, SecretBytes::Allocate(size));
  SecretWriter writer(credentials.auth_);
  writer.Append(head);
  writer.AppendWord("AUTH");
  if (!user.empty()) writer.AppendWord(user);
  writer.AppendWord(password);
  return credentials;
}

ServerView ParseServerView(std::string_view info) {
  ServerView view;
  view.version = Field(info, "redis_version");
  view.cluster = Field(info, "redis_mode") == "cluster";
  view.master = Field(info, "role") == "master";
  view.run_id = Field(info, "run_id");
  view.max_memory = Field(info, "maxmemory");
  view.eviction_policy = Field(info, "maxmemory_policy");
  return view;
}

absl::StatusOr<std::shared_ptr<Connection>> Connection::Open(const Address& address,
                                                             const Settings& settings,
                                                             Deadline deadline) {
  absl::StatusOr<int> connected = Connect(address, deadline);
  if (!connected.ok()) {
    return absl::UnavailableError(absl::StrCat("redis ", ToString(address),
                                               ": cannot connect: ", connected.status().message()));
  }
  int fd = *connected;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::shared_ptr<Connection> connection(new Connection(address, fd, wake_fd));
  if (wake_fd < 0) return connection->Lost("this process has no file descriptors left");
  LOCUS_RETURN_IF_ERROR(connection->Introduce(settings, deadline));
  return connection;
}

absl::Status Connection::Introduce(const Settings& settings, Deadline deadline) {
  const Credentials& credentials = *settings.credentials;
  if (!credentials.none()) {
    if (!settings.password_in_plain_text && !IsLoopback(fd_)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "redis ", ToString(address_), " is not on this host, and there is no TLS: the password ",
          "was not sent; use a tunnel, or set password_in_plain_text"));
    }
    LOCUS_ASSIGN_OR_RETURN(std::vector<Reply> replies,
                           Ask(credentials.auth_command(), 1, deadline));
    // A server without a password accepts every client, so its complaint about AUTH is no failure.
    bool needs_none = replies[0].IsError("ERR") &&
                      replies[0].text.find("without any password configured") != std::string::npos;
    if (!needs_none) {
      // A server that does not know AUTH repeats the command, and so the password: drop the rest.
      std::string& text = replies[0].text;
      text = text.substr(0, text.find(' ')) + " to AUTH";
      LOCUS_RETURN_IF_ERROR(StatusOf(replies[0], address_));
    }
  }
  if (settings.sentinel) return absl::OkStatus();

  std::string commands;
  size_t replies = 3;
  for (std::string_view section : {"server", "replication", "memory"}) {
    AppendCommand(commands, std::array<std::string_view, 2>{"INFO", section});
  }
  if (settings.database != 0) {
    std::string database = absl::StrCat(settings.database);
    AppendCommand(commands, std::array<std::string_view, 2>{"SELECT", database});
    ++replies;
  }
  LOCUS_ASSIGN_OR_RETURN(std::vector<Reply> answers, Ask(commands, replies, deadline));
  if (settings.database != 0 && answers.back().IsError("ERR")) {
    return absl::FailedPreconditionError(absl::StrCat("redis ", ToString(address_), ", database ",
                                                      settings.database, ": ",
                                                      Printable(answers.back().text)));
  }
  std::string info;
  for (const Reply& answer : answers) {
    const absl::Status told = StatusOf(answer, address_);
    if (answer.IsError("NOAUTH")) {
      return absl::FailedPreconditionError(
          absl::StrCat(told.message(), internal::ToAbsl(internal::kNoPasswordHint)));
    }
    LOCUS_RETURN_IF_ERROR(told);
    if (answer.kind != Reply::Kind::kText) {
      return absl::FailedPreconditionError(absl::StrCat(
          "redis ", ToString(address_), " did not answer INFO with text: is it Redis?"));
    }
    absl::StrAppend(&info, answer.text, "\r\n");
  }
  server_ = ParseServerView(info);
  return CheckServer(settings);
}

absl::Status Connection::CheckServer(const Settings& settings) const {
  std::string place = absl::StrCat("redis ", ToString(address_));
  uint64_t major = 0;
  std::from_chars(server_.version.data(), server_.version.data() + server_.version.size(), major);
  if (major < kOldestMajor) {
    return absl::FailedPreconditionError(absl::StrCat(
        place, " has version ", Quoted(server_.version), "; locus needs 5.0 or newer"));
  }
  if (server_.max_memory != "0" && server_.eviction_policy.starts_with("allkeys")) {
    return absl::FailedPreconditionError(absl::StrCat(
        place, " may evict any Redis key (maxmemory-policy ", Printable(server_.eviction_policy),
        "), including those of locus: set noeviction or a volatile-* policy"));
  }
  if (server_.cluster && settings.database != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        place, " belongs to a cluster, which has no database ", settings.database, ", only 0"));
  }
  return absl::OkStatus();
}

}  // namespace locus::redis
