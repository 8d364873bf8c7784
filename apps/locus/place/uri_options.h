// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_URI_OPTIONS_H_
#define LOCUS_APPS_LOCUS_PLACE_URI_OPTIONS_H_

#include <optional>
#include <string>

#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/open_table.h"
#include "locus/space.h"

// Options and operands that several verbs take, declared in one way.
namespace locus::cli {

// A store's URI. Its files take part in the check of outputs.
Option& StoreOption(VerbLine& line, const std::string& spec, StoreUri* uri,
                    const std::string& help);
Option& StoreOption(VerbLine& line, const std::string& spec, std::optional<StoreUri>* uri,
                    const std::string& help);

// The URI of a place of routing tables.
Option& PlaceOption(VerbLine& line, const std::string& spec, TableUri* uri,
                    const std::string& help);

// A routing table: a file, "-" for stdin, or the URI of a place, as it stands (LoadTable).
Option& TableOption(VerbLine& line, const std::string& spec, std::string* table,
                    const std::string& help);
Option& TableOption(VerbLine& line, const std::string& spec, std::optional<std::string>* table,
                    const std::string& help);

// --space.
Option& SpaceOption(VerbLine& line, SpaceName* space, const std::string& help);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_URI_OPTIONS_H_
