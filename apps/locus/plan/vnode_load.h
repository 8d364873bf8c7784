// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLAN_VNODE_LOAD_H_
#define LOCUS_APPS_LOCUS_PLAN_VNODE_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::cli {

// The first line of such a file, which may be left out.
inline constexpr char kVnodeLoadHeader[] = "vnode,load";

// Reads CSV with the load of each vnode: a vnode 0..65535, at most once, and a finite number that
// is not negative, such as 12, 0.5 or 1e6. Vnodes that are not named have none; blank lines are
// skipped. Answers 65,536 numbers, not all of them 0. "-" is stdin.
// INVALID_ARGUMENT, naming file and line; otherwise errors of ByteSource.
absl::StatusOr<std::vector<double>> ReadVnodeLoad(const std::string& path);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLAN_VNODE_LOAD_H_
