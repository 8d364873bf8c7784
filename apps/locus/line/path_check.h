// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_
#define LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locus/line/option.h"

namespace locus::cli {

// Reads the name of a file; "-" also for the names of stdin or stdout, since by the name
// /dev/stdout the file behind stdout would be replaced under the shell's feet.
std::function<absl::StatusOr<std::string>(std::string_view)> ReaderOfPath(FileUse use);

// INVALID_ARGUMENT where an output (kWrite, kKeep) is the same file as another of `files`, by name,
// hard link or symbolic link, or would be once both exist; where an output would replace something
// that is not made anew as easily, though `files` does not name it: a key ring, a SQLite database,
// a last-good table, a move file, a file: place of routing tables, and whatever belongs to these;
// where kWrite would replace a routing table or a plan, or kKeep anything but a last-good table;
// where two inputs are both stdin; and where a key ring is "-". Devices and pipes may be named
// twice.
absl::Status CheckPaths(const std::vector<NamedFile>& files);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_
