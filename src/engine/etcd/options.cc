// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/etcd.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/http/endpoint.h"

namespace locus {

using internal::IsLoopback;

namespace {

absl::Status CheckTimeout(const char* name, absl::Duration timeout) {
  if (timeout >= absl::Milliseconds(1) && timeout <= absl::Hours(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "etcd option ", name, " is ", absl::FormatDuration(timeout), "; it must be 1ms to 1h"));
}

}  // namespace

absl::Status EtcdOptions::Check() const {
  if (endpoints.empty()) return absl::InvalidArgumentError("etcd option endpoints is empty");
  for (const std::string& endpoint : endpoints) {
    absl::Status parsed = http::Endpoint::Parse(endpoint).status();
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat("etcd ", parsed.message()));
  }
  if (prefix.size() > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("etcd option prefix is ", prefix.size(), " bytes long; at most 256"));
  }
  LOCUS_RETURN_IF_ERROR(CheckTimeout("request_timeout", request_timeout));
  LOCUS_RETURN_IF_ERROR(CheckTimeout("call_timeout", call_timeout));
  if (max_connections < 1 || max_connections > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("etcd option max_connections is ", max_connections, "; it must be 1 to 1000"));
  }
  if (user.empty() && !password.empty()) {
    return absl::InvalidArgumentError("etcd option password is given without a user");
  }
  for (const std::string& endpoint : endpoints) {
    if (password.empty() || tls.enabled || password_in_plain_text) break;
    if (IsLoopback(http::Endpoint::Parse(endpoint)->host)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("etcd endpoint ", endpoint, " is not on this host, and tls.enabled is false: ",
                     "enable TLS, or set password_in_plain_text"));
  }
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return absl::InvalidArgumentError(
        "etcd options tls.certificate_file and tls.key_file need each other");
  }
  bool unused = !tls.ca_file.empty() || !tls.certificate_file.empty();
  if (!tls.enabled && unused) {
    return absl::InvalidArgumentError("etcd option tls.enabled is false, but TLS files are given");
  }
  return absl::OkStatus();
}

}  // namespace locus
