// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/engine/redis.h"
#include "src/base/text/text.h"

namespace locus {

using internal::Quoted;

namespace {

absl::Status CheckDuration(absl::string_view option, absl::Duration value) {
  if (value >= absl::Milliseconds(1) && value <= absl::Hours(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "redis option ", option, " is ", absl::FormatDuration(value), "; it must be 1 ms to 1 h"));
}

// A word that goes into messages and commands.
absl::Status CheckWord(absl::string_view option, const std::string& value, bool may_be_empty) {
  bool fits = value.size() <= 255 && (may_be_empty || !value.empty());
  for (char c : value) fits &= c > ' ' && c <= '~';
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("redis option ", option, " is ", Quoted(value),
                                                 "; it must be printable ASCII, at most 255"));
}

}  // namespace

absl::Status RedisOptions::Check() const {
  if (addresses.empty()) {
    return absl::InvalidArgumentError("redis option addresses is empty; it must name a server");
  }
  absl::Status status;
  for (const Address& address : addresses) {
    status.Update(CheckWord("addresses.host", address.host, false));
    if (address.port == 0) {
      status.Update(absl::InvalidArgumentError("redis option addresses.port is 0"));
    }
  }
  status.Update(CheckWord("master_name", master_name, true));
  status.Update(CheckWord("user", user, true));
  status.Update(CheckWord("sentinel_user", sentinel_user, true));
  if (database < 0) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("redis option database is ", database, "; it must be 0 or more")));
  }
  if (!user.empty() && password.empty()) {
    status.Update(absl::InvalidArgumentError("redis option user is set without a password"));
  }
  if (!sentinel_user.empty() && sentinel_password.empty()) {
    status.Update(
        absl::InvalidArgumentError("redis option sentinel_user is set without a password"));
  }
  status.Update(CheckDuration("timeout", timeout));
  status.Update(CheckDuration("connect_timeout", connect_timeout));
  return status;
}

}  // namespace locus
