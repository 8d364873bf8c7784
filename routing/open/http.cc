// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/http.h"

#include "routing/open/tables.h"
#include "src/open/opened.h"

namespace locus::internal {
namespace {

absl::StatusOr<std::unique_ptr<TableSource>> OpenSource(const TableUri& uri,
                                                        std::string_view token) {
  HttpTableOptions options;
  Wiped wiped(options.token);
  options.url = uri.text;
  options.token = token;
  return As<std::unique_ptr<TableSource>>(HttpTableSource::Open(options));
}

}  // namespace

extern const TableOpeners kHttpTables = {.source = OpenSource};

}  // namespace locus::internal
