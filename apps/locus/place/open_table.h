// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_
#define LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "routing/open/table_uri.h"

// locus/routing/open.h with the password of the command's environment. INVALID_ARGUMENT of these:
// of the URI, or of Password.
namespace locus::cli {

using internal::TableUri;

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(const TableUri& uri);
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(const TableUri& uri);
absl::Status InitTablePlace(const TableUri& uri);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_
