// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "locus/engine/zookeeper.h"
#include "src/base/os/loopback.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus {

using internal::Quoted;

namespace {

absl::Status Refused(absl::string_view option, std::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("zookeeper option ", option, " is ", Quoted(value), "; it must be ", rule));
}

absl::Status CheckDuration(absl::string_view option, absl::Duration value, absl::Duration least) {
  if (value >= least && value <= absl::Hours(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("zookeeper option ", option, " is ",
                                                 absl::FormatDuration(value), "; it must be ",
                                                 absl::FormatDuration(least), " to 1h"));
}

// The host of "host:port", without brackets; empty: it is something else.
std::string_view HostOf(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto port = internal::ParseDecimal(text.substr(colon + 1), 65535);
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  const bool known = std::all_of(host.begin(), host.end(),
                                 [&](char c) { return internal::IsOfHost(c, brackets); });
  return port.value_or(0) != 0 && known && host.size() <= 255 ? host : std::string_view();
}

bool IsPrefix(std::string_view prefix) {
  if (prefix.size() < 2 || prefix.size() > 256 || prefix.front() != '/' || prefix.back() == '/') {
    return false;
  }
  for (size_t at = 0; at < prefix.size();) {  // no part is empty, "." or ".."
    const size_t end = std::min(prefix.find('/', at + 1), prefix.size());
    const std::string_view part = prefix.substr(at + 1, end - at - 1);
    if (part.empty() || part == "." || part == "..") return false;
    at = end;
  }
  return std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/';
  });
}

}  // namespace

absl::Status ZookeeperOptions::Check() const {
  if (hosts.empty()) {
    return absl::InvalidArgumentError("zookeeper option hosts is empty; it must name a server");
  }
  absl::Status status;
  for (const std::string& host : hosts) {
    const std::string_view name = HostOf(host);
    if (name.empty()) status.Update(Refused("hosts", host, "host:port"));
    if (!password.empty() && !password_in_plain_text && !internal::IsLoopback(name)) {
      status.Update(absl::FailedPreconditionError(absl::StrCat(
          "zookeeper ", Quoted(host),
          " is not on this host, and a password would go in plain text; use a tunnel, or set "
          "password_in_plain_text")));
    }
  }
  if (!IsPrefix(prefix)) {
    status.Update(Refused("prefix", prefix, "a path such as /locus, of at most 256 bytes"));
  }
  const bool plain =
      std::all_of(user.begin(), user.end(), [](char c) { return c > ' ' && c <= '~' && c != ':'; });
  if (!plain || user.size() > 255) {
    status.Update(Refused("user", user, "printable ASCII without ':', at most 255"));
  }
  if (user.empty() != password.empty()) {
    status.Update(absl::InvalidArgumentError(
        "zookeeper options user and password are set one without the other"));
  }
  status.Update(CheckDuration("session_timeout", session_timeout, absl::Seconds(1)));
  status.Update(CheckDuration("connect_timeout", connect_timeout, absl::Milliseconds(1)));
  status.Update(CheckDuration("timeout", timeout, absl::Milliseconds(1)));
  return status;
}

}  // namespace locus
