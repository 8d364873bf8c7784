// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_
#define LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/locus/line/option.h"

namespace locus::cli {

// INVALID_ARGUMENT where an output (kWrite, kKeep) is the same file as another of `files`, by name,
// hard link or symbolic link, or would be once both exist; where an output is a key ring or a
// SQLite database; where two inputs are both stdin; and where a key ring is "-". Devices and pipes
// may be named twice.
absl::Status CheckPaths(const std::vector<NamedFile>& files);

// The files that a SQLite database at `path` consists of, and the sidecar of its segment store.
std::vector<NamedFile> SqliteFiles(const std::string& name, const std::string& path);

// The files that environment variables name: passwords.
std::vector<NamedFile> FilesOfEnvironment();

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_PATH_CHECK_H_
