// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
#define LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus::cli {

// Reads a routing table from a file, or the newest one from the place that a URI names; "-" is
// stdin. Errors of a file begin with its path or "stdin", those of a place name the place.
absl::StatusOr<RoutingTable> LoadTable(const std::string& path);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
