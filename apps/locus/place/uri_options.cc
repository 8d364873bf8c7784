// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/uri_options.h"

#include "apps/locus/place/place_files.h"

namespace locus::cli {
namespace {

absl::StatusOr<StoreUri> ReadStore(std::string_view text) { return StoreUri::Parse(text); }

}  // namespace

Option& StoreOption(VerbLine& line, const std::string& spec, StoreUri* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, ReadStore, help).Offers(Offer::kStoreUris);
  return option.Names([uri, name = option.name] { return FilesOfPlace(name, *uri); });
}

Option& StoreOption(VerbLine& line, const std::string& spec, std::optional<StoreUri>* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, ReadStore, help).Offers(Offer::kStoreUris);
  return option.Names([uri, name = option.name] {
    return *uri ? FilesOfPlace(name, **uri) : std::vector<NamedFile>();
  });
}

Option& PlaceOption(VerbLine& line, const std::string& spec, TableUri* uri,
                    const std::string& help) {
  Option& option = line.Value(spec, uri, TableUri::Parse, help).Offers(Offer::kTableUris);
  return option.Names([uri, name = option.name] { return FilesOfPlace(name, *uri); });
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
