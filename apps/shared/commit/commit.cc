// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/commit/commit.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "locus/version.h"

namespace locus::apps {

std::string VersionAndCommit() {
  constexpr std::string_view commit = LOCUS_COMMIT;
  if (commit.empty()) return Version();
  return absl::StrCat(Version(), " (commit ", LOCUS_COMMIT, ")");
}

}  // namespace locus::apps
