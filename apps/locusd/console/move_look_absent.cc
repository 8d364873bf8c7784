// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/move_look.h"

namespace locus::locusd {

absl::StatusOr<std::unique_ptr<MoveLook>> MoveLook::Open(const std::string&) {
  return absl::FailedPreconditionError(
      "the state of moves was left out of this build: build it with -DLOCUS_MYSQL=ON");
}

}  // namespace locus::locusd
