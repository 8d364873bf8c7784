// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/uri_options.h"

#include "apps/locus/line/path_check.h"

namespace locus::cli {
namespace {

std::vector<NamedFile> FilesOf(const std::string& name, const StoreUri& uri) {
  if (uri.engine == StoreUri::Engine::kSqlite) return SqliteFiles(name, uri.path);
  std::vector<NamedFile> files;
  for (const auto& [setting, value] : uri.settings) {
    if (setting != "tls") files.push_back({absl::StrCat(setting, " of ", name), value});
  }
  return files;
}

std::vector<NamedFile> FilesOf(const std::string& name, const TableUri& uri) {
  switch (uri.kind) {
    case TableUri::Kind::kFile:
      return {{name, uri.path}, {"the lock of " + name, uri.path + ".lock"}};
    case TableUri::Kind::kEtcd:
    case TableUri::Kind::kMysql:
      return FilesOf(name, uri.server);
    case TableUri::Kind::kHttp:
      return {};
  }
  LOCUS_UNREACHABLE();
}

std::vector<NamedFile> FilesOfTable(const std::string& name, const std::string& table) {
  if (!TableUri::IsMeant(table)) return {{name, table}};
  absl::StatusOr<TableUri> uri = TableUri::Parse(table);
  return uri.ok() ? FilesOf(name, *uri) : std::vector<NamedFile>();
}

absl::StatusOr<StoreUri> ReadStore(std::string_view text) { return StoreUri::Parse(text); }

}  // namespace

Option& StoreOption(VerbLine& line, const std::string& spec, StoreUri* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, ReadStore, help).Offers(Offer::kStoreUris);
  return option.Names([uri, name = option.name] { return FilesOf(name, *uri); });
}

Option& StoreOption(VerbLine& line, const std::string& spec, std::optional<StoreUri>* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, ReadStore, help).Offers(Offer::kStoreUris);
  return option.Names(
      [uri, name = option.name] { return *uri ? FilesOf(name, **uri) : std::vector<NamedFile>(); });
}

Option& PlaceOption(VerbLine& line, const std::string& spec, TableUri* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, TableUri::Parse, help).Offers(Offer::kTableUris);
  return option.Names([uri, name = option.name] { return FilesOf(name, *uri); });
}

Option& TableOption(VerbLine& line, const std::string& spec, std::string* table,
                    const std::string& help) {
  Option& option = line.Text(spec, table, help).Offers(Offer::kFilesAndTableUris);
  return option.Names([table, name = option.name] { return FilesOfTable(name, *table); });
}

Option& TableOption(VerbLine& line, const std::string& spec, std::optional<std::string>* table,
                    const std::string& help) {
  Option& option = line.Text(spec, table, help).Offers(Offer::kFilesAndTableUris);
  return option.Names([table, name = option.name] {
    return *table ? FilesOfTable(name, **table) : std::vector<NamedFile>();
  });
}

Option& SpaceOption(VerbLine& line, SpaceName* space, const std::string& help) {
  return line.Value("--space S", space, SpaceName::Parse, help).Default(space->str());
}

}  // namespace locus::cli
