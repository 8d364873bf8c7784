// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/cluster/machine/segment/spaces.h"
#include "src/segment/rules.h"

namespace locus::segment_machine {

absl::Status Check(const Call& call) {
  if (const auto* create = std::get_if<Create>(&call)) {
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(create->options));
    if (absl::FromUnixNanos(absl::ToUnixNanos(create->options.floor_epoch)) !=
        create->options.floor_epoch) {
      return absl::InvalidArgumentError("floor_epoch is not in whole nanoseconds");
    }
  }
  if (const auto* allocation = std::get_if<Allocation>(&call);
      allocation != nullptr && allocation->requests.size() > kMostRequests) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an allocation names ", allocation->requests.size(),
        " sections; a cluster of locusd allocates at most ", kMostRequests, " at once"));
  }
  if (const auto* raise = std::get_if<Raise>(&call)) return segment_rules::CheckRaise(raise->to);
  return absl::OkStatus();
}

}  // namespace locus::segment_machine
