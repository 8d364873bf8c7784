// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/data_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::locusd {

using internal::Quoted;

namespace {

// For a directory that existed before. Everybody who may write to it could replace its files by an
// older copy, so the world may not. A group may: mounted volumes belong to a group.
absl::Status CheckPermissions(const std::string& path, mode_t mode) {
  if ((mode & S_IWOTH) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Quoted(path), " has mode ", absl::Hex(mode >> 9 & 7), absl::Hex(mode >> 6 & 7),
                   absl::Hex(mode >> 3 & 7), absl::Hex(mode & 7),
                   ", so that every user of this machine may write it; chmod o-w ", path));
}

}  // namespace

absl::Status MakeDataDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat about = {};
  if (error == EEXIST && stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
    const absl::Status status = CheckPermissions(path, about.st_mode);
    return status.ok() ? status
                       : absl::FailedPreconditionError(absl::StrCat("data ", status.message()));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("data ", Quoted(path), " is no directory, and cannot be made one: ",
                   std::strerror(error == EEXIST ? ENOTDIR : error)));
}

absl::Status CheckDataDirectory(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return absl::OkStatus();
  return CheckPermissions(path, about.st_mode);
}

}  // namespace locus::locusd
