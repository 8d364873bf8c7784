// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/path_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

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
  return fstat(IsOutput(file.use) ? STDOUT_FILENO : STDIN_FILENO, &facts) == 0;
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
  if (a.path == "-" && b.path == "-" && IsOutput(a.use) == IsOutput(b.use)) return true;
  bool a_exists = FactsOf(a, of_a);
  bool b_exists = FactsOf(b, of_b);
  if (a_exists != b_exists) return false;
  if (a_exists) return S_ISREG(of_a.st_mode) && SameInode(of_a, of_b);
  std::string path_a = BehindDanglingLinks(a.path);
  std::string path_b = BehindDanglingLinks(b.path);
  return NameIn(path_a) == NameIn(path_b) && stat(DirectoryOf(path_a).c_str(), &of_a) == 0 &&
         stat(DirectoryOf(path_b).c_str(), &of_b) == 0 && SameInode(of_a, of_b);
}

std::string RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

bool IsDirectory(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// A directory, a device, a FIFO.
bool IsOtherThanAFile(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

// The first bytes of a regular file; empty: it is none, or cannot be read.
std::string StartOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::string start(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  return start;
}

bool IsDatabase(const std::string& path) { return StartOf(path).starts_with("SQLite format 3"); }

// A routing table, or a plan for one.
bool IsTableDocument(std::string_view start) {
  size_t brace = start.find_first_not_of(" \t\r\n");
  return brace != std::string_view::npos && start[brace] == '{' &&
         start.find("\"epoch\"") != std::string_view::npos &&
         start.find("\"shards\"") != std::string_view::npos;
}

// What an operator has filled in: `locus move new` writes only the first half of it.
bool IsMoveFile(std::string_view start) {
  return start.starts_with("# A move of orders between shards") ||
         start.find("\n[accounts.mover]") != std::string_view::npos;
}

// What the file is by its contents, if that must not be replaced by an output of this use.
std::optional<std::string> KeptByContents(std::string_view start, FileUse use) {
  if (start.empty()) return std::nullopt;
  if (start.starts_with("locus-key-ring")) return "a key ring";
  if (start.starts_with("SQLite format 3")) return "a SQLite database";
  if (start.starts_with("locus-sidecar ")) return "the sidecar of a SQLite store";
  bool is_last_good = start.starts_with("locus last good table ");
  if (use == FileUse::kKeep) {
    if (is_last_good) return std::nullopt;
    return "not a last-good table";
  }
  if (is_last_good) return "the last-good table of a router";
  if (IsMoveFile(start)) return "a move file";
  if (use == FileUse::kWrite && IsTableDocument(start)) return "a routing table or a plan";
  return std::nullopt;
}

// What the file belongs to by its name, whether it exists or not.
std::optional<std::string> KeptByName(const std::string& path) {
  if (IsDirectory(path + ".epochs")) {
    return "a place of routing tables, which `locus table publish` changes";
  }
  std::string directory = DirectoryOf(path);
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  if (directory.ends_with(".epochs"))
    return "in " + Quoted(directory) + ", where a place keeps its tables";
  auto base = [&](std::string_view ending) {
    return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : std::string();
  };
  for (const char* ending : {".lock", ".publishing"}) {
    std::string place = base(ending);
    if (!place.empty() && IsDirectory(place + ".epochs")) {
      return "part of the place of routing tables " + Quoted(place);
    }
  }
  for (const char* ending : {"-wal", "-shm", "-journal", "-locus", "-locus-lock"}) {
    std::string database = base(ending);
    if (!database.empty() && IsDatabase(database)) {
      return "part of the SQLite database " + Quoted(database);
    }
  }
  return std::nullopt;
}

// A key ring, a database or a place must not be lost to a picture or a table, even if the verb does
// not use it: the wrong name is one slip of shell completion away.
absl::Status CheckReplaced(const NamedFile& output) {
  if (output.path == "-") return absl::OkStatus();
  const std::string path = RealPath(output.path);
  if (output.use == FileUse::kKeep && IsOtherThanAFile(path)) {
    return absl::InvalidArgumentError(absl::StrCat(output.name, ": ", Quoted(output.path),
                                                   " is not a regular file; name another file"));
  }
  std::optional<std::string> what = KeptByContents(StartOf(path), output.use);
  if (!what) what = KeptByName(path);
  if (!what) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(output.name, ": ", Quoted(output.path), " is ",
                                                 *what,
                                                 ", and is not replaced; name another file"));
}

absl::Status CheckPair(const NamedFile& a, const NamedFile& b) {
  if (!IsOutput(a.use) && !IsOutput(b.use)) {
    if (a.path != "-" || b.path != "-") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(a.name, " and ", b.name, " are both stdin"));
  }
  if (!SameFile(a, b)) return absl::OkStatus();
  const NamedFile& output = IsOutput(a.use) ? a : b;
  const NamedFile& other = IsOutput(a.use) ? b : a;
  return absl::InvalidArgumentError(
      absl::StrCat(output.name, " and ", other.name, " are the same file, ", Quoted(output.path)));
}

}  // namespace

std::function<absl::StatusOr<std::string>(std::string_view)> ReaderOfPath(FileUse use) {
  return [use](std::string_view text) -> absl::StatusOr<std::string> {
    const std::vector<std::string_view> names =
        IsOutput(use) ? std::vector<std::string_view>{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
                      : std::vector<std::string_view>{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
    const bool is_stream = std::ranges::find(names, text) != names.end();
    return std::string(is_stream ? "-" : text);
  };
}

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
    if (IsOutput(file.use)) LOCUS_RETURN_IF_ERROR(CheckReplaced(file));
  }
  return absl::OkStatus();
}

}  // namespace locus::cli
