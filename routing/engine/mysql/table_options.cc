// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mysql.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

absl::Status CheckPeriod(absl::string_view option, absl::Duration value) {
  if (value >= absl::Milliseconds(10) && value <= absl::Hours(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("mariadb table option ", option, " is ",
                                                 absl::FormatDuration(value),
                                                 "; it must be 10ms to 1h"));
}

}  // namespace

absl::Status MysqlTableOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(mariadb.Check());
  LOCUS_RETURN_IF_ERROR(CheckPeriod("poll_every", poll_every));
  return CheckPeriod("ask_all_every", ask_all_every);
}

}  // namespace locus
