// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_COMMIT_COMMIT_H_
#define LOCUS_APPS_SHARED_COMMIT_COMMIT_H_

#include <string>

namespace locus::apps {

// What a program prints of itself: "0.1.0 (commit 1a2b3c4d5e6f)". The version alone where the
// sources were no clone of a repository. Uncommitted changes are not seen.
std::string VersionAndCommit();

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_COMMIT_COMMIT_H_
