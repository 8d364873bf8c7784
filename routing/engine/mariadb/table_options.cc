// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mariadb_table.h"
#include "src/check.h"

namespace locus {

absl::Status MariadbTableOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(mariadb.Check());
  if (poll_every >= absl::Milliseconds(10) && poll_every <= absl::Hours(1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("mariadb table option poll_every is ",
                                                 absl::FormatDuration(poll_every),
                                                 "; it must be 10ms to 1h"));
}

}  // namespace locus
