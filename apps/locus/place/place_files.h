// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_PLACE_FILES_H_
#define LOCUS_APPS_LOCUS_PLACE_PLACE_FILES_H_

#include <string>
#include <vector>

#include "apps/locus/line/option.h"
#include "routing/open/table_uri.h"
#include "src/open/store_uri.h"

// The files that stores, places of routing tables and the environment consist of, for the check of
// outputs. `name` is what messages call the store or place.
namespace locus::cli {

std::vector<NamedFile> FilesOfPlace(const std::string& name, const internal::StoreUri& uri);
std::vector<NamedFile> FilesOfPlace(const std::string& name, const internal::TableUri& uri);
// `table`: a file, "-", or the URI of a place.
std::vector<NamedFile> FilesOfTable(const std::string& name, const std::string& table);

// Those of LOCUS_STORE, LOCUS_TABLE, LOCUS_KEYS and of the password files. A verb may use none of
// them, and an option may stand in their place: they are no less precious then.
std::vector<NamedFile> FilesOfEnvironment();

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_PLACE_FILES_H_
