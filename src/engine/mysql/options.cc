// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "locus/engine/mysql.h"
#include "src/base/text/text.h"

namespace locus {

using internal::Quoted;

namespace {

absl::Status Refuse(absl::string_view option, const std::string& value, absl::string_view limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("mariadb option ", option, " is ", value, "; it must be ", limit));
}

bool IsTimeout(absl::Duration duration) {
  return duration >= absl::Seconds(1) && duration <= absl::Hours(1);
}

}  // namespace

std::string_view ToString(MysqlOptions::Tls tls) {
  switch (tls) {
    case MysqlOptions::Tls::kBeyondLoopback:
      return "beyond_loopback";
    case MysqlOptions::Tls::kAlways:
      return "always";
    case MysqlOptions::Tls::kNever:
      return "never";
  }
  return "unknown";
}

absl::Status MysqlOptions::Check() const {
  if (hosts.empty()) return Refuse("hosts", "empty", "at least one host");
  for (const Host& host : hosts) {
    if (host.name.empty() || host.port == 0) {
      return Refuse("hosts", absl::StrCat(Quoted(host.name), " port ", host.port),
                    "names with ports 1 to 65535");
    }
  }
  if (database.empty() || absl::StrContains(database, '\0')) {
    return Refuse("database", Quoted(database), "the name of a database");
  }
  // The client library would take it up to there only.
  if (absl::StrContains(password, '\0')) {
    return Refuse("password", "one with a NUL byte", "without one");
  }
  if (!IsTimeout(connect_timeout)) {
    return Refuse("connect_timeout", absl::FormatDuration(connect_timeout), "1s to 1h");
  }
  if (!IsTimeout(timeout)) return Refuse("timeout", absl::FormatDuration(timeout), "1s to 1h");
  if (max_connections < 1 || max_connections > 1000) {
    return Refuse("max_connections", absl::StrCat(max_connections), "1 to 1000");
  }
  return absl::OkStatus();
}

}  // namespace locus
