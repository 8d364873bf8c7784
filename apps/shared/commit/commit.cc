// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/commit/commit.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "locus/version.h"

// Written by cmake/write_commit.cmake: kCommit, which may be empty. A check that compiles sources
// without building has no such file.
#if __has_include("apps/shared/commit/commit_text.inc")
#include "apps/shared/commit/commit_text.inc"
#else
constexpr char kCommit[] = "";
#endif

namespace locus::apps {

std::string VersionAndCommit() {
  constexpr std::string_view commit = kCommit;
  if (commit.empty()) return Version();
  return absl::StrCat(Version(), " (commit ", kCommit, ")");
}

}  // namespace locus::apps
