// SPDX-License-Identifier: Apache-2.0
#include "src/worker/holder_text.h"

#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "locus/version.h"
#include "src/base/text/json_text.h"

namespace locus::worker {

using internal::JsonQuoted;

std::string HolderText(std::string_view host, int64_t pid, std::string_view version,
                       std::optional<uint64_t> datacenter) {
  std::string text =
      absl::StrCat("{\"host\":", JsonQuoted(host, internal::kMostForeignBytes), ",\"pid\":", pid,
                   ",\"version\":", JsonQuoted(version, internal::kMostForeignBytes));
  if (datacenter.has_value()) absl::StrAppend(&text, ",\"datacenter\":", *datacenter);
  return text + "}";
}

std::string HolderOfThisProcess(std::optional<uint64_t> datacenter) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return HolderText(host.data(), getpid(), Version(), datacenter);
}

}  // namespace locus::worker
