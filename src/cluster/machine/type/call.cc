// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/cluster/machine/type/types.h"

namespace locus::type_machine {

absl::Status Check(const Call& call) {
  if (call.name.empty() || call.name.size() > kLongestName) {
    return absl::InvalidArgumentError(absl::StrCat("the name of a sequence type has ",
                                                   call.name.size(), " bytes; it must have 1 to ",
                                                   kLongestName));
  }
  if (!call.next) return absl::OkStatus();
  if (call.next->version == 0 || call.next->version > kHighestVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the version of a sequence type is ", call.next->version, "; it must be 1 to 2^63 - 1"));
  }
  if (call.next->text.size() > kLongestText) {
    return absl::InvalidArgumentError(absl::StrCat("the text of a sequence type has ",
                                                   call.next->text.size(), " bytes; the most are ",
                                                   kLongestText));
  }
  return absl::OkStatus();
}

}  // namespace locus::type_machine
