// SPDX-License-Identifier: Apache-2.0
#include "locus/space.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus {

using internal::Quoted;

absl::StatusOr<SpaceName> SpaceName::Parse(std::string_view name) {
  constexpr size_t kMaxLength = 64;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (name.empty() || name.size() > kMaxLength ||
      name.find_first_not_of(kAllowed) != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("space ", Quoted(name), " is not 1 to 64 of a-z, 0-9, '_' and '-'"));
  }
  return SpaceName(name);
}

}  // namespace locus
