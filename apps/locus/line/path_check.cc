// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/path_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

bool IsWritten(FileUse use) { return use == FileUse::kWrite || use == FileUse::kKeep; }

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool SameInode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Follows links. "-" is what the shell connected the stream to.
bool FactsOf(const NamedFile& file, struct stat& facts) {
  if (file.path != "-") return stat(file.path.c_str(), &facts) == 0;
  return fstat(IsWritten(file.use) ? STDOUT_FILENO : STDIN_FILENO, &facts) == 0;
}

// Where a link that leads to no file would create one; a path that is no such link as it is.
std::string BehindDanglingLinks(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel's
  for (int i = 0; i < kMostLinks; ++i) {
    char target[4096];
    ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size <= 0 || size == sizeof target) break;
    std::string next(target, static_cast<size_t>(size));
    path = next[0] == '/' ? next : absl::StrCat(DirectoryOf(path), "/", next);
  }
  return path;
}

bool SameFile(const NamedFile& a, const NamedFile& b) {
  struct stat of_a, of_b;
  if (a.path == "-" && b.path == "-" && IsWritten(a.use) == IsWritten(b.use)) return true;
  bool a_exists = FactsOf(a, of_a);
  bool b_exists = FactsOf(b, of_b);
  if (a_exists != b_exists) return false;
  if (a_exists) return S_ISREG(of_a.st_mode) && SameInode(of_a, of_b);
  std::string path_a = BehindDanglingLinks(a.path);
  std::string path_b = BehindDanglingLinks(b.path);
  return NameIn(path_a) == NameIn(path_b) && stat(DirectoryOf(path_a).c_str(), &of_a) == 0 &&
         stat(DirectoryOf(path_b).c_str(), &of_b) == 0 && SameInode(of_a, of_b);
}

// A key ring or a database must not be lost to a picture or a table, even if the verb does not use
// it: the wrong name is one slip of shell completion away.
absl::Status CheckReplaced(const NamedFile& output) {
  struct stat facts;
  if (stat(output.path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return absl::OkStatus();
  std::string start(16, '\0');
  std::ifstream file(output.path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const char* what = start.starts_with("locus-key-ring")    ? "a key ring"
                     : start.starts_with("SQLite format 3") ? "a SQLite database"
                                                            : nullptr;
  if (what == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(output.name, ": ", Quoted(output.path), " is ",
                                                 what, " and is not replaced; name another file"));
}

absl::Status CheckPair(const NamedFile& a, const NamedFile& b) {
  if (!IsWritten(a.use) && !IsWritten(b.use)) {
    if (a.path != "-" || b.path != "-") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(a.name, " and ", b.name, " are both stdin"));
  }
  if (!SameFile(a, b)) return absl::OkStatus();
  const NamedFile& output = IsWritten(a.use) ? a : b;
  const NamedFile& other = IsWritten(a.use) ? b : a;
  return absl::InvalidArgumentError(
      absl::StrCat(output.name, " and ", other.name, " are the same file, ", Quoted(output.path)));
}

}  // namespace

absl::Status CheckPaths(const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) {
    if (file.use == FileUse::kKeyRing && file.path == "-") {
      return absl::InvalidArgumentError(absl::StrCat(
          file.name, ": a key ring is a file, never stdin or stdout; ./- is a file named \"-\""));
    }
    if (file.use == FileUse::kKeep && file.path == "-") {
      return absl::InvalidArgumentError(
          absl::StrCat(file.name, ": this must be a file; ./- is a file named \"-\""));
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = i + 1; j < files.size(); ++j) {
      LOCUS_RETURN_IF_ERROR(CheckPair(files[i], files[j]));
    }
  }
  for (const NamedFile& file : files) {
    if (IsWritten(file.use)) LOCUS_RETURN_IF_ERROR(CheckReplaced(file));
  }
  return absl::OkStatus();
}

std::vector<NamedFile> SqliteFiles(const std::string& name, const std::string& path) {
  // SQLite puts its files beside the database itself, not beside a link to it.
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  std::string beside = real == nullptr ? path : std::string(real.get());
  std::vector<NamedFile> files = {{name, path, FileUse::kRead}};
  for (const char* ending : {"-wal", "-shm", "-journal", "-locus", "-locus-lock"}) {
    files.push_back({absl::StrCat("the ", ending, " file of ", name), beside + ending});
  }
  return files;
}

std::vector<NamedFile> FilesOfEnvironment() {
  std::vector<NamedFile> files;
  for (const char* variable : {"LOCUS_PASSWORD_FILE", "LOCUS_CEILING_PASSWORD_FILE"}) {
    const char* path = std::getenv(variable);
    if (path != nullptr && *path != '\0') files.push_back({variable, path});
  }
  return files;
}

}  // namespace locus::cli
