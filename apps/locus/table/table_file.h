// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
#define LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus {

// Reads a routing table; "-" is stdin. Errors of ByteSource and of RoutingTable::Parse, all
// beginning with the path or "stdin".
absl::StatusOr<RoutingTable> LoadTable(const std::string& path);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
