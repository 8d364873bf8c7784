// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_OPEN_TABLES_H_
#define LOCUS_ROUTING_OPEN_TABLES_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "routing/open/table_uri.h"

namespace locus::internal {

// What opens the routing tables of an engine.
struct TableOpeners {
  absl::StatusOr<std::unique_ptr<TableSource>> (*source)(const TableUri& uri,
                                                         std::string_view password);
  // nullptr: its tables can only be followed.
  absl::StatusOr<std::unique_ptr<TablePublisher>> (*publisher)(const TableUri& uri,
                                                               std::string_view password) = nullptr;
  // nullptr: it needs nothing before the first publication.
  absl::Status (*create)(const TableUri& uri, std::string_view password) = nullptr;
};

// nullptr: the engine keeps no tables, or this build leaves it out.
const TableOpeners* TablesOf(const Engine& engine);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_OPEN_TABLES_H_
