// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_
#define LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "apps/locus/place/table_uri.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

// INVALID_ARGUMENT of these: of the URI, or what Password says. Otherwise the errors of the engine.
// A password (of http: a bearer token) is that of a store.
namespace locus {

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(const TableUri& uri);

// INVALID_ARGUMENT also: nothing can be published there.
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(const TableUri& uri);

// Makes what a place needs before anything is published to it; nothing where it needs nothing.
absl::Status InitTablePlace(const TableUri& uri);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_PLACE_OPEN_TABLE_H_
