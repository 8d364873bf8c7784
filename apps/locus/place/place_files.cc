// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/place_files.h"

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "apps/locus/place/password.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

using internal::StoreUri;
using internal::TableUri;

// `path` with links followed: what belongs to a file is beside the file, not beside a link to it.
std::string RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

void AddBeside(const std::string& name, const std::string& path, const char* ending,
               std::vector<NamedFile>& files) {
  files.push_back({absl::StrCat("the ", ending, " file of ", name), RealPath(path) + ending});
}

std::vector<NamedFile> SqliteFiles(const std::string& name, const std::string& path) {
  std::vector<NamedFile> files = {{name, path, FileUse::kRead}};
  for (const char* ending : {"-wal", "-shm", "-journal", "-locus", "-locus-lock", "-workers-locus",
                             "-workers-locus-lock"}) {
    AddBeside(name, path, ending, files);
  }
  return files;
}

// nullptr: it is unset or empty.
const char* Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

void Append(std::vector<NamedFile> more, std::vector<NamedFile>& files) {
  for (NamedFile& file : more) {
    if (file.path != "-") files.push_back(std::move(file));
  }
}

}  // namespace

std::vector<NamedFile> FilesOfPlace(const std::string& name, const StoreUri& uri) {
  if (uri.engine->is_file) return SqliteFiles(name, uri.path);
  std::vector<NamedFile> files;
  for (const auto& [setting, value] : uri.settings) {
    if (setting != "tls") files.push_back({absl::StrCat(setting, " of ", name), value});
  }
  return files;
}

std::vector<NamedFile> FilesOfPlace(const std::string& name, const TableUri& uri) {
  if (uri.HasServer()) return FilesOfPlace(name, uri.server);
  if (!uri.IsFile()) return {};
  std::vector<NamedFile> files = {{name, uri.path}};
  for (const char* ending : {".lock", ".publishing", ".epochs"}) {
    AddBeside(name, uri.path, ending, files);
  }
  return files;
}

std::vector<NamedFile> FilesOfTable(const std::string& name, const std::string& table) {
  if (!TableUri::IsMeant(table)) return {{name, table}};
  absl::StatusOr<TableUri> uri = TableUri::Parse(table);
  return uri.ok() ? FilesOfPlace(name, *uri) : std::vector<NamedFile>();
}

std::vector<NamedFile> FilesOfEnvironment() {
  std::vector<NamedFile> files;
  auto append = [&](const char* variable) {
    if (const char* path = Variable(variable)) Append({{variable, path}}, files);
  };
  for (const PasswordVariable& password : kPasswordVariables) append(password.file_name);
  append("LOCUS_KEYS");
  if (const char* table = Variable("LOCUS_TABLE"))
    Append(FilesOfTable("LOCUS_TABLE", table), files);
  if (const char* store = Variable("LOCUS_STORE")) {
    absl::StatusOr<StoreUri> uri = StoreUri::Parse(store);
    if (uri.ok()) Append(FilesOfPlace("LOCUS_STORE", *uri), files);
  }
  return files;
}

}  // namespace locus::cli
