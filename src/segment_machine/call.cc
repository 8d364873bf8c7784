// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/lease/lease_rules.h"
#include "src/segment_machine/spaces.h"

namespace locus::segment_machine {

absl::Status Check(const Call& call) {
  if (const auto* create = std::get_if<Create>(&call)) {
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckOptions(create->options));
    if (absl::FromUnixNanos(absl::ToUnixNanos(create->options.floor_epoch)) !=
        create->options.floor_epoch) {
      return absl::InvalidArgumentError("floor_epoch is not in whole nanoseconds");
    }
  }
  if (const auto* lease = std::get_if<Lease>(&call);
      lease != nullptr && lease->requests.size() > kMostRequests) {
    return absl::InvalidArgumentError(absl::StrCat("a lease names ", lease->requests.size(),
                                                   " sections; a cluster of locusd leases at most ",
                                                   kMostRequests, " at once"));
  }
  if (const auto* raise = std::get_if<Raise>(&call)) return lease_rules::CheckRaise(raise->to);
  return absl::OkStatus();
}

}  // namespace locus::segment_machine
