// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/file_table.h"
#include "routing/open/tables.h"
#include "src/open/opened.h"

namespace locus::internal {
namespace {

absl::StatusOr<std::unique_ptr<TableSource>> OpenSource(const TableUri& uri, std::string_view) {
  return As<std::unique_ptr<TableSource>>(FileTableSource::Open(uri.path));
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher(const TableUri& uri,
                                                              std::string_view) {
  return As<std::unique_ptr<TablePublisher>>(FileTablePublisher::Open(uri.path));
}

}  // namespace

extern const TableOpeners kFileTables = {.source = OpenSource, .publisher = OpenPublisher};

}  // namespace locus::internal
